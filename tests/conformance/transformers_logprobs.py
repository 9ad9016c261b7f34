#!/usr/bin/env python3
"""Writes what transformers in float32 predicts for a text, as a file for `inferens perplexity MODEL TEXT --kl-against FILE`:
the distance of any path of inferens from the exact model with the same weights.

usage: transformers_logprobs.py MODEL.gguf TEXT WINDOW OUT [MAX_TOKENS]     (needs torch, transformers, gguf, tokenizers)
The format is that of src/engine/logprob_file.h; every position of every window is scored (score_from 0), and models that
want a start token get it at the start of every window."""
import pathlib
import struct
import sys

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "golden/model"))
import reference_model
import tokenize_text

ROWS_AT_ONCE = 64  # bounds the memory of the output matrix's product


def fnv1a(tokens):
    value = 0xCBF29CE484222325
    for byte in np.asarray(tokens, "<i4").tobytes():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def windows_of(tokens, window, start_token):
    for begin in range(0, len(tokens), window):
        part = list(tokens[begin:begin + window])
        if len(part) > 1:
            yield ([start_token] if start_token is not None else part[:1]) + part[1:]


@torch.no_grad()
def logprobs_of(model, window):
    """Yields ([rows, vocab] log-probabilities, next tokens) in parts."""
    hidden = model.model(torch.tensor([window[:-1]]), use_cache=False).last_hidden_state[0]
    for at in range(0, len(hidden), ROWS_AT_ONCE):
        rows = torch.log_softmax(model.lm_head(hidden[at:at + ROWS_AT_ONCE]).double(), -1)
        yield rows.float().numpy(), window[1 + at:1 + at + len(rows)]


def main(model_path, text_path, window, out_path, max_tokens=None):
    g, model = reference_model.load(model_path)
    tokens = tokenize_text.encode(g, pathlib.Path(text_path).read_text(encoding="utf-8"))[:max_tokens]
    start = g.get("tokenizer.ggml.bos_token_id") if g.get("tokenizer.ggml.add_bos_token", False) else None
    windows = list(windows_of(tokens, window, start))
    positions = sum(len(w) - 1 for w in windows)
    nll = 0.0
    with open(out_path, "wb") as out:
        out.write(struct.pack("<8sIIIIQQ", b"IFLPROB1", model.config.vocab_size, window, 0,
                              0xFFFFFFFF if start is None else start, fnv1a(tokens), positions))
        for w in windows:
            for rows, following in logprobs_of(model, w):
                for row, token in zip(rows, following):
                    out.write(struct.pack("<If", int(row.argmax()), row[token]) + row.astype("<f2").tobytes())
                    nll -= float(row[token])
    print(f"{positions} positions in {len(windows)} windows, perplexity {np.exp(nll / positions):.6f}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], *map(int, sys.argv[5:]))
