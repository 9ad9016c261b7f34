// Pieces of the grammar notation that the library compiles (EBNF in the manner of GBNF), and sets of characters in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace inferens {

// A quoted literal of these bytes, which are UTF-8.
std::string ebnf_literal(std::string_view text);

// A set of Unicode scalar values (surrogates are never members).
class CharacterSet {
 public:
  struct Range {
    char32_t first;
    char32_t last;  // inclusive
  };
  static CharacterSet all();

  void add(char32_t first, char32_t last);
  void add(const CharacterSet& other);
  void fold_ascii_case();
  CharacterSet complement() const;
  CharacterSet without(const CharacterSet& other) const;
  bool contains(char32_t c) const;
  bool empty() const { return ranges().empty(); }
  // Sorted, apart from each other.
  const std::vector<Range>& ranges() const;
  // A class like [a-z]; of a set that is not empty.
  std::string ebnf() const;

 private:
  mutable std::vector<Range> ranges_;
  mutable bool sorted_ = true;
};

// What may stand in a JSON string as it is, without an escape.
CharacterSet plain_in_json_string();

// The characters of a set as they may stand inside a JSON string: most as themselves, those that JSON wants escaped by
// their short escapes. Control characters without a short escape are left out. Empty: nothing is left.
std::string ebnf_in_json_string(const CharacterSet& set);

}  // namespace inferens
