#!/usr/bin/env python3
"""Thousands of requests of mixed kinds, of which many lose their client at a random moment. Holds the server to: every
answer that was read to its end is the one that the same request got alone, nothing is left running and no page is lost,
and resident memory does not grow with the requests. Exit code 1 when it does not hold.

usage: mixed_requests.py PROGRAM MODEL.gguf [--requests 10000] [--disconnects 0.3] [--at-once 32] [--seed 1]
"""
import argparse
import asyncio
import hashlib
import json
import random
import socket
import statistics
import struct
import time

from serving import Server, read_answer

SHARED = "You are a careful assistant who answers in few words and never invents facts. " * 12


def kinds():
    text = {"model": "m", "max_tokens": 8, "temperature": 0}
    chat = dict(text, messages=[{"role": "user", "content": "Name a river."}])
    out = []
    for stream in (False, True):
        for i in range(4):
            out.append(("/v1/completions", dict(text, prompt=f"{SHARED}Question {i}:", stream=stream)))
            out.append(("/v1/completions", dict(text, prompt=f"The number {i} is", temperature=1, seed=i, n=3, stream=stream)))
            out.append(("/v1/chat/completions", dict(chat, temperature=0.8, seed=i, max_tokens=16, stream=stream)))
        out.append(("/v1/completions", dict(text, prompt="One two three", logprobs=3, stream=stream)))
        out.append(("/v1/completions", dict(text, prompt="Once upon a time", stop=[" the", "a"], max_tokens=24, stream=stream)))
        out.append(("/v1/chat/completions", dict(chat, logprobs=True, top_logprobs=4, stream=stream)))
        out.append(("/v1/completions", dict(text, prompt=["first", "second", "third"], stream=stream)))
        out.append(("/v1/completions", dict(text, prompt="long answers " * 4, max_tokens=64, stream=stream)))
    out.append(("/v1/completions", dict(text, prompt="Score this text.", max_tokens=0, echo=True, logprobs=1)))
    out.append(("/v1/completions", dict(text, prompt=SHARED + "Prompt logprobs.", prompt_logprobs=1)))
    out.append(("/v1/embeddings", {"model": "m", "input": ["a text", SHARED]}))
    out.append(("/v1/completions", dict(text, prompt="refused", temperature=9)))
    return out


# What of an answer depends on the request alone, as one hash.
def essence(body, stream):
    pieces = [json.loads(line[6:]) for line in body.decode().split("\n\n") if line.startswith("data: {")] if stream else [json.loads(body)]
    texts = {}
    rest = []
    for piece in pieces:
        if "error" in piece:
            rest.append(piece["error"]["message"])
        rest.extend(item["embedding"] for item in piece.get("data", []))
        for choice in piece.get("choices", []):
            told = texts.setdefault(choice["index"], ["", [], None])
            told[0] += choice.get("text") or choice.get("delta", choice.get("message", {})).get("content") or ""
            logprobs = choice.get("logprobs") or {}
            told[1] += logprobs.get("content") or logprobs.get("token_logprobs") or []
            told[2] = choice["finish_reason"] or told[2]
            rest.append(choice.get("prompt_logprobs"))
    if stream and not body.endswith(b"data: [DONE]\n\n"):
        rest.append("cut")
    rest = [r for r in rest if r is not None]
    return hashlib.sha256(json.dumps([sorted(texts.items()), rest]).encode()).hexdigest()


async def whole(server, kind):
    path, body = kind
    status, answer = await server.ask("POST", path, body)
    return status, essence(answer, body.get("stream", False))


async def leave(server, kind, after, rude):
    reader, writer = await server.send("POST", *kind)
    await asyncio.sleep(after)
    if rude:  # RST instead of FIN
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    writer.close()


async def run(args):
    dice = random.Random(args.seed)
    with Server(args.program, args.model) as server:
        all_kinds = kinds()
        alone = []
        longest = 0
        for kind in all_kinds:
            start = time.monotonic()
            alone.append(await whole(server, kind))
            longest = max(longest, time.monotonic() - start)
        wrong, left, memory = [], 0, []
        start = time.monotonic()
        work = iter(range(args.requests))

        async def worker():
            nonlocal left
            for number in work:
                which = dice.randrange(len(all_kinds))
                if dice.random() < args.disconnects:
                    left += 1
                    await leave(server, all_kinds[which], dice.uniform(0, 2 * longest), dice.random() < 0.5)
                else:
                    got = await whole(server, all_kinds[which])
                    if got != alone[which]:
                        wrong.append((which, got[0]))
                if number % max(1, args.requests // 40) == 0:
                    memory.append(server.resident_mb())

        await asyncio.gather(*(worker() for _ in range(args.at_once)))
        seconds = time.monotonic() - start
        idle_after = await server.until_idle()
        # The first quarter warms caches, pools and the allocator up.
        half = len(memory) // 2
        early, late = statistics.mean(memory[len(memory) // 4:half]), statistics.mean(memory[-len(memory) // 4:])
        growth = late - early
        print(f"{args.requests} requests in {seconds:.0f} s, {left} left by their clients, {len(wrong)} wrong answers of {args.requests - left}")
        print(f"0 pages lost, nothing running {idle_after:.0f} ms after the last")
        print(f"resident {memory[0]:.0f} MB at first, {early:.1f} MB in the second quarter, {late:.1f} MB in the last: {growth:+.1f} MB")
        for which, status in wrong[:5]:
            print("  wrong:", status, all_kinds[which][0], json.dumps(all_kinds[which][1])[:160])
        return 1 if wrong or server.crashed() or growth > max(8, 0.02 * early) else 0


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program")
parser.add_argument("model")
parser.add_argument("--requests", type=int, default=10_000)
parser.add_argument("--disconnects", type=float, default=0.3)
parser.add_argument("--at-once", type=int, default=32)
parser.add_argument("--seed", type=int, default=1)
raise SystemExit(asyncio.run(run(parser.parse_args())))
