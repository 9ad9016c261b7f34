#!/usr/bin/env python3
"""Makes tables.f32 and expected.txt: what PyTorch says of the perplexity and divergence of two made-up models.

The models look a row of logits up: row (7 * token + offset in the window) mod ROWS. usage: make.py     (needs torch)"""
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
ROWS, VOCAB, TOKENS = 29, 37, 150


def rows_of(table, window):
    return torch.stack([table[(7 * t + i) % ROWS] for i, t in enumerate(window[:-1])])


def nearest_rank(values, share):
    return np.quantile(values.numpy(), share, method="inverted_cdf")


def figures(p_table, q_table, tokens, window, score_from, start_token):
    p_rows, q_rows, targets = [], [], []
    for begin in range(0, len(tokens), window):
        w = list(tokens[begin:begin + window])
        if len(w) - 1 <= score_from:
            continue
        if start_token is not None:
            w[0] = start_token
        p_rows.append(rows_of(p_table, w)[score_from:])
        q_rows.append(rows_of(q_table, w)[score_from:])
        targets += w[1 + score_from:]
    p, q, targets = torch.cat(p_rows).double(), torch.cat(q_rows).double(), torch.tensor(targets)
    n = len(targets)
    p_nll, q_nll = (F.cross_entropy(x, targets, reduction="none") for x in (p, q))
    kl = F.kl_div(F.log_softmax(q, -1), F.log_softmax(p, -1), reduction="none", log_target=True).sum(-1)
    change = q_nll - p_nll
    return {
        "positions": n,
        "mean_nll": q_nll.mean(), "mean_nll_error": q_nll.std() / n**0.5, "perplexity": q_nll.mean().exp(),
        "reference_perplexity": p_nll.mean().exp(),
        "mean_kl": kl.mean(), "mean_kl_error": kl.std() / n**0.5,
        "median_kl": nearest_rank(kl, 0.5), "p99_kl": nearest_rank(kl, 0.99),
        "max_kl": kl.max(), "same_top": (p.argmax(-1) == q.argmax(-1)).double().mean(),
        "perplexity_change": change.mean().expm1(), "perplexity_change_error": change.mean().exp() * change.std() / n**0.5,
    }


if __name__ == "__main__":
    torch.manual_seed(3)
    p_table = torch.randn(ROWS, VOCAB) * 3
    q_table = p_table + torch.randn(ROWS, VOCAB) * 0.4
    tokens = torch.randint(0, VOCAB, (TOKENS,)).tolist()
    (HERE / "tables.f32").write_bytes(p_table.numpy().tobytes() + q_table.numpy().tobytes())
    lines = ["tokens " + " ".join(map(str, tokens))]
    for window, score_from, start_token in [(150, 0, None), (64, 0, None), (32, 16, None), (70, 3, 5)]:
        lines.append(f"case {window} {score_from} {-1 if start_token is None else start_token}")
        lines += [f"{k} {float(v):.17g}" for k, v in figures(p_table, q_table, tokens, window, score_from, start_token).items()]
    (HERE / "expected.txt").write_text("\n".join(lines) + "\n")
