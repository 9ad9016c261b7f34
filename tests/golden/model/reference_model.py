"""A transformers model in float32 with exactly the weights of a GGUF file (dequantized by the `gguf` package): the outside
truth for the forward pass. Nothing of inferens is used here."""
import gguf
import numpy as np
import torch
import transformers

# Gemma 3 files do not carry these: they are constants of the architecture (transformers' Gemma3TextConfig).
GEMMA3_LOCAL_ROPE_BASE = 10_000.0
GEMMA3_WINDOW_PATTERN = 6


def permute_rope_rows(weight, heads, undo):
    """GGUF stores llama Q and K rows so that a rotary pair is adjacent; transformers keeps the halves apart."""
    rows = weight.shape[0] // heads
    shape = (heads, rows // 2, 2) if undo else (heads, 2, rows // 2)
    return weight.reshape(*shape, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


class GgufModel:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.fields = reader.fields
        self.tensors = {t.name: t for t in reader.tensors}
        self.architecture = self.get("general.architecture")

    def get(self, key, default=None):
        field = self.fields.get(key)
        return default if field is None else field.contents()

    def own(self, key, default=None):
        return self.get(f"{self.architecture}.{key}", default)

    def weight(self, name):
        t = self.tensors[name]
        return np.ascontiguousarray(gguf.quants.dequantize(t.data, t.tensor_type), dtype=np.float32)


def rope_parameters(g):
    parameters = {"rope_type": "default", "rope_theta": float(g.own("rope.freq_base", 10_000.0))}
    kind = g.own("rope.scaling.type", "none")
    if kind != "none":
        parameters |= {"rope_type": kind, "factor": float(g.own("rope.scaling.factor"))}
    if kind == "yarn":
        parameters["original_max_position_embeddings"] = int(g.own("rope.scaling.original_context_length"))
    return parameters


def config_of(g):
    heads = int(g.own("attention.head_count"))
    hidden = int(g.own("embedding_length"))
    common = dict(
        vocab_size=int(g.tensors["token_embd.weight"].shape[1]),
        hidden_size=hidden,
        intermediate_size=int(g.own("feed_forward_length", 1)),
        num_hidden_layers=int(g.own("block_count")),
        num_attention_heads=heads,
        num_key_value_heads=int(g.own("attention.head_count_kv", heads)),
        head_dim=int(g.own("attention.key_length", hidden // heads)),
        max_position_embeddings=int(g.own("context_length")),
        rms_norm_eps=float(g.own("attention.layer_norm_rms_epsilon")),
        tie_word_embeddings="output.weight" not in g.tensors,
        rope_parameters=rope_parameters(g),
        pad_token_id=None, bos_token_id=None, eos_token_id=None,
    )
    experts = int(g.own("expert_count", 0))
    if experts:
        common |= {"num_experts_per_tok": int(g.own("expert_used_count"))}
        if g.architecture == "llama":
            return transformers.MixtralConfig(**common, num_local_experts=experts)
        common |= {"num_experts": experts, "moe_intermediate_size": int(g.own("expert_feed_forward_length"))}
    if g.architecture == "llama":
        return transformers.LlamaConfig(**common)
    if g.architecture == "qwen2moe":
        return transformers.Qwen2MoeConfig(
            **common, use_sliding_window=False, norm_topk_prob=False,
            shared_expert_intermediate_size=int(g.own("expert_shared_feed_forward_length")))
    if g.architecture == "qwen3":
        return transformers.Qwen3Config(**common, use_sliding_window=False)
    if g.architecture == "qwen3moe":
        return transformers.Qwen3MoeConfig(**common, use_sliding_window=False, norm_topk_prob=True)
    if g.architecture == "qwen2":
        return transformers.Qwen2Config(**common, use_sliding_window=False)
    if g.architecture == "gemma3":
        common["rope_parameters"] = {
            "full_attention": common["rope_parameters"],
            "sliding_attention": {"rope_type": "default", "rope_theta": GEMMA3_LOCAL_ROPE_BASE},
        }
        return transformers.Gemma3TextConfig(
            **common, query_pre_attn_scalar=common["head_dim"], sliding_window=int(g.own("attention.sliding_window")),
            sliding_window_pattern=GEMMA3_WINDOW_PATTERN, hidden_activation="gelu_pytorch_tanh")
    raise ValueError(f"no reference for architecture {g.architecture}")


CLASSES = {
    "LlamaConfig": transformers.LlamaForCausalLM,
    "MixtralConfig": transformers.MixtralForCausalLM,
    "Qwen2Config": transformers.Qwen2ForCausalLM,
    "Qwen2MoeConfig": transformers.Qwen2MoeForCausalLM,
    "Qwen3Config": transformers.Qwen3ForCausalLM,
    "Qwen3MoeConfig": transformers.Qwen3MoeForCausalLM,
    "Gemma3TextConfig": transformers.Gemma3ForCausalLM,
}


def model_of(config):
    return CLASSES[type(config).__name__](config)

LAYER_NAMES = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "ffn_gate_inp": "mlp.gate", "ffn_gate_inp_shexp": "mlp.shared_expert_gate", "ffn_gate_shexp": "mlp.shared_expert.gate_proj",
    "ffn_up_shexp": "mlp.shared_expert.up_proj", "ffn_down_shexp": "mlp.shared_expert.down_proj",
}
GEMMA3_LAYER_NAMES = LAYER_NAMES | {
    "post_attention_norm": "post_attention_layernorm", "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
MODEL_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def transformers_name(architecture, name):
    stem, kind = name.rsplit(".", 1)
    if not stem.startswith("blk."):
        return f"{MODEL_NAMES[stem]}.{kind}"
    _, layer, part = stem.split(".")
    names = GEMMA3_LAYER_NAMES if architecture == "gemma3" else LAYER_NAMES
    return f"model.layers.{layer}.{names[part]}.{kind}"


def state_of(g, config):
    state = {}
    for name in g.tensors:
        if name == "rope_freqs.weight":
            continue  # the caller's config says the same in transformers' words (rope_type llama3)
        w = g.weight(name)
        if g.architecture == "llama" and name.split(".")[-2] in ("attn_q", "attn_k"):
            heads = config.num_attention_heads if ".attn_q." in name else config.num_key_value_heads
            w = permute_rope_rows(w, heads, undo=True)
        if g.architecture == "gemma3" and name.endswith("norm.weight"):
            w = w - np.float32(1)  # the file holds 1 + w, transformers adds the 1 itself
        if "_exps." in name:
            continue  # below
        if ".ffn_gate_inp_shexp." in name:
            w = w.reshape(1, -1)
        state[transformers_name(g.architecture, name)] = torch.from_numpy(w.copy())
    for name in g.tensors:  # transformers keeps an expert's gate above its up, in one matrix
        if name.endswith("ffn_gate_exps.weight"):
            gate, up, down = (g.weight(name.replace("_gate_", f"_{part}_")) for part in ("gate", "up", "down"))
            experts = f"model.layers.{name.split('.')[1]}.mlp.experts."
            state[experts + "gate_up_proj"] = torch.from_numpy(np.concatenate([gate, up], axis=1))
            state[experts + "down_proj"] = torch.from_numpy(down)
    if config.tie_word_embeddings:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    return state


def load(path, config=None):
    """config: given when the file cannot say all of it (rope_type llama3 is only its result, rope_freqs.weight)."""
    g = GgufModel(path)
    if config is None and "rope_freqs.weight" in g.tensors:
        raise ValueError(f"{path} has rope_freqs.weight: pass a config with rope_type llama3")
    config = config or config_of(g)
    config._attn_implementation = "eager"
    torch.set_default_dtype(torch.float32)
    model = model_of(config)
    model.load_state_dict(state_of(g, config), strict=True)
    return g, model.eval()


@torch.no_grad()
def logits_at(model, tokens, positions):
    """{position: logits row}: one whole-sequence pass, no cache; only the wanted rows meet the output matrix."""
    hidden = model.model(torch.tensor([list(tokens)]), use_cache=False).last_hidden_state[0]
    rows = model.lm_head(hidden[list(positions)]).numpy()
    return dict(zip(positions, rows))
