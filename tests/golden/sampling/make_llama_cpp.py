"""Distributions after llama.cpp's own sampler chain, in its default order: llama_cpp.json.

    python3 -m venv venv && venv/bin/pip install llama-cpp-python==0.3.36
    venv/bin/python make_llama_cpp.py MODEL.gguf        (any model: DRY wants a vocabulary to find its breakers in)

The chain's samplers are called one by one on an array of candidates; nothing is drawn. XTC has probability 1. A case is kept
when the same tokens stay after the logits were moved by a millionth: elsewhere rounding decides.
"""
import ctypes
import os
import random
import sys

import llama_cpp as lc

import cases

HERE = os.path.dirname(os.path.abspath(__file__))
COUNT = 160
BREAKERS = ["\n", ":", '"', "*"]


def random_params(rng: random.Random, vocab: int) -> dict:
    p = {"temperature": rng.choice([0.3, 0.8, 1.0, 1.5])}
    if rng.random() < 0.15:
        p["mirostat"] = 2
        p["mirostat_tau"] = rng.choice([0.5, 1.0, 2.0, 3.0])
        return p
    if rng.random() < 0.4:
        p["top_k"] = rng.choice([1, 2, 5, 20, 40])
    if rng.random() < 0.4:
        p["typical_p"] = rng.choice([0.2, 0.5, 0.9, 0.99])
    if rng.random() < 0.5:
        p["top_p"] = rng.choice([0.1, 0.5, 0.8, 0.95, 0.999])
    if rng.random() < 0.4:
        p["min_p"] = rng.choice([0.01, 0.05, 0.2, 0.9])
    if rng.random() < 0.3:
        p["xtc_probability"] = 1.0
        p["xtc_threshold"] = rng.choice([0.02, 0.05, 0.1, 0.3])
    if rng.random() < 0.4:
        p["repetition_penalty"] = rng.choice([0.8, 1.1, 1.5])
        p["presence_penalty"] = rng.choice([0.0, 0.5, -0.7])
        p["frequency_penalty"] = rng.choice([0.0, 0.3, -0.2])
        # Its window also bounds what presence and frequency count; ours count the whole output, so there it covers all.
        alone = p["presence_penalty"] == 0 and p["frequency_penalty"] == 0
        p["penalty_window"] = rng.choice([8, 64]) if alone else 64
    if rng.random() < 0.5:
        p["dry_multiplier"] = rng.choice([0.8, 2.0])
        p["dry_base"] = rng.choice([1.2, 1.75])
        p["dry_allowed_length"] = rng.choice([1, 2, 3])
        p["dry_window"] = rng.choice([10, 1000])
    if rng.random() < 0.3:
        p["logit_bias"] = {str(rng.randrange(vocab)): rng.choice([-2.0, 1.5, 5.0, -1e9]) for _ in range(3)}
    if "typical_p" in p:
        # llama.cpp's entropy is not a number once a probability is zero, and its cut then means nothing.
        p = {k: v for k, v in p.items() if k != "logit_bias" and not k.startswith("dry")}
    if rng.random() < 0.1:
        p = {"temperature": 1e6, "top_k": 40, "top_p": 0.95, "min_p": 0.05}  # temperature comes last: only the cuts show
    return p


def chain(vocab, size: int, p: dict) -> list:
    made = []
    bias = p.get("logit_bias", {})
    if bias:
        array = (lc.llama_logit_bias * len(bias))(*[lc.llama_logit_bias(int(t), b) for t, b in bias.items()])
        made.append(lc.llama_sampler_init_logit_bias(size, len(bias), array))
    if "mirostat" in p:
        return made + [lc.llama_sampler_init_temp(p["temperature"]),
                       lc.llama_sampler_init_mirostat_v2(1, p["mirostat_tau"], 0.1)]
    made.append(lc.llama_sampler_init_penalties(size, p.get("penalty_window", 64), p.get("repetition_penalty", 1.0),
                                                p.get("frequency_penalty", 0.0), p.get("presence_penalty", 0.0)))
    if "dry_multiplier" in p:
        breakers = (ctypes.c_char_p * len(BREAKERS))(*[b.encode() for b in BREAKERS])
        made.append(lc.llama_sampler_init_dry(vocab, p["dry_multiplier"], p["dry_base"], p["dry_allowed_length"],
                                              p["dry_window"], breakers, len(BREAKERS)))
    if "top_k" in p:
        made.append(lc.llama_sampler_init_top_k(p["top_k"]))
    made.append(lc.llama_sampler_init_typical(p.get("typical_p", 1.0), 0))
    made.append(lc.llama_sampler_init_top_p(p.get("top_p", 1.0), 0))
    made.append(lc.llama_sampler_init_min_p(p.get("min_p", 0.0), 0))
    if "xtc_probability" in p:
        made.append(lc.llama_sampler_init_xtc(1.0, p["xtc_threshold"], 0, 1))
    made.append(lc.llama_sampler_init_temp(p["temperature"]))
    return made


def run(vocab, row: list[float], tokens: list[int], p: dict) -> dict[int, float]:
    data = (lc.llama_token_data * len(row))(*[lc.llama_token_data(i, v, 0.0) for i, v in enumerate(row)])
    array = lc.llama_token_data_array(data, len(row), -1, False)
    for sampler in chain(vocab, len(row), p):
        for t in tokens:
            lc.llama_sampler_accept(sampler, t)
        lc.llama_sampler_apply(sampler, ctypes.byref(array))
        lc.llama_sampler_free(sampler)
    # A sampler may move the start of the array, so it is read back through the struct.
    kept = {array.data[i].id: array.data[i].logit for i in range(array.size)}
    return {t: v for t, v in kept.items() if v > -1e8}  # the bias that bans


def main() -> None:
    rng = random.Random(21)
    params = lc.llama_model_default_params()
    params.vocab_only = True
    model = lc.llama_load_model_from_file(sys.argv[1].encode(), params)
    vocab = lc.llama_model_get_vocab(model)
    piece = ctypes.create_string_buffer(256)

    def text(token: int) -> str:
        n = lc.llama_token_to_piece(vocab, token, piece, 256, 0, True)
        return piece.raw[:n].decode(errors="replace")

    breakers = [t for t in range(max(cases.VOCABS)) if any(b in text(t) for b in BREAKERS)]
    made = []
    while len(made) < COUNT:
        row = cases.random_row(rng)
        p = random_params(rng, len(row))
        # Few different tokens: repetitions for DRY to find. One in four sequences has breakers in it.
        few = rng.sample(range(len(row)), 3)
        if rng.random() < 0.25:
            few.append(rng.choice([b for b in breakers if b < len(row)]))
        tokens = [rng.choice(few) for _ in range(40)]
        logits = [v / 64 for v in row]
        kept = run(vocab, logits, tokens, p)
        moved = run(vocab, [v * (1 + 1e-6 * rng.uniform(-1, 1)) for v in logits], tokens, p)
        if kept.keys() != moved.keys():
            continue
        made.append({"logits": row, "tokens": tokens, "params": p, "kept": cases.softmax(kept),
                     "breakers": [b for b in breakers if b < len(row)]})
    cases.write(os.path.join(HERE, "llama_cpp.json"), "llama.cpp of llama-cpp-python 0.3.36", made)


if __name__ == "__main__":
    main()
