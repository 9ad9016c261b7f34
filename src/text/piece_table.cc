#include "text/piece_table.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>

#include "base/utf8.h"
#include "text/text_encoder.h"

namespace inferens {
namespace {

// "<0x0A>" to 10.
std::optional<uint8_t> byte_of(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || spelling.back() != '>') return std::nullopt;
  uint8_t value = 0;
  const char* end = spelling.data() + 5;
  const auto parsed = std::from_chars(spelling.data() + 3, end, value, 16);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

void replace_all(std::string_view from, std::string_view what, std::string_view with, std::string& out) {
  for (size_t at = 0; at < from.size();) {
    const size_t next = std::min(from.find(what, at), from.size());
    out.append(from.substr(at, next - at));
    if (next < from.size()) out.append(with);
    at = next + what.size();
  }
}

}  // namespace

std::string mark_spaces(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 2);
  replace_all(text, " ", kSpaceMark, out);
  return out;
}

std::string unmark_spaces(std::string_view piece) {
  std::string out;
  replace_all(piece, kSpaceMark, " ", out);
  return out;
}

PieceTable::PieceTable(const Vocabulary& vocabulary)
    : vocabulary_(vocabulary),
      index_(vocabulary.spellings(), static_cast<size_t>(vocabulary.size())),
      extra_index_(extra_, 0),
      before_mark_index_(before_mark_, 0) {
  byte_tokens_.fill(-1);
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const std::string_view spelling = vocabulary.spelling(id);
    if (vocabulary.kind(id) == TokenKind::kByte) {
      if (const auto byte = byte_of(spelling)) byte_tokens_[*byte] = id;
    } else if (vocabulary.kind(id) == TokenKind::kNormal && index_.insert(id)) {
      longest_ = std::max(longest_, spelling.size());
    }
  }
  if (vocabulary.unknown && vocabulary.kind(*vocabulary.unknown) == TokenKind::kUnknown) unknown_ = *vocabulary.unknown;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.kind(id) != TokenKind::kNormal) continue;
    const std::string_view spelling = vocabulary.spelling(id);
    std::string_view before;
    for (size_t at = 0; at < spelling.size();) {
      const std::string_view character = spelling.substr(at, decode_utf8(spelling, at).length);
      at += character.size();
      if (symbol_of(character) == StringIndex::kNone) {
        extra_.add(character);
        extra_index_.insert(static_cast<int32_t>(extra_.size() - 1));
      }
      if (character == kSpaceMark && !before.empty() && before != kSpaceMark && may_cut_after(before)) {
        before_mark_.add(before);
        before_mark_index_.insert(static_cast<int32_t>(before_mark_.size() - 1));
      }
      before = character;
    }
  }
}

int32_t PieceTable::symbol_of(std::string_view character) const {
  const int32_t id = index_.find(character);
  if (id != StringIndex::kNone) return id;
  const int32_t extra = extra_index_.find(character);
  return extra == StringIndex::kNone ? extra : vocabulary_.size() + extra;
}

bool PieceTable::may_cut_after(std::string_view character) const {
  return before_mark_index_.find(character) == StringIndex::kNone;
}

void PieceTable::append_unknown(std::string_view bytes, std::vector<TokenId>& out) const {
  const auto token_of = [&](char byte) { return byte_tokens_[static_cast<uint8_t>(byte)]; };
  if (std::all_of(bytes.begin(), bytes.end(), [&](char byte) { return token_of(byte) >= 0; })) {
    for (char byte : bytes) out.push_back(token_of(byte));
  } else if (unknown_ >= 0 && (out.empty() || out.back() != unknown_)) {
    out.push_back(unknown_);
  }
}

StatusOr<MergeTable> PieceTable::merges_by_score() const {
  const std::vector<float>& scores = vocabulary_.scores();
  if (scores.empty()) {
    return not_found(
        "tokenizer.ggml.scores: missing, and a SentencePiece tokenizer merges by them; convert the model again");
  }
  std::vector<float> ranked = scores;
  std::sort(ranked.begin(), ranked.end(), std::greater<>());
  ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());

  MergeTable table(static_cast<size_t>(vocabulary_.size()) * 2);
  for (TokenId id = 0; id < vocabulary_.size(); ++id) {
    if (vocabulary_.kind(id) != TokenKind::kNormal) continue;
    const std::string_view spelling = vocabulary_.spelling(id);
    if (find(spelling) != id) continue;  // repeats an earlier piece
    const auto rank = std::lower_bound(ranked.begin(), ranked.end(), scores[static_cast<size_t>(id)], std::greater<>());
    const Merge merge = {static_cast<uint32_t>(rank - ranked.begin()), id};
    const auto part = [&](std::string_view text) {
      return decode_utf8(text, 0).length == text.size() ? symbol_of(text) : find(text);
    };
    for (size_t cut = decode_utf8(spelling, 0).length; cut < spelling.size();
         cut += decode_utf8(spelling, cut).length) {
      const int32_t left = part(spelling.substr(0, cut));
      if (left == StringIndex::kNone) continue;
      const int32_t right = part(spelling.substr(cut));
      if (right != StringIndex::kNone) table.insert(left, right, merge);
    }
  }
  return table;
}

StringPool PieceTable::text_bytes() const {
  StringPool pool;
  for (TokenId id = 0; id < vocabulary_.size(); ++id) {
    const std::string_view spelling = vocabulary_.spelling(id);
    const TokenKind kind = vocabulary_.kind(id);
    const auto byte = kind == TokenKind::kByte ? byte_of(spelling) : std::nullopt;
    if (byte) {
      const char raw = static_cast<char>(*byte);
      pool.add({&raw, 1});
    } else if (is_plain_text(kind)) {
      pool.add(unmark_spaces(spelling));
    } else {
      pool.add(spelling);
    }
  }
  return pool;
}

}  // namespace inferens
