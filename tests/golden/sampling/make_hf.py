"""Distributions after transformers' own logits processors, in the order in which transformers puts them: hf.json.

    python3 -m venv venv && venv/bin/pip install torch==2.13.0 transformers && venv/bin/python make_hf.py

A case is kept when the processors leave the same tokens in float32 and in float64: elsewhere rounding decides.
"""
import os
import random

import torch
import transformers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

import cases

HERE = os.path.dirname(os.path.abspath(__file__))
COUNT = 160


def random_params(rng: random.Random, vocab: int) -> dict:
    p = {"temperature": rng.choice([0.3, 0.7, 1.0, 1.5, 3.0])}
    if rng.random() < 0.4:
        p["top_k"] = rng.choice([1, 2, 5, 20, 40])
    if rng.random() < 0.5:
        p["top_p"] = rng.choice([0.1, 0.5, 0.8, 0.95, 0.999])
    if rng.random() < 0.4:
        p["min_p"] = rng.choice([0.01, 0.05, 0.2, 0.9])
    if rng.random() < 0.4:
        p["typical_p"] = rng.choice([0.2, 0.5, 0.9, 0.99])
    if rng.random() < 0.4:
        p["repetition_penalty"] = rng.choice([0.8, 1.1, 1.5])
    if rng.random() < 0.3:
        p["logit_bias"] = {str(rng.randrange(vocab)): rng.choice([-2.0, 1.5, 5.0]) for _ in range(3)}
    if rng.random() < 0.1:
        p = {"temperature": 1e6, "top_k": rng.choice([0, 7])}  # temperature comes first, so the row goes flat
    return p


def processors(model, params: dict):
    config = GenerationConfig(
        do_sample=True,
        temperature=params["temperature"],
        top_k=params.get("top_k", 0),
        top_p=params.get("top_p", 1.0),
        min_p=params.get("min_p"),
        typical_p=params.get("typical_p", 1.0),
        repetition_penalty=params.get("repetition_penalty", 1.0),
        sequence_bias={(int(t),): b for t, b in params.get("logit_bias", {}).items()} or None,
    )
    return model._get_logits_processor(generation_config=config, input_ids_seq_length=1, device="cpu")


def main() -> None:
    rng = random.Random(20)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=8, hidden_size=8, intermediate_size=8, num_hidden_layers=1,
                                         num_attention_heads=1))
    made = []
    while len(made) < COUNT:
        row = cases.random_row(rng)
        params = random_params(rng, len(row))
        tokens = [rng.randrange(len(row)) for _ in range(20)]
        kept = []
        for dtype in (torch.float32, torch.float64):
            scores = torch.tensor([row], dtype=dtype) / 64
            scores = processors(model, params)(torch.tensor([tokens]), scores)[0]
            kept.append({i: float(v) for i, v in enumerate(scores) if v != -float("inf")})
        if kept[0].keys() != kept[1].keys():
            continue
        made.append({"logits": row, "tokens": tokens, "params": params, "kept": cases.softmax(kept[1])})
    cases.write(os.path.join(HERE, "hf.json"), f"transformers {transformers.__version__}, torch {torch.__version__}", made)


if __name__ == "__main__":
    main()
