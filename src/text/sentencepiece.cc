#include "text/sentencepiece.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "text/merge_engine.h"
#include "text/merge_list.h"
#include "text/piece_table.h"
#include "text/special_tokens.h"

namespace inferens {
namespace {

// Tokens that stand for themselves wherever text spells them (runs of spaces, HTML tags), as marked text spells them.
std::vector<SpecialMatcher::Entry> plain_added_entries(const Vocabulary& vocabulary) {
  std::vector<SpecialMatcher::Entry> entries = added_entries(vocabulary, AddedTokens::kPlain);
  for (SpecialMatcher::Entry& entry : entries) entry.spelling = mark_spaces(entry.spelling);
  return entries;
}

// Without spaces at the ends, and with one where several stand.
std::string with_single_spaces(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool is_kept = text[at] != ' ' || (!out.empty() && out.back() != ' ');
    if (is_kept) out += text[at];
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

class SentencePieceEncoder final : public TextEncoder {
 public:
  SentencePieceEncoder(const Vocabulary& vocabulary, std::unique_ptr<PieceTable> pieces, MergeTable merges,
                       MergeSource source)
      : vocabulary_(vocabulary),
        pieces_(std::move(pieces)),
        merges_(std::move(merges)),
        source_(source),
        user_defined_(plain_added_entries(vocabulary)),
        space_prefix_(vocabulary.add_space_prefix.value_or(source == MergeSource::kScores)),
        single_spaces_(vocabulary.remove_extra_whitespaces.value_or(false)),
        bytes_(pieces_->text_bytes()),
        wholeness_(static_cast<size_t>(vocabulary.size())) {
    for (size_t c = 0; c < ascii_symbols_.size(); ++c) {
      const char character = static_cast<char>(c);
      ascii_symbols_[c] = pieces_->symbol_of({&character, 1});
      may_cut_after_ascii_[c] = pieces_->may_cut_after({&character, 1});
    }
  }

  void encode(std::string_view text, std::vector<TokenId>& out) const override {
    std::string marked = mark_spaces(single_spaces_ ? with_single_spaces(text) : std::string(text));
    if (marked.empty()) return;
    if (space_prefix_) marked.insert(0, kSpaceMark);
    Scratch scratch{MergeEngine(merges_), {}, {}};
    for (size_t at = 0; at < marked.size();) {
      const auto match = user_defined_.find(marked, at, {});
      const size_t end = match ? match->begin : marked.size();
      encode_pieces(std::string_view(marked).substr(at, end - at), scratch, out);
      if (!match) break;
      out.push_back(match->id);
      at = match->end;
    }
  }

  std::string_view family() const override { return "sentencepiece"; }
  const StringPool& token_bytes() const override { return bytes_; }
  bool finds_added_tokens() const override { return true; }
  bool adds_leading_space() const override { return space_prefix_; }
  Additions default_additions() const override { return {.bos = true}; }

 private:
  struct Scratch {
    MergeEngine engine;
    std::vector<TokenId> symbols;
    std::vector<std::string_view> unknown;  // symbol -1 - i stands for unknown[i]
  };
  enum Wholeness : uint8_t { kNotTried, kWhole, kParts };

  void encode_pieces(std::string_view marked, Scratch& scratch, std::vector<TokenId>& out) const {
    for (size_t start = 0; start < marked.size();) {
      const size_t end = end_of_word(marked, start);
      encode_word(marked.substr(start, end - start), scratch, out);
      start = end;
    }
  }

  // Where text may be cut without changing any merge: before a space mark that no piece has the character before it in
  // front of. A merge list of Gemma 4's kind also keeps line ends apart from the rest.
  size_t end_of_word(std::string_view marked, size_t start) const {
    const bool cut_newlines = source_ == MergeSource::kMergeList;
    std::string_view before;
    for (size_t at = start; at < marked.size();) {
      const auto byte = static_cast<uint8_t>(marked[at]);
      const std::string_view character = marked.substr(at, byte < 128 ? 1 : decode_utf8(marked, at).length);
      if (!before.empty()) {
        if (character == kSpaceMark && before != kSpaceMark && may_cut_after(before)) return at;
        if (cut_newlines && (character == "\n") != (before == "\n")) return at;
      }
      before = character;
      at += character.size();
    }
    return marked.size();
  }

  bool may_cut_after(std::string_view character) const {
    const auto byte = static_cast<uint8_t>(character[0]);
    return byte < 128 ? may_cut_after_ascii_[byte] : pieces_->may_cut_after(character);
  }

  void encode_word(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const {
    const int32_t whole = word.size() <= pieces_->longest() ? pieces_->find(word) : StringIndex::kNone;
    std::atomic<uint8_t>* wholeness = whole == StringIndex::kNone ? nullptr : &wholeness_[static_cast<size_t>(whole)];
    const bool newlines_whole = source_ == MergeSource::kMergeList && word[0] == '\n';
    if (wholeness != nullptr && (newlines_whole || wholeness->load(std::memory_order_relaxed) == kWhole)) {
      out.push_back(whole);
      return;
    }
    to_symbols(word, scratch);
    scratch.engine.merge(scratch.symbols);
    if (wholeness != nullptr) {
      const bool is_whole = scratch.symbols.size() == 1 && scratch.symbols[0] == whole;
      wholeness->store(is_whole ? kWhole : kParts, std::memory_order_relaxed);
    }
    for (TokenId symbol : scratch.symbols) {
      if (symbol < 0) {
        pieces_->append_unknown(scratch.unknown[static_cast<size_t>(-1 - symbol)], out);
      } else if (symbol >= vocabulary_.size()) {
        pieces_->append_unknown(pieces_->character_of(symbol), out);
      } else {
        out.push_back(symbol);
      }
    }
  }

  void to_symbols(std::string_view word, Scratch& scratch) const {
    scratch.symbols.clear();
    scratch.unknown.clear();
    for (size_t at = 0; at < word.size();) {
      const auto byte = static_cast<uint8_t>(word[at]);
      const CodePoint c = decode_utf8(word, at);
      const std::string_view character = word.substr(at, c.valid ? c.length : 1);
      int32_t symbol = byte < 128 ? ascii_symbols_[byte] : c.valid ? pieces_->symbol_of(character) : StringIndex::kNone;
      if (symbol == StringIndex::kNone) {
        scratch.unknown.push_back(character);
        symbol = -static_cast<int32_t>(scratch.unknown.size());
      }
      scratch.symbols.push_back(symbol);
      at += character.size();
    }
  }

  const Vocabulary& vocabulary_;
  std::unique_ptr<PieceTable> pieces_;
  MergeTable merges_;
  MergeSource source_;
  SpecialMatcher user_defined_;  // over marked text
  bool space_prefix_;
  bool single_spaces_;
  StringPool bytes_;
  std::array<int32_t, 128> ascii_symbols_{};
  std::array<bool, 128> may_cut_after_ascii_{};
  mutable std::vector<std::atomic<uint8_t>> wholeness_;
};

}  // namespace

StatusOr<std::unique_ptr<TextEncoder>> make_sentencepiece_encoder(const GgufFile& file, const Vocabulary& vocabulary,
                                                                  MergeSource source) {
  if (constexpr std::string_view kKey = "tokenizer.ggml.precompiled_charsmap"; file.find(kKey) != nullptr) {
    return unsupported(std::string(kKey) +
                       ": text rewritten by a table of the file is not offered for this family; the " +
                       "tokens would be others than the model knows");
  }
  auto pieces = std::make_unique<PieceTable>(vocabulary);
  auto merges = source == MergeSource::kScores ? pieces->merges_by_score() : read_merge_list(file, vocabulary);
  if (!merges.ok()) return merges.status();
  return std::unique_ptr<TextEncoder>(
      std::make_unique<SentencePieceEncoder>(vocabulary, std::move(pieces), std::move(*merges), source));
}

}  // namespace inferens
