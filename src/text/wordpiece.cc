#include "text/wordpiece.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "text/bert_words.h"
#include "text/piece_table.h"

namespace inferens {
namespace {

// Longer words become the unknown token whole (the reference's max_input_chars_per_word).
constexpr size_t kMostCharacters = 100;

size_t count_characters(std::string_view word) {
  return static_cast<size_t>(std::count_if(word.begin(), word.end(), [](char b) { return (b & 0xC0) != 0x80; }));
}

// GGUF spells a piece that starts a word "▁word" and one that goes on plainly "ing".
class WordPieceEncoder final : public TextEncoder {
 public:
  WordPieceEncoder(const Vocabulary& vocabulary, BertRules rules)
      : vocabulary_(vocabulary), rules_(rules), index_(vocabulary.spellings(), static_cast<size_t>(vocabulary.size())) {
    for (TokenId id = 0; id < vocabulary.size(); ++id) {
      const bool is_normal = vocabulary.kind(id) == TokenKind::kNormal;
      if (is_normal && index_.insert(id)) longest_ = std::max(longest_, vocabulary.spelling(id).size());
      bytes_.add(is_normal ? unmark_spaces(vocabulary.spelling(id)) : std::string(vocabulary.spelling(id)));
    }
  }

  void encode(std::string_view text, std::vector<TokenId>& out) const override {
    std::string marked;
    for (const std::string& word : bert_words(text, rules_)) {
      marked.assign(kSpaceMark).append(word);
      encode_word(marked, out);
    }
  }

  std::string_view family() const override { return "wordpiece"; }
  const StringPool& token_bytes() const override { return bytes_; }
  bool adds_leading_space() const override { return true; }
  Additions default_additions() const override { return {.bos = true, .separator = true}; }

 private:
  void encode_word(std::string_view marked, std::vector<TokenId>& out) const {
    const size_t before = out.size();
    const bool too_long = count_characters(marked) > kMostCharacters + 1;
    for (size_t at = 0; at < marked.size();) {
      const int32_t piece = too_long ? StringIndex::kNone : longest_piece(marked.substr(at), at == 0);
      if (piece == StringIndex::kNone) {  // one part unknown makes the whole word unknown
        out.resize(before);
        if (vocabulary_.unknown) out.push_back(*vocabulary_.unknown);
        return;
      }
      out.push_back(piece);
      at += vocabulary_.spelling(piece).size();
    }
  }

  // A mark at the start of a word is GGUF's, and alone no piece; inside a word it is the text's own, and no part of the
  // pieces that start words.
  int32_t longest_piece(std::string_view text, bool starts_word) const {
    const bool is_own_mark = !starts_word && text.starts_with(kSpaceMark);
    const size_t least = starts_word ? kSpaceMark.size() + 1 : 1;
    const size_t most = is_own_mark ? kSpaceMark.size() : std::min(text.size(), longest_);
    for (size_t length = most; length >= least; --length) {
      const int32_t piece = index_.find(text.substr(0, length));
      if (piece != StringIndex::kNone) return piece;
    }
    return StringIndex::kNone;
  }

  const Vocabulary& vocabulary_;
  BertRules rules_;
  StringIndex index_;
  StringPool bytes_;
  size_t longest_ = 0;
};

// A vocabulary with upper-case pieces is of a cased model: an uncased one could never use them.
bool has_uppercase(const Vocabulary& vocabulary) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.kind(id) != TokenKind::kNormal) continue;
    const std::string_view spelling = vocabulary.spelling(id);
    if (spelling.find('[') != std::string_view::npos) continue;  // [unused1], [CLS]
    if (std::any_of(spelling.begin(), spelling.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) return true;
  }
  return false;
}

}  // namespace

StatusOr<std::unique_ptr<TextEncoder>> make_wordpiece_encoder(const GgufFile& file, const Vocabulary& vocabulary) {
  if (!vocabulary.unknown)
    return not_found("tokenizer.ggml.unknown_token_id: missing, and a WordPiece tokenizer needs it");
  BertRules rules;
  rules.lowercase = !has_uppercase(vocabulary);
  if (constexpr std::string_view kKey = "tokenizer.ggml.normalizer.lowercase"; file.find(kKey) != nullptr) {
    auto value = file.get_bool(kKey);
    if (!value.ok()) return value.status();
    rules.lowercase = *value;
  }
  rules.strip_accents = rules.lowercase;
  if (constexpr std::string_view kKey = "tokenizer.ggml.normalizer.strip_accents"; file.find(kKey) != nullptr) {
    auto value = file.get_bool(kKey);
    if (!value.ok()) return value.status();
    rules.strip_accents = *value;
  }
  return std::unique_ptr<TextEncoder>(std::make_unique<WordPieceEncoder>(vocabulary, rules));
}

}  // namespace inferens
