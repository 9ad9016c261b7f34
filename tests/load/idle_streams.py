#!/usr/bin/env python3
"""Thousands of streams that are open and wait for their turn, and one that is served. Tells the memory that they take
and what they do to the gaps between the served one's tokens. Exit code 1 above 100 MB.

usage: idle_streams.py PROGRAM MODEL.gguf [--streams 2000] [--tokens 400]
"""
import argparse
import asyncio
import json
import resource
import statistics
import time

from serving import Server, read_chunk, read_head

# So little memory for keys and values that a waiting prompt finds no room beside the served one.
KV_GIGABYTES = "0.024"
CONTEXT = 1024


def quantile(sorted_values, share):
    return sorted_values[min(len(sorted_values) - 1, int(share * len(sorted_values)))]


async def served_gaps(server, tokens):
    body = {"model": "m", "prompt": "A long story:", "max_tokens": tokens, "ignore_eos": True, "temperature": 0, "stream": True, "scheduling_class": "voice"}
    reader, writer = await server.send("POST", "/v1/completions", body)
    status, _ = await read_head(reader)
    assert status == 200, status
    gaps, last = [], None
    while data := await read_chunk(reader):
        now = time.monotonic()
        if last is not None and b'"text"' in data:
            gaps.append((now - last) * 1000)
        last = now
    writer.close()
    return sorted(gaps)


async def open_idle(server, number):
    body = {"model": "m", "prompt": f"{number} " + "word " * 700, "max_tokens": 200, "ignore_eos": True, "stream": True, "scheduling_class": "batch"}
    reader, writer = await server.send("POST", "/v1/completions", body)
    status, _ = await read_head(reader)
    return status, reader, writer


def tell(name, gaps):
    print(f"{name}: {len(gaps)} gaps, p50 {quantile(gaps, .5):.1f} ms, p99 {quantile(gaps, .99):.1f} ms, longest {gaps[-1]:.1f} ms")


async def run(args):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Server(args.program, args.model, "--kv-memory", KV_GIGABYTES, "--ctx", str(CONTEXT), "--queue", str(args.streams + 16)) as server:
        tell("alone", await served_gaps(server, args.tokens))
        # The place is taken before the others come, and stays so until the end.
        holder = asyncio.create_task(served_gaps(server, CONTEXT - 64))
        await asyncio.sleep(0.5)
        idle_mb = server.resident_mb()
        opened = []
        for first in range(0, args.streams, 100):
            opened += await asyncio.gather(*(open_idle(server, n) for n in range(first, min(first + 100, args.streams))))
        refused = sum(status != 200 for status, _, _ in opened)
        waiting = json.loads(await server.get("/v1/system"))["models"][0]["live_requests"]
        grown = server.resident_mb() - idle_mb
        gaps = await holder
        tell(f"beside {args.streams} waiting streams ({refused} refused, {waiting} requests live)", gaps)
        print(f"resident {idle_mb:.0f} MB before, {grown:+.1f} MB with all streams open: {grown * 1024 / args.streams:.1f} KB each")
        for _, _, writer in opened:
            writer.close()
        print(f"nothing left {await server.until_idle():.0f} ms after they closed")
        return 1 if refused or grown > 100 or server.crashed() else 0


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program")
parser.add_argument("model")
parser.add_argument("--streams", type=int, default=2000)
parser.add_argument("--tokens", type=int, default=400)
raise SystemExit(asyncio.run(run(parser.parse_args())))
