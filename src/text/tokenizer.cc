#include "text/tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "base/utf8.h"
#include "text/bpe.h"
#include "text/sentencepiece.h"
#include "text/special_matcher.h"
#include "text/special_tokens.h"
#include "text/text_encoder.h"
#include "text/vocabulary.h"
#include "text/wordpiece.h"

namespace inferens {
namespace {

constexpr std::string_view kModel = "tokenizer.ggml.model";

StatusOr<std::unique_ptr<TextEncoder>> make_encoder(const GgufFile& file, const Vocabulary& vocabulary) {
  auto model = file.get_string(kModel);
  if (!model.ok()) return model.status();
  if (*model == "gpt2") return make_bpe_encoder(file, vocabulary);
  if (*model == "llama") return make_sentencepiece_encoder(file, vocabulary, MergeSource::kScores);
  if (*model == "gemma4") return make_sentencepiece_encoder(file, vocabulary, MergeSource::kMergeList);
  if (*model == "bert") return make_wordpiece_encoder(file, vocabulary);
  return unsupported(std::string(kModel) + ": '" + std::string(*model) +
                     "' is not offered here; known are: gpt2, llama, gemma4, bert");
}

std::vector<SpecialMatcher::Entry> special_entries(const Vocabulary& vocabulary, const TextEncoder& encoder) {
  std::vector<SpecialMatcher::Entry> entries = added_entries(vocabulary, AddedTokens::kMarkers);
  if (!encoder.finds_added_tokens()) {
    const std::vector<SpecialMatcher::Entry> plain = added_entries(vocabulary, AddedTokens::kPlain);
    entries.insert(entries.end(), plain.begin(), plain.end());
  }
  return entries;
}

bool is_left_out(const Tokenizer& tokenizer, TokenId id, bool skip_special) {
  const TokenKind kind = tokenizer.token_kind(id);
  return skip_special && (kind == TokenKind::kControl || kind == TokenKind::kUnknown);
}

class ModelTokenizer final : public Tokenizer {
 public:
  ModelTokenizer(std::unique_ptr<Vocabulary> vocabulary, std::unique_ptr<TextEncoder> encoder)
      : vocabulary_(std::move(vocabulary)),
        encoder_(std::move(encoder)),
        matcher_(special_entries(*vocabulary_, *encoder_)),
        ends_generation_(end_of_generation_tokens(*vocabulary_)) {
    const TextEncoder::Additions defaults = encoder_->default_additions();
    const std::optional<TokenId> opening = vocabulary_->bos ? vocabulary_->bos : vocabulary_->cls;
    if (vocabulary_->add_bos.value_or(defaults.bos)) opening_ = opening;
    if (vocabulary_->add_eos.value_or(defaults.eos)) closing_ = vocabulary_->eos;
    if (vocabulary_->add_separator.value_or(defaults.separator)) closing_ = vocabulary_->separator;
  }

  std::vector<TokenId> encode(std::string_view text, EncodeOptions options) const override {
    const ByteRange whole = {0, text.size()};
    return encode_ranges(text, {&whole, options.parse_special ? size_t{1} : size_t{0}}, options.add_special);
  }

  std::vector<TokenId> encode_pieces(std::span<const PromptPiece> pieces, bool add_special) const override {
    std::string text;
    std::vector<ByteRange> trusted;
    for (const PromptPiece& piece : pieces) {
      const ByteRange range = {text.size(), text.size() + piece.text.size()};
      text += piece.text;
      if (!piece.may_be_special || piece.text.empty()) continue;
      if (!trusted.empty() && trusted.back().end == range.begin) {
        trusted.back().end = range.end;
      } else {
        trusted.push_back(range);
      }
    }
    return encode_ranges(text, trusted, add_special);
  }

  std::string_view token_bytes(TokenId id) const override {
    return vocabulary_->contains(id) ? encoder_->token_bytes()[static_cast<size_t>(id)] : std::string_view();
  }
  TokenKind token_kind(TokenId id) const override {
    return vocabulary_->contains(id) ? vocabulary_->kind(id) : TokenKind::kUnused;
  }

  std::string decode(std::span<const TokenId> ids, bool skip_special) const override {
    std::string text;
    bool at_start = true;
    for (TokenId id : ids) {
      if (is_left_out(*this, id, skip_special)) continue;
      std::string_view bytes = token_bytes(id);
      if (at_start && encoder_->adds_leading_space() && bytes.starts_with(' ')) bytes.remove_prefix(1);
      text += bytes;
      at_start = false;
    }
    return text;
  }

  int32_t vocab_size() const override { return vocabulary_->size(); }
  std::optional<TokenId> find(std::string_view spelling) const override { return vocabulary_->find(spelling); }
  std::optional<TokenId> bos() const override { return vocabulary_->bos; }
  std::optional<TokenId> eos() const override { return vocabulary_->eos; }
  bool adds_bos() const override { return opening_.has_value(); }
  bool is_end_of_generation(TokenId id) const override {
    return std::find(ends_generation_.begin(), ends_generation_.end(), id) != ends_generation_.end();
  }
  std::string_view family() const override { return encoder_->family(); }
  std::string_view pretokenizer() const override { return encoder_->pretokenizer(); }

 private:
  std::vector<TokenId> encode_ranges(std::string_view text, std::span<const ByteRange> trusted,
                                     bool add_special) const {
    std::vector<TokenId> out;
    out.reserve(text.size() / 4 + 8);
    if (add_special && opening_) out.push_back(*opening_);
    const size_t first = out.size();
    for (size_t at = 0; at < text.size();) {
      const auto match = matcher_.find(text, at, trusted);
      const size_t plain_end = match ? match->begin : text.size();
      if (plain_end > at) encoder_->encode(text.substr(at, plain_end - at), out);
      if (!match) break;
      out.push_back(match->id);
      at = match->end;
    }
    // A template that writes BOS itself must not get a second one.
    if (first > 0 && out.size() > first && out[first] == *opening_) out.erase(out.begin());
    if (add_special && closing_ && (out.empty() || out.back() != *closing_)) out.push_back(*closing_);
    return out;
  }

  std::unique_ptr<Vocabulary> vocabulary_;
  std::unique_ptr<TextEncoder> encoder_;
  SpecialMatcher matcher_;
  std::vector<TokenId> ends_generation_;
  std::optional<TokenId> opening_;  // BOS or CLS, when the model wants one
  std::optional<TokenId> closing_;  // EOS or SEP, likewise
};

}  // namespace

StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::from_gguf(const GgufFile& file) {
  auto vocabulary = Vocabulary::from_gguf(file);
  if (!vocabulary.ok()) return vocabulary.status();
  auto encoder = make_encoder(file, **vocabulary);
  if (!encoder.ok()) return encoder.status();
  return std::unique_ptr<Tokenizer>(std::make_unique<ModelTokenizer>(std::move(*vocabulary), std::move(*encoder)));
}

std::string Detokenizer::push(TokenId id) {
  if (is_left_out(tokenizer_, id, skip_special_)) return {};
  // decode() undoes a family's leading space, which only the first token has.
  if (at_start_) {
    held_ += tokenizer_.decode(std::array{id}, skip_special_);
  } else {
    held_ += tokenizer_.token_bytes(id);
  }
  at_start_ = false;
  const size_t open = incomplete_utf8_suffix(held_);
  std::string whole = repair_utf8(std::string_view(held_).substr(0, held_.size() - open));
  held_.erase(0, held_.size() - open);
  return whole;
}

std::string Detokenizer::finish() {
  std::string rest = repair_utf8(held_);
  held_.clear();
  return rest;
}

}  // namespace inferens
