// What kind of character a code point is, as pre-tokenizer patterns ask: \p{L}, \p{N}, \s and so on.
// ASCII answers come from a table; the rest from utf8proc's general categories.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace inferens {

// A code point's classes as bits. kUpper and kLower are the two halves that o200k-style patterns use: Lu Lt Lm Lo M,
// and Ll Lm Lo M; most scripts without case are in both.
using CharClasses = uint16_t;
namespace char_class {
inline constexpr CharClasses kLetter = 1 << 0;       // \p{L}
inline constexpr CharClasses kMark = 1 << 1;         // \p{M}
inline constexpr CharClasses kNumber = 1 << 2;       // \p{N}
inline constexpr CharClasses kPunctuation = 1 << 3;  // \p{P}
inline constexpr CharClasses kSymbol = 1 << 4;       // \p{S}
inline constexpr CharClasses kSpace = 1 << 5;        // \s, the Unicode property White_Space
inline constexpr CharClasses kNewline = 1 << 6;      // \r and \n only
inline constexpr CharClasses kUpper = 1 << 7;
inline constexpr CharClasses kLower = 1 << 8;
}  // namespace char_class

CharClasses classify_beyond_ascii(char32_t code_point);

namespace unicode_class_internal {
constexpr CharClasses ascii_classes(int c) {
  using namespace char_class;
  if (c == '\r' || c == '\n') return kSpace | kNewline;
  if (c == ' ' || c == '\t' || c == '\v' || c == '\f') return kSpace;
  if (c < ' ' || c == 0x7F) return 0;
  if (c >= '0' && c <= '9') return kNumber;
  if (c >= 'A' && c <= 'Z') return kLetter | kUpper;
  if (c >= 'a' && c <= 'z') return kLetter | kLower;
  for (char symbol : {'$', '+', '<', '=', '>', '^', '`', '|', '~'}) {
    if (c == symbol) return kSymbol;
  }
  return kPunctuation;
}
constexpr std::array<CharClasses, 128> make_ascii_table() {
  std::array<CharClasses, 128> table{};
  for (int c = 0; c < 128; ++c) table[static_cast<size_t>(c)] = ascii_classes(c);
  return table;
}
inline constexpr std::array<CharClasses, 128> kAsciiTable = make_ascii_table();
}  // namespace unicode_class_internal

inline CharClasses classify(char32_t code_point) {
  if (code_point < 128) return unicode_class_internal::kAsciiTable[code_point];
  return classify_beyond_ascii(code_point);
}

// One character of a text as scanners see it. Bytes that are not UTF-8 count one by one, belong to no class, and have
// kNotACharacter as value, so that they can never be mistaken for a real U+FFFD.
inline constexpr char32_t kNotACharacter = 0xFFFFFFFF;
struct ScannedChar {
  char32_t value = kNotACharacter;
  CharClasses classes = 0;
  uint8_t length = 0;  // bytes; 0 only past the end of the text

  bool is(CharClasses any_of) const { return (classes & any_of) != 0; }
};

ScannedChar scan_beyond_ascii(std::string_view text, size_t position);

// The character at `position`, or one of length 0 at the end.
inline ScannedChar scan_char(std::string_view text, size_t position) {
  if (position >= text.size()) return {};
  auto byte = static_cast<uint8_t>(text[position]);
  if (byte < 128) return {byte, unicode_class_internal::kAsciiTable[byte], 1};
  return scan_beyond_ascii(text, position);
}

}  // namespace inferens
