// Scanners of one class each, and DeepSeek's: the stages that families put in front of, or behind, a word pattern.
#include <algorithm>
#include <array>
#include <string_view>

#include "text/pretokenizer_scanners.h"
#include "text/scanner_parts.h"

namespace inferens::scanners {
namespace {

using namespace char_class;

struct Range {
  char32_t first;
  char32_t last;
};

template <size_t kCount>
bool in_ranges(char32_t c, const std::array<Range, kCount>& sorted) {
  const auto after =
      std::upper_bound(sorted.begin(), sorted.end(), c, [](char32_t v, const Range& r) { return v < r.first; });
  return after != sorted.begin() && c <= std::prev(after)->last;
}

// A stage whose matches are pieces, and so is each stretch without a match. match(text, at) gives the end of a match
// that starts at `at`, or 0; it must look at no more than it matches, and a constant beyond, to keep the stage linear.
template <class Match>
size_t isolate(std::string_view text, size_t start, Match match) {
  if (size_t end = match(text, start)) return end;
  size_t at = start + scan_char(text, start).length;
  while (at < text.size() && match(text, at) == 0) at += scan_char(text, at).length;
  return at;
}

// A stage of "[class]+": runs inside and outside the class alternate.
template <class Member>
size_t alternate(std::string_view text, size_t start, Member member) {
  const bool inside = member(scan_char(text, start));
  size_t at = start;
  for (ScannedChar c = scan_char(text, at); c.length > 0 && member(c) == inside; c = scan_char(text, at))
    at += c.length;
  return at;
}

// "\s?[class]+" from `at`, or 0.
template <class Member>
size_t end_of_spaced(std::string_view text, size_t at, Member member) {
  const ScannedChar first = scan_char(text, at);
  const size_t word = first.is(kSpace) ? at + first.length : at;
  size_t end = word;
  for (ScannedChar c = scan_char(text, end); member(c); c = scan_char(text, end)) end += c.length;
  return end == word ? 0 : end;
}

bool is_punctuation_or_ascii_symbol(const ScannedChar& c) {
  return c.is(kPunctuation) || (c.is(kSymbol) && c.value < 128);
}

// 一-龥 ࠀ-一 가-퟿
bool is_cjk_or_hangul(const ScannedChar& c) {
  return (c.value >= 0x0800 && c.value <= 0x9FA5) || (c.value >= 0xAC00 && c.value <= 0xD7FF);
}

// 一-龥 ぀-ゟ ゠-ヿ
bool is_cjk_or_kana(const ScannedChar& c) {
  return (c.value >= 0x4E00 && c.value <= 0x9FA5) || (c.value >= 0x3040 && c.value <= 0x30FF);
}

bool is_ascii_letter(const ScannedChar& c) {
  return c.value < 128 && c.is(kLetter);
}

// deepseek_v3 at `at`, or 0: some characters (digits, controls) are in none of its alternatives.
size_t match_deepseek_v3(std::string_view text, size_t at) {
  const ScannedChar first = scan_char(text, at);
  const ScannedChar second = scan_char(text, at + first.length);
  if (is_punctuation_or_ascii_symbol(first) && first.value < 128 && is_ascii_letter(second)) {
    size_t end = at + 1;
    while (is_ascii_letter(scan_char(text, end))) ++end;
    return end;
  }
  if (first.is(kLetter | kMark)) return end_of_run(text, at, kLetter | kMark);
  if (!first.is(kNewline | kPunctuation | kSymbol) && second.is(kLetter | kMark)) {
    return end_of_run(text, at + first.length, kLetter | kMark);
  }
  const size_t word = first.value == ' ' ? at + 1 : at;
  const size_t end = end_of_run(text, word, kPunctuation | kSymbol);
  if (end > word) return end_of_trailing(text, end, Trailing::kNewlines);
  return first.is(kSpace) ? end_of_whitespace(text, at, NewlinesFirst::kYes) : 0;
}

// The letters with case of Unicode 7 or so that DeepSeek-LLM's tokenizer.json lists.
constexpr std::array<Range, 84> kCasedLetters = {{
    {0x41, 0x5A},       {0x61, 0x7A},       {0xB5, 0xB5},       {0xC0, 0xD6},       {0xD8, 0xF6},
    {0xF8, 0x1BA},      {0x1BC, 0x1BF},     {0x1C4, 0x293},     {0x295, 0x2AF},     {0x370, 0x373},
    {0x376, 0x377},     {0x37B, 0x37D},     {0x37F, 0x37F},     {0x386, 0x386},     {0x388, 0x38A},
    {0x38C, 0x38C},     {0x38E, 0x3A1},     {0x3A3, 0x3F5},     {0x3F7, 0x481},     {0x48A, 0x52F},
    {0x531, 0x556},     {0x10A0, 0x10C5},   {0x13A0, 0x13F5},   {0x13F8, 0x13FD},   {0x1C90, 0x1CBA},
    {0x1CBD, 0x1CBF},   {0x1D00, 0x1D2B},   {0x1D6B, 0x1D77},   {0x1D79, 0x1D9A},   {0x1E00, 0x1F15},
    {0x1F18, 0x1F1D},   {0x1F20, 0x1F45},   {0x1F48, 0x1F4D},   {0x1F50, 0x1F57},   {0x1F59, 0x1F59},
    {0x1F5B, 0x1F5B},   {0x1F5D, 0x1F5D},   {0x1F5F, 0x1F7D},   {0x1F80, 0x1FB4},   {0x1FB6, 0x1FBC},
    {0x1FBE, 0x1FBE},   {0x1FC2, 0x1FC4},   {0x1FC6, 0x1FCC},   {0x1FD0, 0x1FD3},   {0x1FD6, 0x1FDB},
    {0x1FE0, 0x1FEC},   {0x1FF2, 0x1FF4},   {0x1FF6, 0x1FFC},   {0x2102, 0x2102},   {0x2107, 0x2107},
    {0x210A, 0x2113},   {0x2115, 0x2115},   {0x2119, 0x211D},   {0x2124, 0x2124},   {0x2126, 0x2126},
    {0x2128, 0x2128},   {0x212A, 0x212D},   {0x212F, 0x2134},   {0x2139, 0x2139},   {0x213C, 0x213F},
    {0x2145, 0x2149},   {0x214E, 0x214E},   {0x2183, 0x2184},   {0x2C00, 0x2C7B},   {0x2C7E, 0x2CE4},
    {0x2CEB, 0x2CEE},   {0x2CF2, 0x2CF3},   {0xA640, 0xA66D},   {0xA680, 0xA69B},   {0xA722, 0xA76F},
    {0xA771, 0xA787},   {0xA78B, 0xA78E},   {0xAB70, 0xABBF},   {0xFB00, 0xFB06},   {0xFB13, 0xFB17},
    {0xFF21, 0xFF3A},   {0xFF41, 0xFF5A},   {0x10400, 0x1044F}, {0x104B0, 0x104D3}, {0x104D8, 0x104FB},
    {0x10C80, 0x10CB2}, {0x10CC0, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943},
}};

// !-/ :-~ ‘-‟ U+3000-。 ！-／ ：-～
constexpr std::array<Range, 6> kListedPunctuation = {
    {{0x21, 0x2F}, {0x3A, 0x7E}, {0x2018, 0x201F}, {0x3000, 0x3002}, {0xFF01, 0xFF0F}, {0xFF1A, 0xFF5E}}};

// What Bloom's words do not hold, beside white space: ( ) | . , ! ? … 。 ， 、 । ۔ ،
constexpr std::array<char32_t, 14> kBloomStops = {'(',    ')',    '|',    '.',    ',',    '!',    '?',
                                                  0x2026, 0x3002, 0xFF0C, 0x3001, 0x0964, 0x06D4, 0x060C};

}  // namespace

size_t deepseek_v3(std::string_view text, size_t start) {
  return isolate(text, start, match_deepseek_v3);
}

size_t single_newline(std::string_view text, size_t start) {
  if (scan_char(text, start).is(kNewline)) return start + 1;
  const size_t at = text.find_first_of("\r\n", start);
  return at == std::string_view::npos ? text.size() : at;
}

size_t newline_runs(std::string_view text, size_t start) {
  const size_t at = text[start] == '\n' ? text.find_first_not_of('\n', start) : text.find('\n', start);
  return at == std::string_view::npos ? text.size() : at;
}

size_t up_to_three_numbers(std::string_view text, size_t start) {
  if (scan_char(text, start).is(kNumber)) return end_of_run(text, start, kNumber, 3);
  return number_runs(text, start);
}

size_t single_number(std::string_view text, size_t start) {
  if (scan_char(text, start).is(kNumber)) return end_of_run(text, start, kNumber, 1);
  return number_runs(text, start);
}

size_t number_runs(std::string_view text, size_t start) {
  return alternate(text, start, [](const ScannedChar& c) { return c.is(kNumber); });
}

// Falcon's tokenizer.json looks for digits after the text was spelled in GPT-2's byte alphabet, where six bytes of the
// range beyond ASCII look like ²³¹¼½¾: its runs of "digits" are runs of bytes, wherever characters begin.
size_t falcon_digit_bytes(std::string_view text, size_t start) {
  constexpr std::string_view kDigits = "0123456789\xB2\xB3\xB9\xBC\xBD\xBE";
  const bool inside = kDigits.find(text[start]) != std::string_view::npos;
  const size_t end = inside ? text.find_first_not_of(kDigits, start) : text.find_first_of(kDigits, start);
  return end == std::string_view::npos ? text.size() : end;
}

size_t three_ascii_digits(std::string_view text, size_t start) {
  return isolate(text, start, [](std::string_view t, size_t at) -> size_t {
    const std::string_view three = t.substr(at, 3);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return three.size() == 3 && std::all_of(three.begin(), three.end(), is_digit) ? at + 3 : 0;
  });
}

size_t punctuation_runs(std::string_view text, size_t start) {
  return alternate(text, start, is_punctuation_or_ascii_symbol);
}

size_t punctuation_runs_no_backtick(std::string_view text, size_t start) {
  return alternate(text, start,
                   [](const ScannedChar& c) { return c.value != '`' && is_punctuation_or_ascii_symbol(c); });
}

size_t spaced_letters(std::string_view text, size_t start) {
  return isolate(text, start, [](std::string_view t, size_t at) {
    return end_of_spaced(t, at, [](const ScannedChar& c) { return c.is(kLetter); });
  });
}

size_t spaced_cased_letters(std::string_view text, size_t start) {
  return isolate(text, start, [](std::string_view t, size_t at) {
    return end_of_spaced(t, at, [](const ScannedChar& c) { return in_ranges(c.value, kCasedLetters); });
  });
}

size_t spaced_punctuation(std::string_view text, size_t start) {
  return isolate(text, start, [](std::string_view t, size_t at) {
    return end_of_spaced(t, at, [](const ScannedChar& c) { return c.is(kPunctuation); });
  });
}

size_t spaced_listed_punctuation(std::string_view text, size_t start) {
  return isolate(text, start, [](std::string_view t, size_t at) {
    // U+3000 is both white space and in the list: as the optional first character, or alone, it matches either way.
    const auto listed = [](const ScannedChar& c) { return in_ranges(c.value, kListedPunctuation); };
    if (size_t end = end_of_spaced(t, at, listed)) return end;
    const ScannedChar only = scan_char(t, at);
    return listed(only) ? at + only.length : 0;
  });
}

size_t trailing_space(std::string_view text, size_t start) {
  if (scan_char(text, start).is(kSpace) && end_of_run(text, start, kSpace) == text.size()) return text.size();
  size_t at = start;
  while (at < text.size()) {
    const size_t after_spaces = end_of_run(text, at, kSpace);
    if (after_spaces == text.size() && after_spaces > at) return at;
    at = after_spaces;
    for (ScannedChar c = scan_char(text, at); c.length > 0 && !c.is(kSpace); c = scan_char(text, at)) at += c.length;
  }
  return text.size();
}

size_t cjk_and_hangul_runs(std::string_view text, size_t start) {
  return alternate(text, start, is_cjk_or_hangul);
}

size_t cjk_and_kana_runs(std::string_view text, size_t start) {
  return alternate(text, start, is_cjk_or_kana);
}

size_t bloom(std::string_view text, size_t start) {
  return isolate(text, start, [](std::string_view t, size_t at) -> size_t {
    const size_t word = t[at] == ' ' ? at + 1 : at;
    size_t end = word;
    for (ScannedChar c = scan_char(t, end); c.length > 0 && !c.is(kSpace); c = scan_char(t, end)) {
      if (std::find(kBloomStops.begin(), kBloomStops.end(), c.value) != kBloomStops.end()) break;
      end += c.length;
    }
    return end == word ? 0 : end;
  });
}

}  // namespace inferens::scanners
