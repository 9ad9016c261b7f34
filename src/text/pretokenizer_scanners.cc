#include "text/pretokenizer_scanners.h"

#include <limits>

#include "text/scanner_parts.h"

namespace inferens::scanners {
namespace {

using namespace char_class;

constexpr int kNoLimit = std::numeric_limits<int>::max();

struct Cl100kRules {
  bool contractions = true;
  CharClasses letters = kLetter;  // what words are made of
  int most_numbers = 1;
  Trailing after_punctuation = Trailing::kNewlines;
};

// The pattern of OpenAI's cl100k and its children. An optional character before a word may be anything but a letter, a
// number or a line end; a mark before a word counts as such, which is why words are tried from `start` first.
template <Cl100kRules kRules>
size_t cl100k(std::string_view text, size_t start) {
  const ScannedChar first = scan_char(text, start);
  if (kRules.contractions && first.value == '\'') {
    if (size_t length = contraction_length(text, start, IgnoreCase::kYes)) return start + length;
  }
  if (first.is(kRules.letters)) return end_of_run(text, start, kRules.letters);
  if (first.is(kNumber)) return end_of_run(text, start, kNumber, kRules.most_numbers);
  if (!first.is(kNewline) && scan_char(text, start + first.length).is(kRules.letters)) {
    return end_of_run(text, start + first.length, kRules.letters);
  }
  if (size_t end = end_of_spaced_others(text, start, kSpace | kNumber | kRules.letters, kRules.after_punctuation))
    return end;
  return end_of_whitespace(text, start, NewlinesFirst::kYes);
}

struct O200kRules {
  bool contractions = true;
  int most_numbers = 3;
};

// [upper]*[lower]+ from `start`, where marks and caseless letters are both: the greedy upper part gives back as little
// as lets one lower character follow. 0: no match.
size_t end_of_lower_word(std::string_view text, size_t start) {
  size_t last_lower = 0;
  bool found = false;
  size_t at = start;
  ScannedChar c = scan_char(text, at);
  for (; c.is(kUpper); c = scan_char(text, at)) {
    if (c.is(kLower)) {
      last_lower = at;
      found = true;
    }
    at += c.length;
  }
  if (c.is(kLower)) return end_of_run(text, at, kLower);
  return found ? end_of_run(text, last_lower, kLower) : 0;
}

// [upper]+[lower]* from `start`. 0: no match.
size_t end_of_upper_word(std::string_view text, size_t start) {
  const size_t end = end_of_run(text, start, kUpper);
  return end == start ? 0 : end_of_run(text, end, kLower);
}

template <O200kRules kRules>
size_t o200k_like(std::string_view text, size_t start) {
  const ScannedChar first = scan_char(text, start);
  if (first.is(kNumber)) return end_of_run(text, start, kNumber, kRules.most_numbers);
  const bool may_be_prefix = !first.is(kNewline | kLetter);
  for (auto end_of_word : {end_of_lower_word, end_of_upper_word}) {
    size_t end = may_be_prefix ? end_of_word(text, start + first.length) : 0;
    if (end == 0) end = end_of_word(text, start);
    if (end == 0) continue;
    return end + (kRules.contractions ? contraction_length(text, end, IgnoreCase::kYes) : 0);
  }
  if (size_t end = end_of_spaced_others(text, start, kSpace | kNumber | kLetter, Trailing::kNewlinesAndSlashes))
    return end;
  return end_of_whitespace(text, start, NewlinesFirst::kYes);
}

}  // namespace

size_t gpt2(std::string_view text, size_t start) {
  const ScannedChar first = scan_char(text, start);
  if (first.value == '\'') {
    if (size_t length = contraction_length(text, start, IgnoreCase::kNo)) return start + length;
  }
  const size_t word = start + (first.value == ' ' ? 1 : 0);
  for (CharClasses classes : {kLetter, kNumber}) {
    const size_t end = end_of_run(text, word, classes);
    if (end > word) return end;
  }
  if (size_t end = end_of_spaced_others(text, start, kSpace | kNumber | kLetter, Trailing::kNothing)) return end;
  return end_of_whitespace(text, start, NewlinesFirst::kNo);
}

size_t llama3(std::string_view text, size_t start) {
  return cl100k<Cl100kRules{.most_numbers = 3}>(text, start);
}
size_t qwen2(std::string_view text, size_t start) {
  return cl100k<Cl100kRules{}>(text, start);
}
size_t qwen35(std::string_view text, size_t start) {
  return cl100k<Cl100kRules{.letters = kLetter | kMark}>(text, start);
}
size_t minicpm5(std::string_view text, size_t start) {
  return cl100k<Cl100kRules{.most_numbers = kNoLimit}>(text, start);
}
size_t seed_coder(std::string_view text, size_t start) {
  return cl100k<Cl100kRules{.after_punctuation = Trailing::kNothing}>(text, start);
}
size_t ufakzeka(std::string_view text, size_t start) {
  return cl100k<Cl100kRules{.contractions = false}>(text, start);
}

size_t o200k(std::string_view text, size_t start) {
  return o200k_like<O200kRules{}>(text, start);
}
size_t tekken(std::string_view text, size_t start) {
  return o200k_like<O200kRules{.contractions = false, .most_numbers = 1}>(text, start);
}

}  // namespace inferens::scanners
