#!/usr/bin/env python3
"""Makes tiny/NAME.gguf (random weights, a real small tokenizer and template) and tiny/NAME.logits (every logit of
many positions), so that the forward passes, and whole programs, are tested without a download. Same bytes on every run.

usage: make_tiny.py     (needs torch, transformers, gguf, tokenizers)"""
import pathlib

import gguf
import numpy as np
import tokenizers
import torch
import transformers
from tokenizers import models, pre_tokenizers, trainers

import golden_format
import reference_model

HERE = pathlib.Path(__file__).parent
TINY = HERE / "tiny"
TOKENS = 80  # crosses a page border (64) and, in gemma 3, the sliding window of 16 five times
ROWS = sorted({1, 14, 15, 16, 17, 31, 32, 33, 61, 62, 63, 64, 65, 79} | set(range(0, TOKENS, 4)))
CHATML = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
          "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
TURNS = ("{{ bos_token }}{% for message in messages %}{{ '<start_of_turn>' + message['role'] + '\\n' + message['content']"
         " + '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}")


def default_rope(base):
    return {"rope_type": "default", "rope_theta": base}


SMALL = dict(vocab_size=288, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, head_dim=16, max_position_embeddings=256, rms_norm_eps=1e-5,
             tie_word_embeddings=False, pad_token_id=None, bos_token_id=None, eos_token_id=None,
             rope_parameters=default_rope(10_000.0))


def llama(**changes):
    return transformers.LlamaConfig(**(SMALL | changes))


def qwen2(**changes):
    return transformers.Qwen2Config(**(SMALL | dict(rms_norm_eps=1e-6, tie_word_embeddings=True) | changes))


def qwen3(**changes):
    return transformers.Qwen3Config(**(SMALL | changes))


# More experts than a few tokens reach, so that some have none; widths that are not whole panels.
MIXTURE = dict(num_experts=7, num_experts_per_tok=3, moe_intermediate_size=32)


def qwen3moe(**changes):
    return transformers.Qwen3MoeConfig(**(SMALL | MIXTURE | dict(norm_topk_prob=True) | changes))


def qwen2moe(**changes):
    return transformers.Qwen2MoeConfig(**(SMALL | MIXTURE | dict(norm_topk_prob=False, shared_expert_intermediate_size=64) | changes))


def mixtral(**changes):
    return transformers.MixtralConfig(**(SMALL | dict(num_local_experts=4, num_experts_per_tok=2) | changes))


def gemma3(full_attention, **changes):
    own = dict(vocab_size=352, num_hidden_layers=7, num_key_value_heads=1, head_dim=32, intermediate_size=64,
               tie_word_embeddings=True, rms_norm_eps=1e-6, sliding_window=16, query_pre_attn_scalar=32,
               sliding_window_pattern=6, rope_parameters={"full_attention": full_attention,
                                                          "sliding_attention": default_rope(10_000.0)})
    return transformers.Gemma3TextConfig(**(SMALL | own | changes))


LLAMA3_ROPE = {"rope_type": "llama3", "rope_theta": 10_000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 64}
YARN_ROPE = {"rope_type": "yarn", "rope_theta": 10_000.0, "factor": 4.0, "original_max_position_embeddings": 1024}
LINEAR_ROPE = {"rope_type": "linear", "rope_theta": 10_000.0, "factor": 4.0}

# name: (config, type of the matrices). Head sizes differ from hidden / heads where it says head_dim.
MODELS = {
    "llama-f32": (llama(intermediate_size=64), "F32"),
    "llama-f16-linear": (llama(rope_parameters=LINEAR_ROPE, num_key_value_heads=1), "F16"),
    "llama-q8_0-llama3": (llama(rope_parameters=LLAMA3_ROPE, head_dim=32, tie_word_embeddings=True), "Q8_0"),
    "llama-q4_0": (llama(num_hidden_layers=3, num_attention_heads=6, hidden_size=96), "Q4_0"),
    "qwen2-q4_0": (qwen2(num_hidden_layers=3, rope_parameters=default_rope(1_000_000.0)), "Q4_0"),
    "qwen2-f16-yarn": (qwen2(rope_parameters=YARN_ROPE, tie_word_embeddings=False, max_position_embeddings=4096), "F16"),
    "gemma3-q8_0": (gemma3(default_rope(1_000_000.0)), "Q8_0"),
    "gemma3-q4_0-linear": (gemma3({"rope_type": "linear", "rope_theta": 1_000_000.0, "factor": 8.0},
                                  num_key_value_heads=2), "Q4_0"),
    "qwen3-q8_0": (qwen3(head_dim=32, tie_word_embeddings=True), "Q8_0"),
    "qwen3moe-q4_0": (qwen3moe(), "Q4_0"),
    "qwen2moe-q8_0": (qwen2moe(tie_word_embeddings=True), "Q8_0"),
    "llama-moe-f16": (mixtral(intermediate_size=40), "F16"),
}


def randomize(model, rng):
    """Weights large enough that attention is peaked and every layer matters: a wrong rotation or mask moves the logits."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            shape = tuple(p.shape)
            if "norm" in name:
                values = rng.normal(0, 0.25, shape) + (0 if "gemma3" in model.config.model_type else 1)
            elif name.endswith("bias"):
                values = rng.normal(0, 0.5, shape)
            elif "embed_tokens" in name or "lm_head" in name:
                values = rng.normal(0, 1, shape) / (1 if "lm_head" in name else np.sqrt(shape[1]))
            elif "experts" in name and not name.endswith("weight"):
                values = rng.normal(0, 1.2 / np.sqrt(shape[2]), shape)
            else:
                gain = 3.0 if "mlp.gate.weight" in name else 2.0 if ("q_proj" in name or "k_proj" in name) else 1.2
                values = rng.normal(0, gain / np.sqrt(shape[1]), shape)
            p.copy_(torch.from_numpy(values.astype(np.float32)))


def gguf_state(architecture, model):
    """{GGUF name: array}, the inverse of reference_model.state_of."""
    config, state = model.config, {k: v.numpy() for k, v in model.state_dict().items()}
    names = reference_model.GEMMA3_LAYER_NAMES if architecture == "gemma3" else reference_model.LAYER_NAMES
    of = {v: k for k, v in names.items()} | {v: k for k, v in reference_model.MODEL_NAMES.items()}
    out = {}
    for name, w in state.items():
        stem, kind = name.rsplit(".", 1)
        if stem.endswith("mlp.experts"):
            layer = f"blk.{stem.split('.')[2]}."
            if kind == "gate_up_proj":
                gate, up = np.split(w, 2, axis=1)
                out |= {f"{layer}ffn_gate_exps.weight": np.ascontiguousarray(gate), f"{layer}ffn_up_exps.weight": np.ascontiguousarray(up)}
            else:
                out[f"{layer}ffn_down_exps.weight"] = np.ascontiguousarray(w)
            continue
        if stem == "lm_head" and config.tie_word_embeddings:
            continue
        layer = ""
        if stem.startswith("model.layers."):
            number, stem = stem[len("model.layers."):].split(".", 1)
            layer = f"blk.{number}."
        part = of[stem]
        if architecture == "llama" and part in ("attn_q", "attn_k"):
            heads = config.num_attention_heads if part == "attn_q" else config.num_key_value_heads
            w = reference_model.permute_rope_rows(w, heads, undo=False)
        if architecture == "gemma3" and part.endswith("norm"):
            w = w + np.float32(1)
        if part == "ffn_gate_inp_shexp":
            w = w.reshape(-1)
        out[f"{layer}{part}.{kind}"] = np.ascontiguousarray(w)
    return out


def llama3_rope_factors(rope, head_dim):
    """What a GGUF converter writes as rope_freqs.weight: plain frequency / llama3 frequency (Llama 3.1's rope scaling)."""
    plain = 1.0 / (rope["rope_theta"] ** (np.arange(0, head_dim, 2, dtype=np.float64) / head_dim))
    original = rope["original_max_position_embeddings"]
    wavelength = 2 * np.pi / plain
    long, short = original / rope["low_freq_factor"], original / rope["high_freq_factor"]
    smooth = (original / wavelength - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])
    between = 1 / ((1 - smooth) / rope["factor"] + smooth)
    return np.where(wavelength < short, 1.0, np.where(wavelength > long, rope["factor"], between)).astype(np.float32)


def corpus():
    return (HERE.parent / "text/english.txt").read_text(encoding="utf-8")


def write_byte_level_tokenizer(w, vocab_size):
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    t = tokenizers.Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator([corpus()], trainers.BpeTrainer(
        vocab_size=vocab_size - len(specials), initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False))
    vocabulary = sorted(t.get_vocab(), key=t.get_vocab().get)
    known, merges = set(), []
    for token in vocabulary[256:]:  # in training order; a token's parts are the pair whose join it is, both older
        left = next(token[:i] for i in range(1, len(token))
                    if all(p in known or len(p) == 1 for p in (token[:i], token[i:])))
        merges.append(f"{left} {token[len(left):]}")
        known.add(token)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(vocabulary + specials)
    w.add_token_types([gguf.TokenType.NORMAL] * len(vocabulary) + [gguf.TokenType.CONTROL] * len(specials))
    w.add_token_merges(merges)
    w.add_bos_token_id(len(vocabulary))
    w.add_eos_token_id(len(vocabulary) + 2)
    w.add_add_bos_token(False)
    w.add_chat_template(CHATML)


def write_sentencepiece_tokenizer(w, vocab_size):
    kinds = gguf.TokenType
    pieces = [(p, 0.0, kinds.CONTROL) for p in ("<pad>", "<eos>", "<bos>")] + [("<unk>", 0.0, kinds.UNKNOWN)]
    pieces += [(p, 0.0, kinds.CONTROL) for p in ("<start_of_turn>", "<end_of_turn>")]
    pieces += [(f"<0x{b:02X}>", 0.0, kinds.BYTE) for b in range(256)]
    text = corpus().replace(" ", "▁")
    letters = sorted({c for c in text if c.isascii() and c.isalpha() or c in "▁.,"})
    room = vocab_size - len(pieces)
    t = tokenizers.Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    alphabet = [c for c in letters if c not in "XZQKJUY"]
    t.train_from_iterator([text], trainers.BpeTrainer(vocab_size=room, limit_alphabet=len(alphabet), initial_alphabet=alphabet,
                                                      show_progress=False))
    learned = sorted(t.get_vocab(), key=t.get_vocab().get)
    merged = [p for p in learned if len(p) > 1]
    pieces += [(p, float(-1 - i), kinds.NORMAL) for i, p in enumerate(merged)]
    pieces += [(p, float(-1 - len(merged) - i), kinds.NORMAL) for i, p in enumerate(p for p in learned if len(p) == 1)]
    assert len(pieces) == vocab_size, len(pieces)
    w.add_tokenizer_model("llama")
    w.add_tokenizer_pre("default")
    w.add_token_list([p for p, _, _ in pieces])
    w.add_token_scores([s for _, s, _ in pieces])
    w.add_token_types([k for _, _, k in pieces])
    w.add_bos_token_id(2)
    w.add_eos_token_id(1)
    w.add_unk_token_id(3)
    w.add_pad_token_id(0)
    w.add_add_bos_token(True)
    w.add_add_eos_token(False)
    w.add_add_space_prefix(False)
    w.add_chat_template(TURNS)


def write_rope(w, architecture, config):
    rope = config.rope_parameters["full_attention"] if architecture == "gemma3" else config.rope_parameters
    w.add_rope_freq_base(rope["rope_theta"])
    if architecture == "llama":
        w.add_rope_dimension_count(config.head_dim)
    if rope["rope_type"] in ("linear", "yarn"):
        w.add_rope_scaling_type(gguf.RopeScalingType(rope["rope_type"]))
        w.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "yarn":
        w.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if rope["rope_type"] == "llama3":
        w.add_tensor("rope_freqs.weight", llama3_rope_factors(rope, config.head_dim))


def write_experts(w, architecture, config):
    count = getattr(config, "num_local_experts", None) or getattr(config, "num_experts", None)
    if not count:
        return
    w.add_expert_count(count)
    w.add_expert_used_count(config.num_experts_per_tok)
    if architecture != "llama":
        w.add_expert_feed_forward_length(config.moe_intermediate_size)
    if architecture == "qwen2moe":
        w.add_expert_shared_feed_forward_length(config.shared_expert_intermediate_size)


def write_model(path, architecture, model, kind):
    config = model.config
    w = gguf.GGUFWriter(path, architecture)
    w.add_name(f"tiny {path.stem}, random weights")
    w.add_license("apache-2.0")
    w.add_context_length(config.max_position_embeddings)
    w.add_embedding_length(config.hidden_size)
    w.add_block_count(config.num_hidden_layers)
    w.add_feed_forward_length(config.intermediate_size)
    w.add_head_count(config.num_attention_heads)
    w.add_head_count_kv(config.num_key_value_heads)
    write_experts(w, architecture, config)
    w.add_layer_norm_rms_eps(config.rms_norm_eps)
    if config.head_dim != config.hidden_size // config.num_attention_heads:
        w.add_key_length(config.head_dim)
        w.add_value_length(config.head_dim)
    if architecture == "gemma3":
        w.add_sliding_window(config.sliding_window)
        write_sentencepiece_tokenizer(w, config.vocab_size)
    else:
        write_byte_level_tokenizer(w, config.vocab_size)
    write_rope(w, architecture, config)
    for name, values in gguf_state(architecture, model).items():
        plain = values.ndim == 1 or "ffn_gate_inp" in name  # converters leave routers alone
        own = gguf.GGMLQuantizationType["F32" if plain else kind]
        w.add_tensor(name, gguf.quants.quantize(values, own), raw_dtype=own)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def make(index, name):
    config, kind = MODELS[name]
    architecture = name.split("-")[0]
    rng = np.random.default_rng(1000 + index)
    model = reference_model.model_of(config)
    randomize(model, rng)
    path = TINY / f"{name}.gguf"
    write_model(path, architecture, model, kind)
    _, quantized = reference_model.load(path, config if "llama3" in name else None)  # the weights as the file has them
    tokens = rng.integers(8, config.vocab_size, TOKENS).tolist()
    if architecture == "gemma3":
        tokens[0] = 2
    golden_format.write(TINY / f"{name}.logits", config.vocab_size,
                        [(tokens, reference_model.logits_at(quantized, tokens, ROWS))])


if __name__ == "__main__":
    TINY.mkdir(exist_ok=True)
    for index, name in enumerate(MODELS):
        make(index, name)
