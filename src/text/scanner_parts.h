// The pieces that pre-tokenizer patterns have in common. Each takes time linear in what it looks at.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>

#include "text/unicode_class.h"

namespace inferens::scanners {

// End of the run of characters of any of `classes` from `start`, at most `most` of them; `start` when there is none.
inline size_t end_of_run(std::string_view text, size_t start, CharClasses classes,
                         int most = std::numeric_limits<int>::max()) {
  size_t at = start;
  for (int n = 0; n < most; ++n) {
    const ScannedChar c = scan_char(text, at);
    if (!c.is(classes)) break;
    at += c.length;
  }
  return at;
}

enum class IgnoreCase { kNo, kYes };

// Bytes of 's 't 're 've 'm 'll 'd at `start`, or 0. Without case, U+017F (long s) is an s, as Unicode folds it and the
// reference's regular expressions do.
inline size_t contraction_length(std::string_view text, size_t start, IgnoreCase ignore_case) {
  if (start + 1 >= text.size() || text[start] != '\'') return 0;
  const auto letter = [&](size_t at) {
    if (at >= text.size()) return '\0';
    const char c = text[at];
    return ignore_case == IgnoreCase::kYes && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  const char a = letter(start + 1);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  const char b = letter(start + 2);
  if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return 3;
  const bool long_s = ignore_case == IgnoreCase::kYes && text.substr(start + 1, 2) == "\xC5\xBF";
  return long_s ? 3 : 0;
}

enum class Trailing { kNothing, kNewlines, kNewlinesAndSlashes };

inline size_t end_of_trailing(std::string_view text, size_t start, Trailing trailing) {
  if (trailing == Trailing::kNothing) return start;
  size_t at = start;
  while (at < text.size() &&
         (text[at] == '\r' || text[at] == '\n' || (text[at] == '/' && trailing == Trailing::kNewlinesAndSlashes))) {
    ++at;
  }
  return at;
}

// " ?[^excluded]+" and what may trail it: end, or 0 when it does not match.
inline size_t end_of_spaced_others(std::string_view text, size_t start, CharClasses excluded, Trailing trailing) {
  const size_t first = start + (start < text.size() && text[start] == ' ' ? 1 : 0);
  size_t at = first;
  for (ScannedChar c = scan_char(text, at); c.length > 0 && !c.is(excluded); c = scan_char(text, at)) at += c.length;
  return at == first ? 0 : end_of_trailing(text, at, trailing);
}

enum class NewlinesFirst { kNo, kYes };

// "\s*[\r\n]+|\s+(?!\S)|\s+", the first alternative only with NewlinesFirst::kYes. A run that ends in a line end goes
// to that line end; otherwise a run before other text leaves its last character to that text, if it has more than one.
// A character that no alternative takes is a piece of its own.
inline size_t end_of_whitespace(std::string_view text, size_t start, NewlinesFirst newlines_first) {
  size_t at = start;
  size_t last = start;
  size_t after_newline = 0;
  for (ScannedChar c = scan_char(text, at); c.is(char_class::kSpace); c = scan_char(text, at)) {
    last = at;
    at += c.length;
    if (c.is(char_class::kNewline)) after_newline = at;
  }
  if (at == start) return start + scan_char(text, start).length;
  if (newlines_first == NewlinesFirst::kYes && after_newline > 0) return after_newline;
  if (at == text.size() || last == start) return at;
  return last;
}

}  // namespace inferens::scanners
