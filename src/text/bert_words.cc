#include "text/bert_words.h"

#include <utf8proc.h>

#include "base/utf8.h"
#include "text/normalizer.h"
#include "text/unicode_class.h"

namespace inferens {
namespace {

using namespace char_class;

bool is_dropped(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  if (c == 0 || c == 0xFFFD) return true;
  const int category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO;
}

// The blocks that the original BERT code names. The third from last starts where the reference starts it, not at
// U+2B820.
bool is_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

bool is_nonspacing_mark(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_MN;
}

void append_lowercase(char32_t c, std::string& out) {
  if (c == 0x130) {  // the one letter whose full lower case is two: i and a dot above
    append_utf8('i', out);
    append_utf8(0x307, out);
  } else {
    append_utf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), out);
  }
}

// Cleaned text in which every break between words that is not punctuation is one ' '.
std::string cleaned(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text, at);
    at += c.length;
    if (is_dropped(c.value)) continue;
    if (classify(c.value) & kSpace) {
      out += ' ';
    } else if (is_ideograph(c.value)) {
      out += ' ';
      append_utf8(c.value, out);
      out += ' ';
    } else {
      append_utf8(c.value, out);
    }
  }
  return out;
}

std::string normalized(std::string_view text, BertRules rules) {
  std::string clean = cleaned(text);
  if (rules.strip_accents) {
    clean = to_nfd(clean);
    std::string stripped;
    stripped.reserve(clean.size());
    for (size_t at = 0; at < clean.size();) {
      const CodePoint c = decode_utf8(clean, at);
      if (!is_nonspacing_mark(c.value)) stripped.append(clean, at, c.length);
      at += c.length;
    }
    clean = std::move(stripped);
  }
  if (!rules.lowercase) return clean;
  std::string lower;
  lower.reserve(clean.size());
  for (size_t at = 0; at < clean.size();) {
    const CodePoint c = decode_utf8(clean, at);
    append_lowercase(c.value, lower);
    at += c.length;
  }
  return lower;
}

}  // namespace

std::vector<std::string> bert_words(std::string_view text, BertRules rules) {
  const std::string clean = normalized(text, rules);
  std::vector<std::string> words(1);
  const auto start_word = [&] {
    if (!words.back().empty()) words.emplace_back();
  };
  for (size_t at = 0; at < clean.size();) {
    const CodePoint c = decode_utf8(clean, at);
    const CharClasses classes = classify(c.value);
    const bool is_punctuation = (classes & kPunctuation) || (c.value < 128 && (classes & kSymbol));
    if ((classes & kSpace) || is_punctuation) start_word();
    if (!(classes & kSpace)) words.back().append(clean, at, c.length);
    if (is_punctuation) start_word();
    at += c.length;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

}  // namespace inferens
