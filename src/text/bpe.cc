#include "text/bpe.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "base/log.h"
#include "text/byte_level.h"
#include "text/merge_engine.h"
#include "text/merge_list.h"
#include "text/normalizer.h"
#include "text/pretokenizer.h"

namespace inferens {
namespace {

constexpr std::string_view kPre = "tokenizer.ggml.pre";

StringPool bytes_of_tokens(const Vocabulary& vocabulary) {
  StringPool bytes;
  std::string buffer;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    buffer.clear();
    // Added tokens are spelled plainly, and so is what the alphabet cannot say.
    const bool mapped = vocabulary.kind(id) == TokenKind::kNormal && append_byte_level(vocabulary.spelling(id), buffer);
    bytes.add(mapped ? std::string_view(buffer) : vocabulary.spelling(id));
  }
  return bytes;
}

class BpeEncoder final : public TextEncoder {
 public:
  BpeEncoder(const Vocabulary& vocabulary, const Pretokenizer& pretokenizer, std::string name, MergeTable merges)
      : pretokenizer_(pretokenizer),
        pretokenizer_name_(std::move(name)),
        merges_(std::move(merges)),
        bytes_(bytes_of_tokens(vocabulary)),
        index_(bytes_, static_cast<size_t>(vocabulary.size())),
        wholeness_(static_cast<size_t>(vocabulary.size())) {
    // Some files name a control token as the unknown one; no text may turn into that.
    const bool has_unknown = vocabulary.unknown && vocabulary.kind(*vocabulary.unknown) == TokenKind::kUnknown;
    byte_ids_.fill(has_unknown ? *vocabulary.unknown : -1);
    for (TokenId id = 0; id < vocabulary.size(); ++id) {
      if (vocabulary.kind(id) != TokenKind::kNormal || !index_.insert(id)) continue;
      const std::string_view bytes = bytes_[static_cast<size_t>(id)];
      longest_token_ = std::max(longest_token_, bytes.size());
      if (bytes.size() == 1) byte_ids_[static_cast<uint8_t>(bytes[0])] = id;
    }
    const auto missing = std::count(byte_ids_.begin(), byte_ids_.end(), -1);
    if (missing > 0) spdlog::info("tokenizer: {} byte values have no token; text that holds them loses them", missing);
  }

  void encode(std::string_view text, std::vector<TokenId>& out) const override {
    std::string composed;
    if (pretokenizer_.rules().nfc && !is_surely_nfc(text)) {
      composed = to_nfc(text);
      text = composed;
    }
    MergeEngine engine(merges_);
    std::vector<TokenId> symbols;
    pretokenizer_.split(text, [&](std::string_view word) { encode_word(word, engine, symbols, out); });
  }

  std::string_view family() const override { return "bpe"; }
  std::string_view pretokenizer() const override { return pretokenizer_name_; }
  const StringPool& token_bytes() const override { return bytes_; }
  Additions default_additions() const override { return {.bos = pretokenizer_.rules().adds_bos}; }

 private:
  enum Wholeness : uint8_t { kNotTried, kWhole, kParts };

  // Most words of running text are one token. Whether merging really builds that token is worked out the first time the
  // word is met and remembered: the answer is always the same, so threads may race to write it.
  void encode_word(std::string_view word, MergeEngine& engine, std::vector<TokenId>& symbols,
                   std::vector<TokenId>& out) const {
    const int32_t whole = word.size() <= longest_token_ ? index_.find(word) : StringIndex::kNone;
    std::atomic<uint8_t>* wholeness = nullptr;
    if (whole != StringIndex::kNone) {
      wholeness = &wholeness_[static_cast<size_t>(whole)];
      if (pretokenizer_.rules().ignore_merges || wholeness->load(std::memory_order_relaxed) == kWhole) {
        out.push_back(whole);
        return;
      }
    }
    symbols.clear();
    for (char byte : word) {
      const TokenId id = byte_ids_[static_cast<uint8_t>(byte)];
      if (id >= 0) symbols.push_back(id);
    }
    engine.merge(symbols);
    if (wholeness != nullptr) {
      const bool is_whole = symbols.size() == 1 && symbols[0] == whole;
      wholeness->store(is_whole ? kWhole : kParts, std::memory_order_relaxed);
    }
    out.insert(out.end(), symbols.begin(), symbols.end());
  }

  Pretokenizer pretokenizer_;
  std::string pretokenizer_name_;
  MergeTable merges_;
  StringPool bytes_;
  StringIndex index_;  // normal tokens by their bytes
  std::array<TokenId, 256> byte_ids_{};
  size_t longest_token_ = 0;
  mutable std::vector<std::atomic<uint8_t>> wholeness_;
};

}  // namespace

StatusOr<std::unique_ptr<TextEncoder>> make_bpe_encoder(const GgufFile& file, const Vocabulary& vocabulary) {
  std::string name = "default";
  if (file.find(kPre) == nullptr) {
    spdlog::warn("{}: missing, so words are cut by the rules named '{}'; a newer conversion of the model would say",
                 kPre, name);
  } else {
    auto given = file.get_string(kPre);
    if (!given.ok()) return given.status();
    name = *given;
  }
  auto pretokenizer = Pretokenizer::from_name(name);
  if (!pretokenizer.ok()) return pretokenizer.status();
  auto merges = read_merge_list(file, vocabulary);
  if (!merges.ok()) return merges.status();
  return std::unique_ptr<TextEncoder>(
      std::make_unique<BpeEncoder>(vocabulary, *pretokenizer, std::move(name), std::move(*merges)));
}

}  // namespace inferens
