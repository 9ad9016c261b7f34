#!/usr/bin/env python3
"""Makes small GGUF files beside this file with the `gguf` Python package's own writer.

Usage: python3 -m venv v && v/bin/pip install gguf==0.19.0 && v/bin/python make_golden.py
  everything.gguf        every metadata type (keys in sorted order) and one tensor of every type
  aligned.gguf           general.alignment 64 and a scalar tensor
  version2.gguf          the same layout with the version number 2
  big-endian.gguf        written for a big-endian machine
  split-0000?-of-00003.gguf  seven tensors, three to a part
  split-meta-0000?-of-00003.gguf  the first part holds metadata only
The bytes of tensor number t (from 1) are (t * 31 + i * 7) % 251 at position i.
"""
import pathlib

import gguf
import numpy as np
from gguf import GGMLQuantizationType, GGUFEndian, GGUFValueType, GGUFWriter

HERE = pathlib.Path(__file__).parent


def pattern(number, size):
    return ((number * 31 + np.arange(size) * 7) % 251).astype(np.uint8)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_metadata(w):
    def array(kind, values):
        w.add_key_value(f"test.array.{kind.name.lower()}", values, GGUFValueType.ARRAY, sub_type=kind)

    array(GGUFValueType.BOOL, [True, False, True])
    array(GGUFValueType.FLOAT32, [0.5, -1.25])
    array(GGUFValueType.FLOAT64, [0.1, -1e300])
    array(GGUFValueType.INT16, [-32768, 32767])
    array(GGUFValueType.INT32, [-2147483648, 2147483647])
    array(GGUFValueType.INT64, [-2**63, 2**63 - 1])
    array(GGUFValueType.INT8, [-128, 127])
    w.add_key_value("test.array.nested", [[1, 2], [3]], GGUFValueType.ARRAY)
    array(GGUFValueType.STRING, ["", "naïve", "日本", "a\0b"])
    array(GGUFValueType.UINT16, [0, 65535])
    array(GGUFValueType.UINT32, [0, 4294967295])
    array(GGUFValueType.UINT64, [0, 2**64 - 1])
    array(GGUFValueType.UINT8, [0, 255])
    w.add_bool("test.bool", True)
    w.add_float32("test.float32", 1e-5)
    w.add_float64("test.float64", 1e-300)
    w.add_int16("test.int16", -32768)
    w.add_int32("test.int32", -2147483648)
    w.add_int64("test.int64", -2**63)
    w.add_int8("test.int8", -128)
    w.add_string("test.string", "naïve 日本")
    w.add_uint16("test.uint16", 65535)
    w.add_uint32("test.uint32", 4294967295)
    w.add_uint64("test.uint64", 2**64 - 1)
    w.add_uint8("test.uint8", 255)


def everything(path, endian=GGUFEndian.LITTLE):
    w = GGUFWriter(path, "test", endianess=endian)
    add_metadata(w)
    number = 0
    for kind in GGMLQuantizationType:
        if kind.name == "Q8_1":
            continue  # activations only
        number += 1
        _, size = gguf.GGML_QUANT_SIZES[kind]
        w.add_tensor(f"t.{kind.name}", pattern(number, 2 * 3 * size).reshape(2, 3 * size), raw_dtype=kind)
    finish(w)


def aligned():
    w = GGUFWriter(HERE / "aligned.gguf", "test")
    w.add_custom_alignment(64)
    w.add_tensor("scalar", np.array(2.5, np.float32))
    w.add_tensor("cube", np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5))
    finish(w)


def split(name, **options):
    w = GGUFWriter(HERE / f"{name}.gguf", "test", split_max_tensors=3, **options)
    w.add_uint32("test.answer", 42)
    for i in range(7 if not options else 6):
        w.add_tensor(f"t{i}", np.full(4, i, np.float32))
    finish(w)


def main():
    everything(HERE / "everything.gguf")
    everything(HERE / "big-endian.gguf", GGUFEndian.BIG)
    aligned()
    version2 = bytearray((HERE / "aligned.gguf").read_bytes())
    version2[4] = 2
    (HERE / "version2.gguf").write_bytes(version2)
    split("split")
    split("split-meta", small_first_shard=True)


if __name__ == "__main__":
    main()
