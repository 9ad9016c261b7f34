#!/usr/bin/env python3
"""Makes small safetensors files beside this file with the `safetensors` Python package.

Usage: python3 -m venv v && v/bin/pip install safetensors==0.8.0 numpy && v/bin/python make_golden.py
  types.safetensors                a tensor of every dtype that numpy or the package's serializer can give, and metadata
  sharded/model.safetensors.index.json and its two shards
"""
import json
import pathlib

import numpy as np
from safetensors import TensorSpec, serialize
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent


def main():
    tensors, alive = {}, []

    def raw(dtype, shape, data):
        alive.append(np.frombuffer(data, np.uint8))  # the package takes an address
        return TensorSpec(dtype=dtype, shape=shape, data_ptr=alive[-1].ctypes.data, data_len=len(data))

    for name, kind in [("F64", "<f8"), ("F32", "<f4"), ("F16", "<f2"), ("I64", "<i8"), ("I32", "<i4"), ("I16", "<i2"),
                       ("I8", "i1"), ("U64", "<u8"), ("U32", "<u4"), ("U16", "<u2"), ("U8", "u1"), ("BOOL", "?")]:
        long_name = {"F": "float", "I": "int", "U": "uint", "B": "bool"}[name[0]] + (name[1:] if name != "BOOL" else "")
        values = np.arange(6).astype(kind).reshape(2, 3)
        tensors[f"t.{name}"] = raw(long_name, [2, 3], values.tobytes())
    tensors["t.BF16"] = raw("bfloat16", [3], np.array([0x3F80, 0xC000, 0x3E80], "<u2").tobytes())  # 1, −2, 0.25
    tensors["scalar"] = raw("float32", [], np.float32(2.5).tobytes())
    tensors["empty"] = raw("float32", [0, 4], b"")
    tensors['odd "name"\n日本'] = raw("uint8", [1], b"\x07")
    (HERE / "types.safetensors").write_bytes(serialize(tensors, {"format": "pt", "schöne": "Dinge"}))

    folder = HERE / "sharded"
    folder.mkdir(exist_ok=True)
    weight_map, total = {}, 0
    for shard in range(2):
        file = f"model-{shard + 1:05}-of-00002.safetensors"
        part = {f"w{shard * 2 + i}": np.full((2, 2), shard * 2 + i, np.float32) for i in range(2)}
        save_file(part, folder / file, {"format": "np"})
        weight_map |= {name: file for name in part}
        total += sum(t.nbytes for t in part.values())
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2))


if __name__ == "__main__":
    main()
