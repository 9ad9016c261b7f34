"""What both golden scripts share: random rows of logits, and how a case is written.

Logits are whole multiples of 1/64, all different, so that they are exact in a float and no cut falls between equals (the
references break such ties in ways of their own).
"""
import json
import math
import random

VOCABS = [50, 100, 257, 500]


def random_row(rng: random.Random) -> list[int]:
    vocab = rng.choice(VOCABS)
    spread = rng.choice([1.0, 2.5, 5.0])
    row = set()
    while len(row) < vocab:
        row.add(round(rng.gauss(0, spread) * 64))
    row = sorted(row)
    rng.shuffle(row)
    return row


def softmax(logits: dict[int, float]) -> list[list]:
    peak = max(logits.values())
    weights = {t: math.exp(v - peak) for t, v in logits.items()}
    total = math.fsum(weights.values())
    return [[t, float(f"{w / total:.9g}")] for t, w in sorted(weights.items()) if w > 0]


def write(path: str, made_with: str, cases: list[dict]) -> None:
    with open(path, "w") as f:
        f.write('{"made_with": %s,\n"cases": [\n' % json.dumps(made_with))
        f.write(",\n".join(json.dumps(c, separators=(",", ":")) for c in cases))
        f.write("\n]}\n")
