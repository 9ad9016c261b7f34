// Cuts text into the words that byte-level BPE merges inside of, as the published pattern of a model family says.
// Scanners are written by hand and take linear time; no regular expression engine ever meets the input.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "inferens/status.h"

namespace inferens {

// Given the start of a piece, returns its end (> start). `text` is the whole of what its stage sees: patterns that look
// ahead see the end of `text` as the end of everything.
using PieceScanner = size_t (*)(std::string_view text, size_t start);

// One family's rules. Stages refine each other: each later stage sees one piece of the former at a time.
struct PretokenizerRules {
  std::span<const PieceScanner> stages;
  bool nfc = false;            // the family's normalizer composes text (Unicode NFC) first
  bool ignore_merges = false;  // a piece that is a token is that token, even if merges would not build it
  bool adds_bos = false;       // unless tokenizer.ggml.add_bos_token says otherwise
};

class Pretokenizer {
 public:
  // `name` is the value of tokenizer.ggml.pre. Unknown names are refused: a near miss would tokenize silently wrong.
  static StatusOr<Pretokenizer> from_name(std::string_view name);
  static std::string known_names();  // for error messages and docs: "default, gpt-2, …"

  const PretokenizerRules& rules() const { return rules_; }

  // Calls emit(std::string_view) for each piece in order; the pieces joined are `text`.
  template <class Emit>
  void split(std::string_view text, Emit&& emit) const {
    split_from(0, text, emit);
  }

 private:
  explicit Pretokenizer(const PretokenizerRules& rules) : rules_(rules) {}

  // Recursion is as deep as there are stages: a small constant of the rules' table.
  template <class Emit>
  void split_from(size_t stage, std::string_view text, Emit& emit) const {
    const PieceScanner scan = rules_.stages[stage];
    const bool last = stage + 1 == rules_.stages.size();
    for (size_t start = 0; start < text.size();) {
      const size_t end = scan(text, start);
      const std::string_view piece = text.substr(start, end - start);
      if (last) {
        emit(piece);
      } else {
        split_from(stage + 1, piece, emit);
      }
      start = end;
    }
  }

  PretokenizerRules rules_;
};

}  // namespace inferens
