#!/usr/bin/env python3
"""Makes repaired.txt: byte strings and what Python's own UTF-8 decoder makes of them under errors="replace", which follows
Unicode's rule of maximal subparts. One pair per line, in hex: BYTES<tab>REPAIRED (as UTF-8).

usage: make_golden.py >repaired.txt
"""
import random


def main():
    rng = random.Random(20260101)
    # Bytes at the edges of every range of the UTF-8 table, so that short strings meet every transition.
    edges = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF,
             0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF]
    cases = [bytes([a, b]) for a in edges for b in edges]
    for _ in range(1500):
        cases.append(bytes(rng.choice(edges) for _ in range(rng.randint(3, 9))))
    whole = "naïve ठीक 你好 🦙 مرحبا".encode()
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        cases.append(bytes(damaged[: rng.randint(1, len(damaged))]))
    for case in cases:
        print(case.hex(), case.decode("utf-8", errors="replace").encode().hex(), sep="\t")


main()
