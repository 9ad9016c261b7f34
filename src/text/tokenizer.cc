#include "text/tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "base/utf8.h"
#include "text/bpe.h"
#include "text/special_matcher.h"
#include "text/special_tokens.h"
#include "text/text_encoder.h"
#include "text/vocabulary.h"

namespace inferens {
namespace {

constexpr std::string_view kModel = "tokenizer.ggml.model";

StatusOr<std::unique_ptr<TextEncoder>> make_encoder(const GgufFile& file, const Vocabulary& vocabulary) {
  auto model = file.get_string(kModel);
  if (!model.ok()) return model.status();
  if (*model == "gpt2") return make_bpe_encoder(file, vocabulary);
  return unsupported(std::string(kModel) + ": '" + std::string(*model) + "' is not offered here; known are: gpt2");
}

class ModelTokenizer final : public Tokenizer {
 public:
  ModelTokenizer(std::unique_ptr<Vocabulary> vocabulary, std::unique_ptr<TextEncoder> encoder)
      : vocabulary_(std::move(vocabulary)),
        encoder_(std::move(encoder)),
        matcher_(special_entries(*vocabulary_, encoder_->family())),
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
    for (TokenId id : ids) append_token(id, skip_special, text.empty(), text);
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
  std::vector<TokenId> encode_ranges(std::string_view text, std::span<const ByteRange> trusted, bool add_special) const {
    std::vector<TokenId> out;
    out.reserve(text.size() / 4 + 8);
    if (add_special && opening_) out.push_back(*opening_);
    const size_t first = out.size();
    TextPosition position = TextPosition::kStart;
    for (size_t at = 0; at < text.size();) {
      const auto match = matcher_.find(text, at, trusted);
      const size_t plain_end = match ? match->begin : text.size();
      if (plain_end > at) encoder_->encode(text.substr(at, plain_end - at), position, out);
      if (!match) break;
      out.push_back(match->id);
      position = TextPosition::kAfterSpecial;
      at = match->end;
    }
    // A template that writes BOS itself must not get a second one.
    if (first > 0 && out.size() > first && out[first] == *opening_) out.erase(out.begin());
    if (add_special && closing_ && (out.empty() || out.back() != *closing_)) out.push_back(*closing_);
    return out;
  }

  void append_token(TokenId id, bool skip_special, bool at_start, std::string& text) const {
    const TokenKind kind = token_kind(id);
    if (skip_special && (kind == TokenKind::kControl || kind == TokenKind::kUnknown)) return;
    std::string_view bytes = token_bytes(id);
    if (at_start && encoder_->adds_leading_space() && bytes.starts_with(' ')) bytes.remove_prefix(1);
    text += bytes;
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
  const std::array<TokenId, 1> ids = {id};
  // decode() undoes a leading space only where nothing stands before, so it is asked for a start only then.
  std::string bytes;
  if (at_start_) {
    bytes = tokenizer_.decode(ids, skip_special_);
  } else if (!skip_special_ || tokenizer_.token_kind(id) != TokenKind::kControl) {
    bytes = tokenizer_.token_bytes(id);
  }
  if (bytes.empty()) return bytes;
  at_start_ = false;
  held_ += bytes;
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
