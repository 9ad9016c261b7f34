// A vocabulary small enough to reason about: letters, pieces of UTF-8 and two tokens that end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace inferens::testing {

class FakeTokenizer final : public Tokenizer {
 public:
  // ids 0…n-1 are these byte strings; the last two are <end> (ends a generation) and <pad> (special).
  explicit FakeTokenizer(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {
    pieces_.push_back("<end>");
    pieces_.push_back("<pad>");
  }
  static FakeTokenizer letters(int32_t vocab) {
    std::vector<std::string> pieces;
    for (int32_t i = 0; i < vocab - 2; ++i) pieces.emplace_back(1, static_cast<char>(i < 26 ? 'a' + i : 'A' + i - 26));
    return FakeTokenizer(std::move(pieces));
  }

  // The longest piece that fits, again and again.
  std::vector<TokenId> encode(std::string_view text, EncodeOptions) const override {
    std::vector<TokenId> out;
    while (!text.empty()) {
      size_t best = pieces_.size();
      for (size_t i = 0; i + 2 < pieces_.size(); ++i) {
        if (text.starts_with(pieces_[i]) && (best == pieces_.size() || pieces_[i].size() > pieces_[best].size()))
          best = i;
      }
      if (best < pieces_.size()) out.push_back(static_cast<TokenId>(best));
      text.remove_prefix(best < pieces_.size() ? pieces_[best].size() : 1);
    }
    return out;
  }
  std::vector<TokenId> encode_pieces(std::span<const PromptPiece> pieces, bool) const override {
    std::string all;
    for (const PromptPiece& p : pieces) all += p.text;
    return encode(all, {});
  }
  std::string_view token_bytes(TokenId id) const override { return pieces_[static_cast<size_t>(id)]; }
  TokenKind token_kind(TokenId id) const override {
    return id + 2 >= vocab_size() ? TokenKind::kControl : TokenKind::kNormal;
  }
  std::string decode(std::span<const TokenId> ids, bool skip_special) const override {
    std::string out;
    for (const TokenId id : ids) {
      if (!skip_special || token_kind(id) != TokenKind::kControl) out += token_bytes(id);
    }
    return out;
  }
  int32_t vocab_size() const override { return static_cast<int32_t>(pieces_.size()); }
  std::optional<TokenId> find(std::string_view) const override { return std::nullopt; }
  std::optional<TokenId> bos() const override { return std::nullopt; }
  std::optional<TokenId> eos() const override { return end(); }
  bool adds_bos() const override { return false; }
  bool is_end_of_generation(TokenId id) const override { return id == end(); }
  std::string_view family() const override { return "fake"; }
  std::string_view pretokenizer() const override { return ""; }
  TokenId end() const { return vocab_size() - 2; }

 private:
  std::vector<std::string> pieces_;
};

}  // namespace inferens::testing
