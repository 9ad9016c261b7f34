#!/usr/bin/env python3
"""Makes <TYPE>.bin beside this file: random blocks of every quantized type of the `gguf` Python package, and what the
package dequantizes them to; and halves.bin with numpy's conversions of floats.

Usage: python3 -m venv v && v/bin/pip install gguf==0.19.0 numpy && v/bin/python make_golden.py
Layout of <TYPE>.bin: blocks (their number follows from the file size), then their weights as float32. Blocks that give a
NaN are left out: the bits of a NaN that arithmetic makes are the processor's choice.
Layout of halves.bin: 4096 float32, their float16, their bfloat16.
"""
import pathlib

import gguf
import numpy as np
from gguf.quants import BF16

HERE = pathlib.Path(__file__).parent


def blocks_of(qtype, rng):
    weights, size = gguf.GGML_QUANT_SIZES[qtype]
    want = 12 if weights == 256 else 40
    blocks = rng.integers(0, 256, (want * 4, size), dtype=np.uint8)
    blocks[0] = 0
    if qtype.name == "MXFP4":
        blocks[:40, 0] = np.linspace(0, 254, 40)  # every region of the exponent, its two subnormal codes among them
        blocks[1, 0] = 1
    with np.errstate(all="ignore"):
        values = gguf.dequantize(blocks, qtype)
    sound = ~np.isnan(values).any(axis=1)
    return blocks[sound][:want], values[sound][:want]


def main():
    rng = np.random.default_rng(20240517)
    for qtype in gguf.GGMLQuantizationType:
        if qtype.name in ("F32", "F16", "BF16", "F64", "I8", "I16", "I32", "I64", "Q8_1", "Q8_K", "Q1_0"):
            continue  # plain numbers, and types that the package cannot dequantize
        blocks, values = blocks_of(qtype, rng)
        assert values.dtype == np.float32 and len(blocks) >= 12
        (HERE / f"{qtype.name}.bin").write_bytes(blocks.tobytes() + values.tobytes())

    spread = (rng.standard_normal(2048) * 2.0 ** rng.integers(-30, 20, 2048)).astype(np.float32)
    # Exact ties between neighbouring halves and their nearest floats, and the ends of the range.
    half = rng.integers(0, 0x7C00, 680, dtype=np.uint16).view(np.float16).astype(np.float64)
    step = np.spacing(half.astype(np.float16)).astype(np.float64)
    ties = (half + step / 2).astype(np.float32)
    ties = np.concatenate([ties, np.nextafter(ties, np.float32(0)), np.nextafter(ties, np.float32(np.inf))])
    ends = np.array([0.0, -0.0, np.inf, -np.inf, 65504, 65519.996, 65520, 1e30, -1e30, 2**-24, 2**-25, 3e-8], np.float32)
    floats = np.resize(np.concatenate([spread, ties, ends]), 4096).astype(np.float32)
    with np.errstate(all="ignore"):
        (HERE / "halves.bin").write_bytes(floats.tobytes() + floats.astype(np.float16).tobytes() +
                                          BF16.quantize(floats).tobytes())


if __name__ == "__main__":
    main()
