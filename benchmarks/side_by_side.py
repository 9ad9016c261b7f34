#!/usr/bin/env python3
"""Runs inferens and llama.cpp in turns on one model file and prints the ratio of their speeds with its spread.

usage: benchmarks/side_by_side.py MODEL.gguf --llama-bin DIR [-p 512,2048] [-n 64] [-b 1,4,8,20] [-d 0] [-t 2] [--rounds 5] [--json]

Both engines are used by their public command lines only: `inferens bench speed --json`, `llama-bench -o json` (prefill)
and `llama-batched-bench --output-format jsonl` (decode). A shared machine changes from minute to minute, so only two runs
right after each other are compared: each round gives one ratio per figure, and who goes first changes every round. The
printed ratio is the median over the rounds; the spread is the smallest and the largest.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def numbers(text):
    values = [int(v) for v in text.split(",")]
    if any(v < 0 for v in values):
        raise argparse.ArgumentTypeError(f"'{text}' has a negative number")
    return values


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["(no message)"])[-1]
        raise SystemExit(f"side_by_side: {' '.join(command)} ended with {done.returncode}: {last}")
    return done.stdout


def joined(values):
    return ",".join(map(str, values))


def inferens_figures(output):
    """{(kind, size, context): tokens per second} of `inferens bench speed --json`."""
    report = json.loads(output)
    figures = {("prefill", p["prompt_tokens"], p["depth"]): p["tokens_per_second"]["median"] for p in report["prefill"]}
    figures |= {("decode", d["sequences"], d["context"]): d["tokens_per_second"]["median"] for d in report["decode"]}
    return figures


def llama_bench_figures(output):
    """The same of `llama-bench -o json`: the median of its samples, prompts only."""
    return {
        ("prefill", t["n_prompt"], t["n_depth"]): statistics.median(t["samples_ts"])
        for t in json.loads(output) if t["n_gen"] == 0
    }


def batched_bench_figures(output):
    """The same of `llama-batched-bench --output-format jsonl`; lines that are no JSON objects are its log."""
    rows = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {("decode", r["pl"], r["pp"]): r["speed_tg"] for r in rows}


def measure_inferens(a):
    command = [a.inferens, "bench", "speed", a.model, "--json", "--threads", str(a.threads), "-r", str(a.repetitions), "-d", joined(a.depth),
               "-p", joined(a.prompt), "-n", str(a.output), "-b", joined(a.sequences), "--decode-context", str(a.decode_context)]
    return inferens_figures(run(command))


def measure_llama(a):
    folder = pathlib.Path(a.llama_bin)
    figures = {}
    if any(a.prompt):
        figures |= llama_bench_figures(run([str(folder / "llama-bench"), "-m", a.model, "-t", str(a.threads), "-fa", "1", "-n", "0",
                                            "-p", joined(a.prompt), "-d", joined(a.depth), "-r", str(a.repetitions), "-o", "json"]))
    if a.output > 0:
        # Every sequence has its own prompt, as in inferens. The tool runs all sizes over one cache of -c tokens.
        for depth in a.depth:
            context = depth + a.decode_context
            figures |= batched_bench_figures(run([
                str(folder / "llama-batched-bench"), "-m", a.model, "-t", str(a.threads), "-fa", "1", "-npp", str(context), "-ntg", str(a.output),
                "-npl", joined(a.sequences), "-c", str(max(a.sequences) * (context + a.output)), "-b", "2048", "-ub", "512", "--output-format", "jsonl"]))
    return figures


def compare(rounds):
    """rounds: [(ours, theirs)] → one row per figure that both have, with the ratio of every round."""
    rows = []
    for key in rounds[0][0]:
        pairs = [(ours[key], theirs[key]) for ours, theirs in rounds if key in ours and key in theirs]
        if not pairs:
            continue
        ratios = [o / t for o, t in pairs]
        kind, size, context = key
        rows.append({"test": kind, "tokens" if kind == "prefill" else "sequences": size, "context": context,
                     "inferens": statistics.median(o for o, _ in pairs), "llama.cpp": statistics.median(t for _, t in pairs),
                     "ratio": statistics.median(ratios), "ratio_min": min(ratios), "ratio_max": max(ratios), "ratios": ratios})
    return rows


def table(rows):
    lines = [f"{'test':<22}{'inferens':>11}{'llama.cpp':>11}{'ratio':>8}   spread"]
    for r in rows:
        what = f"pp{r['tokens']}" if r["test"] == "prefill" else f"tg, {r['sequences']} sequences"
        what += f" @ {r['context']}" if r["context"] else ""
        lines.append(f"{what:<22}{r['inferens']:>11.1f}{r['llama.cpp']:>11.1f}{r['ratio']:>8.2f}   {r['ratio_min']:.2f} … {r['ratio_max']:.2f}")
    return "\n".join(lines)


def parse(arguments):
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("model", help="a .gguf file")
    p.add_argument("--llama-bin", required=True, help="folder with llama-bench and llama-batched-bench")
    p.add_argument("--inferens", default=str(ROOT / "build/release/inferens"))
    p.add_argument("-p", "--prompt", type=numbers, default=[512, 2048], help="prompt lengths; 0: none")
    p.add_argument("-n", "--output", type=int, default=64, help="tokens decoded by every sequence; 0: none")
    p.add_argument("-b", "--sequences", type=numbers, default=[1, 4, 8, 20])
    p.add_argument("-d", "--depth", type=numbers, default=[0])
    p.add_argument("--decode-context", type=int, default=128, help="tokens before decode, besides the depth")
    p.add_argument("-t", "--threads", type=int, default=os.cpu_count())
    p.add_argument("-r", "--repetitions", type=int, default=1, help="of one engine inside a round")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--json", action="store_true", help="print all ratios as JSON")
    a = p.parse_args(arguments)
    if a.rounds < 1 or a.repetitions < 1 or a.threads < 1:
        p.error("--rounds, --repetitions and --threads are at least 1")
    needed = [a.inferens, a.model, *(str(pathlib.Path(a.llama_bin) / name) for name in ("llama-bench", "llama-batched-bench"))]
    for path in needed:
        if not os.path.exists(path):
            p.error(f"there is no '{path}'")
    return a


def main(arguments):
    a = parse(arguments)
    rounds = []
    for i in range(a.rounds):
        print(f"round {i + 1} of {a.rounds}", file=sys.stderr)
        if i % 2 == 0:
            ours = measure_inferens(a)
            theirs = measure_llama(a)
        else:
            theirs = measure_llama(a)
            ours = measure_inferens(a)
        rounds.append((ours, theirs))
    rows = compare(rounds)
    if not rows:
        raise SystemExit("side_by_side: the engines have no figure in common")
    print(json.dumps({"model": a.model, "threads": a.threads, "rounds": a.rounds, "figures": rows}, indent=2) if a.json else table(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
