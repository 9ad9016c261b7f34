#!/usr/bin/env python3
"""Makes NAME.logits for the real models: expected logits for the first tokens of ../text/english.txt.

usage: make.py MODELS_DIR [NAME…]     (needs torch, transformers, gguf, tokenizers; about 4 GB of memory)"""
import pathlib
import sys

import golden_format
import reference_model
import tokenize_text

HERE = pathlib.Path(__file__).parent
MODELS = ["smollm2-135m-instruct-q4_1", "qwen2.5-coder-0.5b-instruct-q4_k_m", "gemma-3-270m-q4_k_m"]
SHORT, LONG = 40, 900  # LONG crosses gemma 3's sliding window of 512 and many pages of 64
TOP, SPACED = 64, 256
# Rows around page borders (64, 128, 512), around the window's border, and spread over the rest.
LONG_ROWS = sorted({0, 1, 63, 64, 65, 127, 128, 255, 256, 510, 511, 512, 513, 514, 575, 576, 639, 640, 767, 768, LONG - 1}
                   | set(range(20, LONG, 40)))


def make(models_dir, name):
    g, model = reference_model.load(models_dir / f"{name}.gguf")
    tokens = tokenize_text.encode(g, (HERE.parent / "text/english.txt").read_text(encoding="utf-8"))
    runs = [(tokens[:SHORT], reference_model.logits_at(model, tokens[:SHORT], range(0, SHORT, 2))),
            (tokens[:LONG], reference_model.logits_at(model, tokens[:LONG], LONG_ROWS))]
    golden_format.write(HERE / f"{name}.logits", model.config.vocab_size, runs, TOP, SPACED)


if __name__ == "__main__":
    for name in sys.argv[2:] or MODELS:
        make(pathlib.Path(sys.argv[1]), name)
