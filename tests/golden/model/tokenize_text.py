"""Text to token ids from a GGUF's own vocabulary, without inferens: byte-level BPE by the `tokenizers` package, and
SentencePiece BPE as the plain merge loop of its paper (merge the neighbours with the best score until none is left)."""
import heapq

import tokenizers
from tokenizers import Regex, models, pre_tokenizers

QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def pre_tokenizer(name):
    if name == "smollm":
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                        pre_tokenizers.ByteLevel(add_prefix_space=False)])
    if name == "qwen2":
        return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN2), "isolated"),
                                        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    if name == "gpt-2":
        return pre_tokenizers.ByteLevel(add_prefix_space=False)
    raise ValueError(f"pre-tokenizer {name} is not known here")


def byte_level(g, text):
    vocabulary = {t: i for i, t in enumerate(g.get("tokenizer.ggml.tokens"))}
    merges = [tuple(m.split(" ")) for m in g.get("tokenizer.ggml.merges")]
    tokenizer = tokenizers.Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizer(g.get("tokenizer.ggml.pre"))
    return tokenizer.encode(text, add_special_tokens=False).ids


def sentencepiece(g, text):
    ids = {t: i for i, t in enumerate(g.get("tokenizer.ggml.tokens"))}
    scores = g.get("tokenizer.ggml.scores")
    symbols = list(text.replace(" ", "▁"))
    after = list(range(1, len(symbols))) + [-1]
    before = list(range(-1, len(symbols) - 1))
    heap = []

    def offer(left):
        right = after[left]
        if right >= 0 and (joined := symbols[left] + symbols[right]) in ids:
            heapq.heappush(heap, (-scores[ids[joined]], left, right, joined))

    for i in range(len(symbols) - 1):
        offer(i)
    while heap:
        _, left, right, joined = heapq.heappop(heap)
        if symbols[left] is None or after[left] != right or symbols[left] + symbols[right] != joined:
            continue
        symbols[left], symbols[right] = joined, None
        after[left] = after[right]
        if after[left] >= 0:
            before[after[left]] = left
        offer(left)
        if before[left] >= 0:
            offer(before[left])
    out = []
    for s in symbols:
        if s is not None:
            out += [ids[s]] if s in ids else [ids[f"<0x{b:02X}>"] for b in s.encode()]
    return out


def encode(g, text):
    """With the start token where the model asks for one."""
    ids = byte_level(g, text) if g.get("tokenizer.ggml.model") == "gpt2" else sentencepiece(g, text)
    return ([g.get("tokenizer.ggml.bos_token_id")] if g.get("tokenizer.ggml.add_bos_token", False) else []) + ids
