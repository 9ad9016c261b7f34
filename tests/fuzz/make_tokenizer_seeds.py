#!/usr/bin/env python3
"""Writes corpus/tokenizer/: one small sound file for each family, from which the fuzzer starts. Needs the `gguf` package."""
import pathlib

import gguf

OUT = pathlib.Path(__file__).parent / "corpus" / "tokenizer"
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6


def write(name, model, tokens, kinds, **values):
    writer = gguf.GGUFWriter(OUT / name, "llama")
    writer.add_string("tokenizer.ggml.model", model)
    writer.add_array("tokenizer.ggml.tokens", tokens)
    writer.add_array("tokenizer.ggml.token_type", kinds)
    for key, value in values.items():
        key = f"tokenizer.ggml.{key}"
        if isinstance(value, str):
            writer.add_string(key, value)
        elif isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        else:
            writer.add_array(key, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    words = ["Ġ", "a", "b", "1", "Ċ", "Ã", "©", "ab", "Ġa", "Ġab", "Ã©"]
    merges = ["a b", "Ġ a", "Ġ ab", "Ã ©"]
    specials = ["<s>", "</s>", "<think>", "    "]
    kinds = [NORMAL] * len(words) + [CONTROL, CONTROL, USER_DEFINED, USER_DEFINED]
    for pre in ["gpt-2", "default", "smollm", "llama-bpe", "qwen2", "qwen35", "gpt-4o", "tekken", "deepseek-llm", "deepseek-coder", "deepseek-v3", "falcon", "bloom"]:
        write(f"bpe-{pre}", "gpt2", words + specials, kinds, pre=pre, merges=merges, bos_token_id=len(words), eos_token_id=len(words) + 1, add_bos_token=True)
    byte_tokens = [f"<0x{b:02X}>" for b in range(256)]
    pieces = ["▁", "a", "b", "ab", "▁a", "▁ab", "é", "▁▁"]
    tokens = ["<unk>", "<s>", "</s>"] + byte_tokens + pieces + ["<|im_start|>", "  "]
    kinds = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256 + [NORMAL] * len(pieces) + [USER_DEFINED] * 2
    scores = [-float(i) for i in range(len(tokens))]
    write("sentencepiece", "llama", tokens, kinds, scores=scores, bos_token_id=1, eos_token_id=2, unknown_token_id=0)
    few = ["<unk>", "<s>", "▁", "a", "b", "ab", "\n", "\n\n"]
    write("sentencepiece-no-bytes", "llama", few, [UNKNOWN, CONTROL] + [NORMAL] * 6, scores=[-float(i) for i in range(8)], unknown_token_id=0)
    write("gemma4", "gemma4", few, [UNKNOWN, CONTROL] + [NORMAL] * 6, merges=["a b", "\n \n"], unknown_token_id=0)
    bert = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁a", "▁b", "a", "b", "ab", "▁.", "▁中"]
    write("wordpiece", "bert", bert, [CONTROL, UNKNOWN, CONTROL, CONTROL] + [NORMAL] * 7, unknown_token_id=1, cls_token_id=2, seperator_token_id=3)


main()
