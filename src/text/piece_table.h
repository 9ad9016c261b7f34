// The pieces of a SentencePiece vocabulary as the encoders need them: symbols for characters, bytes for the rest, and
// where text can be cut without any piece lying across.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "inferens/status.h"
#include "text/merge_engine.h"
#include "text/string_pool.h"
#include "text/vocabulary.h"

namespace inferens {

inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // ▁

class PieceTable {
 public:
  explicit PieceTable(const Vocabulary& vocabulary);
  PieceTable(const PieceTable&) = delete;  // the indexes point into the pools
  PieceTable& operator=(const PieceTable&) = delete;

  // A normal piece by its spelling, or StringIndex::kNone.
  int32_t find(std::string_view spelling) const { return index_.find(spelling); }
  size_t longest() const { return longest_; }

  // The symbol of one character: a piece's id; or, for a character that pieces hold but that is none itself, an id from
  // vocabulary.size() up; or StringIndex::kNone.
  int32_t symbol_of(std::string_view character) const;
  // The character behind an id from vocabulary.size() up.
  std::string_view character_of(int32_t symbol) const {
    return extra_[static_cast<size_t>(symbol - vocabulary_.size())];
  }

  // Appends what stands for bytes that no piece spells: their byte tokens, else one unknown token (not two in a row),
  // else nothing.
  void append_unknown(std::string_view bytes, std::vector<TokenId>& out) const;

  // True when no piece has this character right before a space mark, so that words can be merged apart.
  bool may_cut_after(std::string_view character) const;

  // Every way to build a piece of two symbols, the piece of best score first. Needs scores.
  StatusOr<MergeTable> merges_by_score() const;

  // The bytes of all tokens in running text.
  StringPool text_bytes() const;

 private:
  const Vocabulary& vocabulary_;
  StringIndex index_;
  StringPool extra_;
  StringIndex extra_index_;
  StringPool before_mark_;
  StringIndex before_mark_index_;
  std::array<TokenId, 256> byte_tokens_{};
  TokenId unknown_ = -1;
  size_t longest_ = 0;
};

// Spaces to space marks.
std::string mark_spaces(std::string_view text);
// And back.
std::string unmark_spaces(std::string_view piece);

}  // namespace inferens
