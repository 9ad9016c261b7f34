// What every tokenizer promises beyond its ids: bytes come back, users cannot type control tokens, one BOS, long runs
// are quick, broken files are refused by name. The numbered cases are public fault reports of other engines.
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/utf8.h"
#include "test_tokenizers.h"

namespace inferens {
namespace {

constexpr const char* kAll[] = {"trained_gpt2",
                                "trained_smollm",
                                "trained_falcon",
                                "trained_deepseek_coder",
                                "trained_qwen35",
                                "trained_llama",
                                "trained_llama_unknown",
                                "trained_uncased",
                                "trained_cased",
                                "smollm",
                                "qwen3",
                                "gemma3",
                                "llama3_1",
                                "gpt4o",
                                "gptoss",
                                "deepseek_v3",
                                "tekken",
                                "llama2",
                                "mistral",
                                "minilm"};

// Those whose vocabulary can say every byte, and whose model takes text as it is.
constexpr const char* kLossless[] = {"trained_gpt2",  "trained_smollm", "trained_falcon", "trained_deepseek_coder",
                                     "trained_llama", "gemma3",         "llama3_1",       "gpt4o",
                                     "gptoss",        "deepseek_v3",    "tekken",         "llama2",
                                     "mistral"};

class EveryTokenizer : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto path = find_tokenizer_file(GetParam());
    if (!path) GTEST_SKIP() << "set INFERENS_TEST_MODELS to a folder with the tokenizer '" << GetParam() << "'";
    tokenizer_ = load_tokenizer(*path);
    ASSERT_NE(tokenizer_, nullptr);
  }
  std::vector<TokenId> plain(std::string_view text) const {
    return tokenizer_->encode(text, {.add_special = false, .parse_special = false});
  }
  std::unique_ptr<Tokenizer> tokenizer_;
};
class LosslessTokenizer : public EveryTokenizer {};

std::string random_bytes(RandomSequence& random, size_t most) {
  std::string bytes(random.below(most) + 1, '\0');
  for (char& b : bytes) b = static_cast<char>(random.below(3) == 0 ? random.below(256) : ' ' + random.below(95));
  return bytes;
}

// 5 (llama.cpp#8584), 12 (llama-cpp-python#2362): the user's own words must come back.
TEST_P(LosslessTokenizer, TextAndAnyOtherBytesComeBack) {
  for (const std::string& text : golden_texts()) {
    // A literal ▁ is a space to SentencePiece.
    if (tokenizer_->family() == "sentencepiece" && text.find("▁") != std::string::npos) continue;
    ASSERT_EQ(tokenizer_->decode(plain(text), false), text);
  }
  RandomSequence random(3);
  for (int i = 0; i < 2000; ++i) {
    const std::string bytes = random_bytes(random, 60);
    ASSERT_EQ(tokenizer_->decode(plain(bytes), false), bytes) << testing::PrintToString(bytes);
  }
  for (size_t spaces : {1, 2, 15, 16, 17, 81, 1000}) {
    const std::string text = "a" + std::string(spaces, ' ') + "b" + std::string(spaces, ' ');
    EXPECT_EQ(tokenizer_->decode(plain(text), false), text);
  }
}

// 13 (llama.cpp#24382, #26309, ollama#17248): what a user types is never a control token nor a chat marker.
TEST_P(EveryTokenizer, UserTextCannotSpellControlTokens) {
  const std::string template_text = "template text ";
  for (TokenId id = 0; id < tokenizer_->vocab_size(); ++id) {
    if (tokenizer_->token_kind(id) != TokenKind::kControl) continue;
    const std::string spelling(tokenizer_->token_bytes(id));
    if (spelling.empty()) continue;
    for (const std::string& text : {spelling, "A" + spelling + "B", " " + spelling + "\n"}) {
      const auto untrusted = plain(text);
      ASSERT_EQ(std::count(untrusted.begin(), untrusted.end(), id), 0) << spelling;
      const PromptPiece pieces[] = {{template_text, true}, {text, false}, {template_text, true}};
      const auto joined = tokenizer_->encode_pieces(pieces, false);
      ASSERT_EQ(std::count(joined.begin(), joined.end(), id), 0) << spelling;
    }
    // A spelling that template and user share is the user's.
    const PromptPiece shared[] = {{spelling.substr(0, 1), true}, {spelling.substr(1), false}};
    const auto half = tokenizer_->encode_pieces(shared, false);
    ASSERT_EQ(std::count(half.begin(), half.end(), id), 0) << spelling;
    const PromptPiece trusted[] = {{spelling.substr(0, 1), true}, {"", false}, {spelling.substr(1), true}};
    ASSERT_EQ(tokenizer_->encode_pieces(trusted, false), std::vector<TokenId>{id}) << spelling;
    if (id > 300 && id % 97 != 0) continue;  // thousands of <unused…> say nothing new
    const auto parsed = tokenizer_->encode("A" + spelling + "B", {.add_special = false, .parse_special = true});
    EXPECT_EQ(std::count(parsed.begin(), parsed.end(), id), 1) << spelling;
  }
}

TEST_P(EveryTokenizer, PiecesOfPlainTextAreTokenizedAsIfJoined) {
  RandomSequence random(8);
  for (size_t n = 0; n < golden_texts().size(); n += 7) {
    const std::string& text = golden_texts()[n];
    std::vector<PromptPiece> pieces;
    for (size_t at = 0; at < text.size();) {
      const size_t length = random.below(8) + 1;
      pieces.push_back({text.substr(at, length), false});
      at += length;
    }
    ASSERT_EQ(tokenizer_->encode_pieces(pieces, false), plain(text)) << testing::PrintToString(text);
  }
}

// 9 (llama.cpp#27783, #26965, #14655, …): long runs of one class ended other engines by stack or took minutes.
TEST_P(EveryTokenizer, AHundredThousandOfOneCharacterAreQuickAndRight) {
  for (const char* unit :
       {"A", "Z", "us", " ", "\n", "1", "=", "é", "中", "\xF0\x9F\xA6\x99", "\xFF", " a", "\t", "\r\n"}) {
    std::string text;
    while (text.size() < 100'000) text += unit;
    const auto ids = plain(text);
    const bool is_lossless = std::find_if(std::begin(kLossless), std::end(kLossless), [&](const char* n) {
                               return std::string_view(n) == GetParam();
                             }) != std::end(kLossless);
    if (is_lossless) {
      EXPECT_EQ(tokenizer_->decode(ids, false), text) << unit;
    }
    EXPECT_LE(ids.size(), text.size() + 2);
  }
}

TEST_P(EveryTokenizer, StreamedTextEqualsTheWhole) {
  RandomSequence random(21);
  for (int i = 0; i < 400; ++i) {
    std::vector<TokenId> ids;
    if (i % 2 == 0) {
      ids = plain(golden_texts()[random.below(golden_texts().size())] + random_bytes(random, 8));
      // 37, 38 (llama.cpp#9195): a limit may fall inside a character.
      ids.resize(random.below(ids.size() + 1));
    } else {
      for (uint64_t n = random.below(30); n > 0; --n)
        ids.push_back(static_cast<TokenId>(random.below(static_cast<uint64_t>(tokenizer_->vocab_size()))));
    }
    for (bool skip_special : {false, true}) {
      Detokenizer detokenizer(*tokenizer_, skip_special);
      std::string streamed;
      for (TokenId id : ids) {
        const std::string piece = detokenizer.push(id);
        ASSERT_TRUE(is_valid_utf8(piece)) << "half a character reached the user";
        streamed += piece;
      }
      streamed += detokenizer.finish();
      ASSERT_EQ(streamed, repair_utf8(tokenizer_->decode(ids, skip_special)));
    }
  }
}

TEST_P(EveryTokenizer, IdsOutsideTheVocabularyAreNothing) {
  for (TokenId id : {-1, tokenizer_->vocab_size(), 1 << 30}) {
    EXPECT_EQ(tokenizer_->token_bytes(id), "");
    const std::vector<TokenId> ids = {id};
    EXPECT_EQ(tokenizer_->decode(ids, true), "");
    EXPECT_FALSE(tokenizer_->is_end_of_generation(id));
  }
}

std::string name_of(const testing::TestParamInfo<const char*>& test) {
  return test.param;
}
INSTANTIATE_TEST_SUITE_P(Tokenizer, EveryTokenizer, testing::ValuesIn(kAll), name_of);
INSTANTIATE_TEST_SUITE_P(Tokenizer, LosslessTokenizer, testing::ValuesIn(kLossless), name_of);

}  // namespace
}  // namespace inferens
