// Tokenizers made here, key by key: what a file may say and what is refused, and public fault reports of other engines
// that need a vocabulary of their own.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "formats/gguf_writer.h"
#include "test_tokenizers.h"

namespace inferens {
namespace {

// A GGUF file in memory and the tokenizer it gives.
class File {
 public:
  File& text(std::string_view key, std::string_view value) { return set(key, value); }
  File& number(std::string_view key, uint32_t value) { return set(key, value); }
  File& flag(std::string_view key, bool value) { return set(key, value); }
  File& texts(std::string_view key, const std::vector<std::string>& values) {
    return set(key, gguf_array(std::vector<std::string_view>(values.begin(), values.end())));
  }
  template <class T>
  File& numbers(std::string_view key, const std::vector<T>& values) {
    return set(key, gguf_array(std::span<const T>(values)));
  }
  StatusOr<std::unique_ptr<Tokenizer>> tokenizer() const {
    auto bytes = writer_.to_bytes();
    if (!bytes.ok()) return bytes.status();
    auto file = GgufFile::parse(std::as_bytes(std::span(*bytes)), "test");
    if (!file.ok()) return file.status();
    return Tokenizer::from_gguf(*file);
  }

 private:
  File& set(std::string_view key, const GgufValue& value) {
    writer_.set("tokenizer.ggml." + std::string(key), value);
    return *this;
  }
  GgufWriter writer_;
};

constexpr int32_t kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kByte = 6;

// Tokens 0 to 9: a b ab Ġ Ġa Ġab <s> </s> <think> and four spaces.
File bpe() {
  File file;
  file.text("model", "gpt2").text("pre", "gpt-2");
  file.texts("tokens", {"a", "b", "ab", "Ġ", "Ġa", "Ġab", "<s>", "</s>", "<think>", "    "});
  file.numbers<int32_t>("token_type", {kNormal, kNormal, kNormal, kNormal, kNormal, kNormal, kControl, kControl,
                                       kUserDefined, kUserDefined});
  file.texts("merges", {"a b", "Ġ a", "Ġ ab"});
  file.number("bos_token_id", 6).number("eos_token_id", 7);
  return file;
}

// 0 <unk>, 1 <s>, 2 </s>, 3…258 the bytes, then pieces.
File sentencepiece(const std::vector<std::string>& pieces, const std::vector<std::string>& added = {}) {
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<int32_t> kinds = {kUnknown, kControl, kControl};
  for (int b = 0; b < 256; ++b) {
    const char* hex = "0123456789ABCDEF";
    tokens.push_back(std::string("<0x") + hex[b >> 4] + hex[b & 15] + ">");
    kinds.push_back(kByte);
  }
  std::vector<float> scores(tokens.size(), 0.0f);
  for (const std::string& piece : pieces) {
    scores.push_back(-static_cast<float>(tokens.size()));
    tokens.push_back(piece);
    kinds.push_back(kNormal);
  }
  for (const std::string& token : added) {
    scores.push_back(0);
    tokens.push_back(token);
    kinds.push_back(kUserDefined);
  }
  File file;
  file.text("model", "llama").texts("tokens", tokens).numbers("token_type", kinds).numbers("scores", scores);
  file.number("bos_token_id", 1).number("eos_token_id", 2).number("unknown_token_id", 0);
  return file;
}

using Ids = std::vector<TokenId>;
constexpr Tokenizer::EncodeOptions kPlain = {.add_special = false, .parse_special = false};
constexpr Tokenizer::EncodeOptions kTrusted = {.add_special = false, .parse_special = true};

TEST(TokenizerFile, ASmallBpeVocabularyMergesByRank) {
  auto t = bpe().tokenizer();
  ASSERT_TRUE(t.ok()) << t.status().to_string();
  EXPECT_EQ((*t)->encode("ab ab", kPlain), (Ids{2, 5}));
  auto other = bpe().texts("merges", {"Ġ a", "a b", "Ġ ab"}).tokenizer();
  ASSERT_TRUE(other.ok());
  EXPECT_EQ((*other)->encode("ab ab", kPlain), (Ids{2, 4, 1})) << "'Ġab' is a token, but these merges never build it";
  EXPECT_EQ((*t)->encode("</s>", kTrusted), (Ids{7}));
  EXPECT_EQ((*t)->find("Ġab"), 5);
  EXPECT_EQ((*t)->token_bytes(5), " ab");
  EXPECT_EQ((*t)->family(), "bpe");
  EXPECT_EQ((*t)->pretokenizer(), "gpt-2");
  EXPECT_TRUE((*t)->is_end_of_generation(7));
  EXPECT_FALSE((*t)->is_end_of_generation(6));
}

// Added text is found anywhere; what looks like a marker of the prompt only where a template put it (13: `</think>`).
TEST(TokenizerFile, AddedTokensAreFoundAnywhereButMarkersOnlyInTrustedText) {
  auto t = bpe().tokenizer();
  ASSERT_TRUE(t.ok());
  EXPECT_EQ((*t)->encode("a    a", kPlain), (Ids{0, 9, 0}));
  EXPECT_EQ((*t)->encode("<think>a", kTrusted), (Ids{8, 0}));
  EXPECT_EQ((*t)->encode("<think>a", kPlain), (Ids{0})) << "this vocabulary has no token for the other characters";
}

// 10 (llama-cpp-python#1501, llama.cpp#7107).
TEST(TokenizerFile, ATemplateThatWritesBosGetsNoSecondOne) {
  auto t = bpe().flag("add_bos_token", true).tokenizer();
  ASSERT_TRUE(t.ok());
  EXPECT_TRUE((*t)->adds_bos());
  EXPECT_EQ((*t)->encode("a", {.add_special = true, .parse_special = true}), (Ids{6, 0}));
  EXPECT_EQ((*t)->encode("<s>a", {.add_special = true, .parse_special = true}), (Ids{6, 0}));
  EXPECT_EQ((*t)->encode("<s><s>a", {.add_special = true, .parse_special = true}), (Ids{6, 6, 0}))
      << "the text's own two stay";
  EXPECT_EQ((*t)->encode("", {.add_special = true, .parse_special = true}), (Ids{6}));
  const PromptPiece pieces[] = {{"<s>", true}, {"<s>ab", false}};
  EXPECT_EQ((*t)->encode_pieces(pieces, true), (Ids{6, 2})) << "the user's <s> is text";
  auto never = bpe().flag("add_bos_token", false).tokenizer();
  ASSERT_TRUE(never.ok());
  EXPECT_EQ((*never)->encode("a", {.add_special = true, .parse_special = true}), (Ids{0}));
}

TEST(TokenizerFile, EosIsAddedOnceWhenTheFileSaysSo) {
  auto t = bpe().flag("add_bos_token", true).flag("add_eos_token", true).tokenizer();
  ASSERT_TRUE(t.ok());
  EXPECT_EQ((*t)->encode("a", {.add_special = true, .parse_special = true}), (Ids{6, 0, 7}));
  EXPECT_EQ((*t)->encode("a</s>", {.add_special = true, .parse_special = true}), (Ids{6, 0, 7}));
}

// 2 (llama.cpp#7049): the word after an added token starts like any first word, with a space.
TEST(TokenizerFile, AWordAfterAnAddedMarkerKeepsItsLeadingSpace) {
  auto t = sentencepiece({"▁", "u", "s", "e", "r", "us", "er", "user", "▁user"}, {"<|im_start|>"}).tokenizer();
  ASSERT_TRUE(t.ok()) << t.status().to_string();
  EXPECT_EQ((*t)->encode("<|im_start|>user", kTrusted), (Ids{*(*t)->find("<|im_start|>"), *(*t)->find("▁user")}));
  const auto plain = (*t)->encode("<|im_start|>user", kPlain);
  EXPECT_EQ(std::count(plain.begin(), plain.end(), *(*t)->find("<|im_start|>")), 0);
  EXPECT_EQ((*t)->decode(plain, true), "<|im_start|>user");
}

// 4 (llama.cpp#8584): no space may appear where the model adds none.
TEST(TokenizerFile, NoSpaceIsInventedWhereTheFileAsksForNone) {
  auto t = sentencepiece({"▁", "t", "e", "x", "te", "xt", "text", "▁text"}).flag("add_space_prefix", false).tokenizer();
  ASSERT_TRUE(t.ok());
  EXPECT_EQ((*t)->encode("<s>text</s>", {.add_special = true, .parse_special = true}),
            (Ids{1, *(*t)->find("text"), 2}));
  EXPECT_EQ((*t)->decode((*t)->encode(" text ", kPlain), true), " text ");
}

// 5 (llama.cpp#8338): the longest run of tabs, and no stray space.
TEST(TokenizerFile, SixTabsAreOneToken) {
  auto t = sentencepiece({"▁", "t", "e", "s", "te", "st", "test"}, {"\t", "\t\t", "\t\t\t", "\t\t\t\t\t\t"})
               .flag("add_space_prefix", false)
               .tokenizer();
  ASSERT_TRUE(t.ok());
  EXPECT_EQ((*t)->encode("\t\t\t\t\t\ttest", kPlain), (Ids{*(*t)->find("\t\t\t\t\t\t"), *(*t)->find("test")}));
}

TEST(TokenizerFile, SpacesAreJoinedWhereTheFileAsksForIt) {
  auto t = sentencepiece({"▁", "a", "b", "▁a", "▁b"}).flag("remove_extra_whitespaces", true).tokenizer();
  ASSERT_TRUE(t.ok());
  EXPECT_EQ((*t)->encode("  a   b ", kPlain), (Ids{*(*t)->find("▁a"), *(*t)->find("▁b")}));
  EXPECT_EQ((*t)->encode("   ", kPlain), Ids{});
}

// 7 (llama.cpp#167), on the vocabulary of Llama 2.
TEST(TokenizerFile, LlamaFallsBackToBytesForALlama) {
  const auto path = find_tokenizer_file("llama2");
  if (!path) GTEST_SKIP() << "set INFERENS_TEST_MODELS to a folder with the tokenizer 'llama2'";
  const auto t = load_tokenizer(*path);
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->encode("This is 🦙.cpp", {}), (Ids{1, 910, 338, 29871, 243, 162, 169, 156, 29889, 8223}));
}

TEST(TokenizerFile, RealGemmaKeepsRunsAndAddsNoSpace) {
  const auto path = find_tokenizer_file("gemma3");
  if (!path) GTEST_SKIP() << "set INFERENS_TEST_MODELS to a folder with the tokenizer 'gemma3'";
  const auto t = load_tokenizer(*path);
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->encode("\t\t\t\t\t\ttest", kPlain), (Ids{255973, *t->find("test")}));
  EXPECT_EQ(t->encode("<pad>text<eos>", kTrusted), (Ids{0, *t->find("text"), 1}));
  EXPECT_TRUE(t->is_end_of_generation(*t->find("<end_of_turn>")));
}

TEST(TokenizerFile, BertWrapsTextInClsAndSep) {
  const auto t = load_tokenizer(golden_path("trained_uncased.gguf"));
  ASSERT_NE(t, nullptr);
  const auto ids = t->encode("Räksmörgås", {});
  ASSERT_GE(ids.size(), 3u);
  EXPECT_EQ(ids.front(), *t->find("[CLS]"));
  EXPECT_EQ(ids.back(), *t->find("[SEP]"));
  EXPECT_EQ(t->decode(ids, true), "raksmorgas");
}

TEST(TokenizerFile, AMissingPreTokenizerNameIsTheDefault) {
  File file;
  file.text("model", "gpt2").texts("tokens", {"a", "b"}).texts("merges", {});
  auto t = file.tokenizer();
  ASSERT_TRUE(t.ok()) << t.status().to_string();
  EXPECT_EQ((*t)->pretokenizer(), "default");
}

TEST(TokenizerFile, MergesThatNameUnknownOrControlTokensNeverApply) {
  auto t = bpe().texts("merges", {"< s>", "a nothing", "a b"}).tokenizer();
  ASSERT_TRUE(t.ok());
  EXPECT_EQ((*t)->encode("ab", kPlain), (Ids{2}));
  auto spelled = bpe()
                     .texts("tokens", {"a", "b", "ab", "<", "s>", "Ġab", "<s>", "</s>", "<think>", "    "})
                     .texts("merges", {"< s>"})
                     .tokenizer();
  ASSERT_TRUE(spelled.ok());
  const auto ids = (*spelled)->encode("<s>", kPlain);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 6), 0) << "merges must not build a control token";
}

struct Refusal {
  const char* what;
  File file;
  const char* named;  // in the error
};

TEST(TokenizerFile, WhatIsWrongIsRefusedByTheNameOfItsKey) {
  const std::vector<float> bad_scores = [] {
    std::vector<float> s(260, 0.0f);
    s[7] = std::numeric_limits<float>::quiet_NaN();
    return s;
  }();
  File no_tokens;
  no_tokens.text("model", "gpt2");
  const std::vector<Refusal> refusals = {
      {"no model", File(), "tokenizer.ggml"},
      {"no tokens", no_tokens, "tokenizer.ggml.tokens"},
      {"empty tokens", bpe().texts("tokens", {}), "tokenizer.ggml.tokens"},
      {"tokens are numbers", bpe().numbers<int32_t>("tokens", {1, 2}), "tokenizer.ggml.tokens"},
      {"model of another kind", bpe().text("model", "rwkv"), "tokenizer.ggml.model"},
      {"model is a number", bpe().number("model", 3), "tokenizer.ggml.model"},
      {"unknown pre", bpe().text("pre", "gpt-3"), "tokenizer.ggml.pre"},
      {"pre is a flag", bpe().flag("pre", true), "tokenizer.ggml.pre"},
      {"too few types", bpe().numbers<int32_t>("token_type", {1, 1}), "tokenizer.ggml.token_type"},
      {"types are texts", bpe().texts("token_type", {"a"}), "tokenizer.ggml.token_type"},
      {"a type of 9", bpe().numbers<int32_t>("token_type", {1, 1, 9, 1, 1, 1, 1, 1, 1, 1}), "entry 2"},
      {"a negative type", bpe().numbers<int32_t>("token_type", {-1, 1, 1, 1, 1, 1, 1, 1, 1, 1}), "entry 0"},
      {"bos outside", bpe().number("bos_token_id", 10), "tokenizer.ggml.bos_token_id"},
      {"eos far outside", bpe().number("eos_token_id", 4294967295u), "tokenizer.ggml.eos_token_id"},
      {"eos is a text", bpe().text("eos_token_id", "7"), "tokenizer.ggml.eos_token_id"},
      {"flag is a text", bpe().text("add_bos_token", "true"), "tokenizer.ggml.add_bos_token"},
      {"merges are numbers", bpe().numbers<int32_t>("merges", {1}), "tokenizer.ggml.merges"},
      {"a merge of one token", bpe().texts("merges", {"a b", "ab"}), "entry 1"},
      {"scores are short", sentencepiece({"a"}).numbers<float>("scores", {1.0f}), "tokenizer.ggml.scores"},
      {"scores are bytes", sentencepiece({"a"}).numbers<int8_t>("scores", std::vector<int8_t>(260, 1)),
       "tokenizer.ggml.scores"},
      {"a table to rewrite text", sentencepiece({"a"}).numbers<uint8_t>("precompiled_charsmap", {1, 2}),
       "tokenizer.ggml.precompiled_charsmap"},
      {"a score is no number", sentencepiece({"a"}).numbers<float>("scores", bad_scores), "tokenizer.ggml.scores"},
  };
  for (const Refusal& refusal : refusals) {
    auto t = refusal.file.tokenizer();
    ASSERT_FALSE(t.ok()) << refusal.what;
    EXPECT_NE(t.status().message().find(refusal.named), std::string::npos)
        << refusal.what << ": " << t.status().to_string();
  }
}

}  // namespace
}  // namespace inferens
