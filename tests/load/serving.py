"""What the load checks share: a server of their own on a free port, bare HTTP over asyncio, and what the server says of itself."""
import asyncio
import json
import re
import subprocess
import time


class Server:
    def __init__(self, program, model, *flags):
        self.process = subprocess.Popen([program, "serve", f"m={model}", "--port", "0", *flags], stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", line)
        if not found:
            raise SystemExit(f"the server did not start: {line}{self.process.stderr.read()}")
        self.port = int(found.group(1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)

    def resident_mb(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024

    def crashed(self):
        return self.process.poll() is not None

    async def get(self, path):
        status, body = await self.ask("GET", path)
        assert status == 200, (status, body)
        return body

    async def ask(self, method, path, body=None):
        reader, writer = await self.send(method, path, body)
        status, answer = await read_answer(reader)
        writer.close()
        return status, answer

    async def send(self, method, path, body=None):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        text = b"" if body is None else json.dumps(body).encode()
        kind = "" if body is None else "Content-Type: application/json\r\n"
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{kind}Content-Length: {len(text)}\r\n\r\n".encode() + text)
        return reader, writer

    # "" when nothing runs, waits or holds a page; else what does.
    async def what_is_left(self):
        engine = json.loads(await self.get("/v1/system"))["models"][0]
        lost = [p["total"] - p["free"] - p["cached"] for p in engine["pages"]]
        if engine["live_requests"] or engine["running_sequences"] or any(lost):
            return f"{engine['live_requests']} requests live, {engine['running_sequences']} sequences running, pages in use {lost}"
        return ""

    # Milliseconds until nothing is left; raises after 30 s.
    async def until_idle(self):
        start = time.monotonic()
        while left := await self.what_is_left():
            if time.monotonic() - start > 30:
                raise SystemExit(f"LEAK: {left}")
            await asyncio.sleep(0.002)
        return (time.monotonic() - start) * 1000


async def read_head(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    return int(head.split(" ", 2)[1]), head.lower()


async def read_chunk(reader):
    size = int(await reader.readline(), 16)
    data = await reader.readexactly(size)
    await reader.readexactly(2)
    return data


async def read_answer(reader):
    status, head = await read_head(reader)
    if "transfer-encoding: chunked" not in head:
        return status, await reader.read()
    whole = b""
    while data := await read_chunk(reader):
        whole += data
    return status, whole
