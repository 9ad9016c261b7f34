"""Writes and reads *.logits files: expected logits of a model for given tokens. The layout is described in README.md."""
import struct

import numpy as np

MAGIC = b"IFLOGIT1"


def log_sum_exp(row):
    row = row.astype(np.float64)
    top = row.max()
    return float(top + np.log(np.exp(row - top).sum()))


def choose_entries(row, top, spaced):
    """The `top` largest logits in descending order, then `spaced` evenly spaced ids that are not among them."""
    order = np.argsort(-row, kind="stable")[:top]
    even = (np.arange(spaced, dtype=np.int64) * len(row)) // spaced
    return np.concatenate([order, np.setdiff1d(even, order)]).astype(np.uint32)


def write(path, vocab_size, runs, top=None, spaced=None):
    """runs: [(token ids, {position: full logits row})]. Without `top` every row is stored whole."""
    out = [MAGIC, struct.pack("<II", vocab_size, len(runs))]
    for tokens, rows in runs:
        out.append(struct.pack("<I", len(tokens)) + np.asarray(tokens, "<i4").tobytes())
        out.append(struct.pack("<I", len(rows)))
        for position, row in sorted(rows.items()):
            row = np.asarray(row, np.float32)
            assert row.shape == (vocab_size,) and np.isfinite(row).all()
            ids = np.arange(vocab_size) if top is None else choose_entries(row, top, spaced)
            out.append(struct.pack("<IfdI", position, np.abs(row).max(), log_sum_exp(row), len(ids)))
            if len(ids) != vocab_size:
                out.append(ids.astype("<u4").tobytes())
            out.append(row[ids].astype("<f4").tobytes())
    path.write_bytes(b"".join(out))


def read(path):
    """(vocab size, [(tokens, [(position, max_abs, logsumexp, ids, values)])])"""
    data, at = path.read_bytes(), 8
    assert data[:8] == MAGIC, f"{path} is not a .logits file"

    def take(form):
        nonlocal at
        values = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return values

    def array(kind, count):
        nonlocal at
        values = np.frombuffer(data, kind, count, at)
        at += values.nbytes
        return values

    vocab_size, run_count = take("II")
    runs = []
    for _ in range(run_count):
        tokens = array("<i4", take("I")[0])
        rows = []
        for _ in range(take("I")[0]):
            position, max_abs, lse, entries = take("IfdI")
            ids = array("<u4", entries) if entries != vocab_size else np.arange(vocab_size)
            rows.append((position, max_abs, lse, ids, array("<f4", entries)))
        runs.append((tokens, rows))
    assert at == len(data)
    return vocab_size, runs
