// textwrap in two steps: cut into chunks that must stay whole, then fill lines.
#include "text/jinja/wrap.h"

#include <algorithm>

#include "text/jinja/characters.h"
#include "text/jinja/methods.h"

namespace inferens::jinja {
namespace {

bool is_wrap_space(char32_t c) { return c == U' ' || (c >= 0x09 && c <= 0x0D); }
bool is_word_punctuation(char32_t c) { return is_word(c) || std::u32string_view(U"!\"'&.,?").find(c) != std::u32string_view::npos; }
bool is_letter(char32_t c) { return is_word(c) && !is_decimal(c); }

class Chunker {
 public:
  Chunker(const Text& line, bool break_on_hyphens) : break_on_hyphens_(break_on_hyphens) {
    for_each_character(line.view(), [this](const Character& c) { characters_.push_back(c); });
  }
  const std::vector<Character>& characters() const { return characters_; }

  // Ends of the chunks, as character indexes.
  std::vector<size_t> ends() const {
    std::vector<size_t> result;
    for (size_t at = 0; at < characters_.size();) result.push_back(at = chunk_end(at));
    return result;
  }

 private:
  char32_t at(size_t i) const { return i < characters_.size() ? characters_[i].value : 0; }
  bool space(size_t i) const { return i < characters_.size() && is_wrap_space(at(i)); }
  bool letter(size_t i) const { return i < characters_.size() && is_letter(at(i)); }

  size_t chunk_end(size_t begin) const {
    size_t end = begin;
    if (space(begin)) {
      while (space(end)) ++end;
      return end;
    }
    if (!break_on_hyphens_) {
      while (end < characters_.size() && !space(end)) ++end;
      return end;
    }
    if (begin > 0 && is_word_punctuation(at(begin - 1))) {
      while (at(end) == U'-') ++end;
      if (end >= begin + 2 && end < characters_.size() && is_word(at(end))) return end;
    }
    for (end = begin + 1; end < characters_.size(); ++end) {
      if (space(end) || ends_before_dash(end)) return end;
      if (at(end) == U'-' && ends_after_hyphen(end)) return end + 1;
    }
    return end;
  }
  // "word" before "--word".
  bool ends_before_dash(size_t i) const {
    size_t dash = i;
    while (at(dash) == U'-') ++dash;
    return dash >= i + 2 && dash < characters_.size() && is_word(at(dash)) && is_word_punctuation(at(i - 1));
  }
  // "well-known": after the hyphen at i.
  bool ends_after_hyphen(size_t i) const {
    const bool two_letters = i >= 2 && letter(i - 1) && letter(i - 2);
    const bool one_hyphenated = i >= 3 && is_word_punctuation(at(i - 1)) && at(i - 2) == U'-' && letter(i - 3);
    if (!two_letters && !one_hyphenated) return false;
    return letter(i + 1) && (letter(i + 2) || (at(i + 2) == U'-' && letter(i + 3)));
  }

  std::vector<Character> characters_;
  bool break_on_hyphens_;
};

}  // namespace

std::vector<Text> wrap_line(Runtime& runtime, const Text& line, const WrapStyle& style) {
  if (style.width <= 0) fail("invalid width " + std::to_string(style.width) + " (must be > 0)");
  const Chunker chunker(line, style.break_on_hyphens);
  const auto& characters = chunker.characters();
  runtime.budget().step(characters.size());
  const std::vector<size_t> ends = chunker.ends();
  const auto width = static_cast<size_t>(style.width);
  std::vector<Text> lines;
  size_t begin = 0;  // of the line, in characters
  for (size_t chunk = 0; chunk < ends.size();) {
    if (!lines.empty() && is_wrap_space(characters[begin].value)) {
      begin = ends[chunk++];  // a line does not start with the space it was broken at
      continue;
    }
    size_t end = begin;
    while (chunk < ends.size() && ends[chunk] - begin <= width) end = ends[chunk++];
    if (end == begin) {  // one chunk longer than a line
      end = style.break_long_words ? begin + width : ends[chunk];
      if (style.break_long_words && style.break_on_hyphens) {
        size_t hyphen = end;
        while (hyphen > begin && characters[hyphen - 1].value != U'-') --hyphen;
        const bool other = std::any_of(characters.begin() + static_cast<ptrdiff_t>(begin), characters.begin() + static_cast<ptrdiff_t>(hyphen ? hyphen - 1 : 0) ,
                                       [](const Character& c) { return c.value != U'-'; });
        if (hyphen > begin + 1 && other) end = hyphen;
      }
      if (end == ends[chunk]) ++chunk;
    }
    size_t text_end = end;
    if (chunk > 0 && text_end == ends[chunk - 1]) {
      while (text_end > begin && is_wrap_space(characters[text_end - 1].value)) --text_end;
    }
    if (text_end > begin) lines.push_back(slice_text(runtime, line, characters[begin].begin, characters[text_end - 1].end));
    begin = end;
  }
  return lines;
}

}  // namespace inferens::jinja
