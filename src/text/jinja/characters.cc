// Character classes and case mappings, over utf8proc, with Python's own rules where they differ from Unicode's
// categories.
#include "text/jinja/characters.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace inferens::jinja {
namespace {

// Characters whose upper or title case is several characters (Unicode 14, SpecialCasing.txt, unconditional part).
// utf8proc maps one to one only.
struct SpecialCase {
  char32_t from;
  std::string_view to;
};
constexpr std::array<SpecialCase, 102> kUpper = {{
    {0x00DF, "SS"}, {0x0149, "ʼN"}, {0x01F0, "J̌"},   {0x0390, "Ϊ́"},   {0x03B0, "Ϋ́"},  {0x0587, "ԵՒ"}, {0x1E96, "H̱"},
    {0x1E97, "T̈"},  {0x1E98, "W̊"},  {0x1E99, "Y̊"},   {0x1E9A, "Aʾ"},  {0x1F50, "Υ̓"},  {0x1F52, "Υ̓̀"},  {0x1F54, "Υ̓́"},
    {0x1F56, "Υ̓͂"},  {0x1F80, "ἈΙ"}, {0x1F81, "ἉΙ"},  {0x1F82, "ἊΙ"},  {0x1F83, "ἋΙ"}, {0x1F84, "ἌΙ"}, {0x1F85, "ἍΙ"},
    {0x1F86, "ἎΙ"}, {0x1F87, "ἏΙ"}, {0x1F88, "ἈΙ"},  {0x1F89, "ἉΙ"},  {0x1F8A, "ἊΙ"}, {0x1F8B, "ἋΙ"}, {0x1F8C, "ἌΙ"},
    {0x1F8D, "ἍΙ"}, {0x1F8E, "ἎΙ"}, {0x1F8F, "ἏΙ"},  {0x1F90, "ἨΙ"},  {0x1F91, "ἩΙ"}, {0x1F92, "ἪΙ"}, {0x1F93, "ἫΙ"},
    {0x1F94, "ἬΙ"}, {0x1F95, "ἭΙ"}, {0x1F96, "ἮΙ"},  {0x1F97, "ἯΙ"},  {0x1F98, "ἨΙ"}, {0x1F99, "ἩΙ"}, {0x1F9A, "ἪΙ"},
    {0x1F9B, "ἫΙ"}, {0x1F9C, "ἬΙ"}, {0x1F9D, "ἭΙ"},  {0x1F9E, "ἮΙ"},  {0x1F9F, "ἯΙ"}, {0x1FA0, "ὨΙ"}, {0x1FA1, "ὩΙ"},
    {0x1FA2, "ὪΙ"}, {0x1FA3, "ὫΙ"}, {0x1FA4, "ὬΙ"},  {0x1FA5, "ὭΙ"},  {0x1FA6, "ὮΙ"}, {0x1FA7, "ὯΙ"}, {0x1FA8, "ὨΙ"},
    {0x1FA9, "ὩΙ"}, {0x1FAA, "ὪΙ"}, {0x1FAB, "ὫΙ"},  {0x1FAC, "ὬΙ"},  {0x1FAD, "ὭΙ"}, {0x1FAE, "ὮΙ"}, {0x1FAF, "ὯΙ"},
    {0x1FB2, "ᾺΙ"}, {0x1FB3, "ΑΙ"}, {0x1FB4, "ΆΙ"},  {0x1FB6, "Α͂"},   {0x1FB7, "Α͂Ι"}, {0x1FBC, "ΑΙ"}, {0x1FC2, "ῊΙ"},
    {0x1FC3, "ΗΙ"}, {0x1FC4, "ΉΙ"}, {0x1FC6, "Η͂"},   {0x1FC7, "Η͂Ι"},  {0x1FCC, "ΗΙ"}, {0x1FD2, "Ϊ̀"},  {0x1FD3, "Ϊ́"},
    {0x1FD6, "Ι͂"},  {0x1FD7, "Ϊ͂"},  {0x1FE2, "Ϋ̀"},   {0x1FE3, "Ϋ́"},   {0x1FE4, "Ρ̓"},  {0x1FE6, "Υ͂"},  {0x1FE7, "Ϋ͂"},
    {0x1FF2, "ῺΙ"}, {0x1FF3, "ΩΙ"}, {0x1FF4, "ΏΙ"},  {0x1FF6, "Ω͂"},   {0x1FF7, "Ω͂Ι"}, {0x1FFC, "ΩΙ"}, {0xFB00, "FF"},
    {0xFB01, "FI"}, {0xFB02, "FL"}, {0xFB03, "FFI"}, {0xFB04, "FFL"}, {0xFB05, "ST"}, {0xFB06, "ST"}, {0xFB13, "ՄՆ"},
    {0xFB14, "ՄԵ"}, {0xFB15, "ՄԻ"}, {0xFB16, "ՎՆ"},  {0xFB17, "ՄԽ"},
}};
constexpr std::array<SpecialCase, 48> kTitle = {{
    {0x00DF, "Ss"}, {0x0149, "ʼN"}, {0x01F0, "J̌"},  {0x0390, "Ϊ́"},  {0x03B0, "Ϋ́"},   {0x0587, "Եւ"},  {0x1E96, "H̱"},
    {0x1E97, "T̈"},  {0x1E98, "W̊"},  {0x1E99, "Y̊"},  {0x1E9A, "Aʾ"}, {0x1F50, "Υ̓"},   {0x1F52, "Υ̓̀"},   {0x1F54, "Υ̓́"},
    {0x1F56, "Υ̓͂"},  {0x1FB2, "Ὰͅ"},  {0x1FB4, "Άͅ"},  {0x1FB6, "Α͂"},  {0x1FB7, "ᾼ͂"},   {0x1FC2, "Ὴͅ"},   {0x1FC4, "Ήͅ"},
    {0x1FC6, "Η͂"},  {0x1FC7, "ῌ͂"},  {0x1FD2, "Ϊ̀"},  {0x1FD3, "Ϊ́"},  {0x1FD6, "Ι͂"},   {0x1FD7, "Ϊ͂"},   {0x1FE2, "Ϋ̀"},
    {0x1FE3, "Ϋ́"},  {0x1FE4, "Ρ̓"},  {0x1FE6, "Υ͂"},  {0x1FE7, "Ϋ͂"},  {0x1FF2, "Ὼͅ"},   {0x1FF4, "Ώͅ"},   {0x1FF6, "Ω͂"},
    {0x1FF7, "ῼ͂"},  {0xFB00, "Ff"}, {0xFB01, "Fi"}, {0xFB02, "Fl"}, {0xFB03, "Ffi"}, {0xFB04, "Ffl"}, {0xFB05, "St"},
    {0xFB06, "St"}, {0xFB13, "Մն"}, {0xFB14, "Մե"}, {0xFB15, "Մի"}, {0xFB16, "Վն"},  {0xFB17, "Մխ"},
}};

template <size_t N>
const SpecialCase* find_special(const std::array<SpecialCase, N>& table, char32_t c) {
  if (c < 0xDF) return nullptr;
  const auto* it =
      std::lower_bound(table.begin(), table.end(), c, [](const SpecialCase& s, char32_t v) { return s.from < v; });
  return it != table.end() && it->from == c ? it : nullptr;
}

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}
bool is_letter_category(utf8proc_category_t k) {
  return k == UTF8PROC_CATEGORY_LU || k == UTF8PROC_CATEGORY_LL || k == UTF8PROC_CATEGORY_LT ||
         k == UTF8PROC_CATEGORY_LM || k == UTF8PROC_CATEGORY_LO;
}

}  // namespace

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}
bool is_line_break(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}
bool is_alpha(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter_category(category(c));
}
bool is_decimal(char32_t c) {
  return c < 0x80 ? c >= '0' && c <= '9' : category(c) == UTF8PROC_CATEGORY_ND;
}
bool is_digit_like(char32_t c) {
  // Numeric_Type=Digit beyond the decimals: superscripts, subscripts and the enclosed digits.
  return is_decimal(c) || c == 0xB2 || c == 0xB3 || c == 0xB9 || (c >= 0x1369 && c <= 0x1371) || c == 0x19DA ||
         c == 0x2070 || (c >= 0x2074 && c <= 0x2079) || (c >= 0x2080 && c <= 0x2089) || (c >= 0x2460 && c <= 0x2468) ||
         (c >= 0x2474 && c <= 0x247C) || (c >= 0x2488 && c <= 0x2490) || c == 0x24EA || (c >= 0x24F5 && c <= 0x24FD) ||
         c == 0x24FF || (c >= 0x2776 && c <= 0x277E) || (c >= 0x2780 && c <= 0x2788) || (c >= 0x278A && c <= 0x2792) ||
         (c >= 0x10A40 && c <= 0x10A43) || (c >= 0x10E60 && c <= 0x10E68) || (c >= 0x11052 && c <= 0x1105A) ||
         (c >= 0x1F100 && c <= 0x1F10A);
}
bool is_numeric(char32_t c) {
  const auto k = category(c);
  // Ideographs that are numbers are letters to Unicode's categories and numeric to Python.
  static constexpr std::u32string_view kIdeographs =
      U"一二三四五六七八九十百千万億兆〇零两兩亿壱弐参肆伍陆陸柒捌玖拾佰仟萬";
  return k == UTF8PROC_CATEGORY_ND || k == UTF8PROC_CATEGORY_NL || k == UTF8PROC_CATEGORY_NO ||
         kIdeographs.find(c) != std::u32string_view::npos;
}
bool is_upper(char32_t c) {
  return c < 0x80 ? c >= 'A' && c <= 'Z' : utf8proc_isupper(static_cast<utf8proc_int32_t>(c)) != 0;
}
bool is_lower(char32_t c) {
  return c < 0x80 ? c >= 'a' && c <= 'z' : utf8proc_islower(static_cast<utf8proc_int32_t>(c)) != 0;
}
bool is_title(char32_t c) {
  return category(c) == UTF8PROC_CATEGORY_LT;
}
bool is_cased(char32_t c) {
  return is_upper(c) || is_lower(c) || is_title(c);
}
bool is_printable(char32_t c) {
  if (c == ' ') return true;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}
bool is_word(char32_t c) {
  return c == '_' || is_alpha(c) || is_numeric(c);
}
bool is_identifier_start(char32_t c) {
  return c == '_' || is_alpha(c);
}
bool is_identifier_part(char32_t c) {
  if (is_identifier_start(c) || is_decimal(c)) return true;
  if (c < 0x80) return false;
  const auto k = category(c);
  return k == UTF8PROC_CATEGORY_MN || k == UTF8PROC_CATEGORY_MC || k == UTF8PROC_CATEGORY_PC;
}

void append_upper(char32_t c, std::string& out) {
  if (const SpecialCase* special = find_special(kUpper, c)) {
    out += special->to;
  } else {
    append_utf8(static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))), out);
  }
}
void append_lower(char32_t c, std::string& out) {
  if (c == 0x130) {
    out += "i\xCC\x87";  // İ, the only character whose lower case is two
  } else {
    append_utf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), out);
  }
}
void append_title(char32_t c, std::string& out) {
  if (const SpecialCase* special = find_special(kTitle, c)) {
    out += special->to;
  } else {
    append_utf8(static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))), out);
  }
}
void append_folded(char32_t c, std::string& out) {
  std::array<utf8proc_int32_t, 8> folded{};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_CASEFOLD);
  int boundary = 0;
  const auto count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded.data(), folded.size(), options, &boundary);
  if (count <= 0 || count > static_cast<utf8proc_ssize_t>(folded.size())) return append_utf8(c, out);
  for (utf8proc_ssize_t i = 0; i < count; ++i) append_utf8(static_cast<char32_t>(folded[static_cast<size_t>(i)]), out);
}

std::string_view strip_left(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text, 0);
    if (!point.valid || !is_space(point.value)) break;
    text.remove_prefix(point.length);
  }
  return text;
}

size_t previous_character(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && end - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return begin + decode_utf8(text, begin).length == end ? begin : end - 1;
}

std::string_view strip_right(std::string_view text) {
  while (!text.empty()) {
    const size_t last = previous_character(text, text.size());
    const CodePoint point = decode_utf8(text, last);
    if (!point.valid || !is_space(point.value)) break;
    text.remove_suffix(point.length);
  }
  return text;
}

}  // namespace inferens::jinja
