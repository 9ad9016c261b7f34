// textwrap in two steps: cut into chunks that must stay whole, then fill lines.
#include "text/jinja/wrap.h"

#include <algorithm>

#include "text/jinja/characters.h"
#include "text/jinja/methods.h"

namespace inferens::jinja {
namespace {

bool is_wrap_space(char32_t c) {
  return c == U' ' || (c >= 0x09 && c <= 0x0D);
}
bool is_word_punctuation(char32_t c) {
  return is_word(c) || std::u32string_view(U"!\"'&.,?").find(c) != std::u32string_view::npos;
}
bool is_letter(char32_t c) {
  return is_word(c) && !is_decimal(c);
}

class Chunker {
 public:
  Chunker(Budget& budget, const Text& line, bool break_on_hyphens)
      : budget_(budget), break_on_hyphens_(break_on_hyphens) {
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
    budget_.step(dash - i);
    return dash >= i + 2 && dash < characters_.size() && is_word(at(dash)) && is_word_punctuation(at(i - 1));
  }
  // "well-known": after the hyphen at i.
  bool ends_after_hyphen(size_t i) const {
    const bool two_letters = i >= 2 && letter(i - 1) && letter(i - 2);
    const bool one_hyphenated = i >= 3 && is_word_punctuation(at(i - 1)) && at(i - 2) == U'-' && letter(i - 3);
    if (!two_letters && !one_hyphenated) return false;
    return letter(i + 1) && (letter(i + 2) || (at(i + 2) == U'-' && letter(i + 3)));
  }

  Budget& budget_;
  std::vector<Character> characters_;
  bool break_on_hyphens_;
};

// A stretch of characters, by index.
struct Chunk {
  size_t begin = 0;
  size_t end = 0;
  size_t size() const { return end - begin; }
};

// Fills lines as textwrap._wrap_chunks does, including what it does when a word is longer than a line.
class Filler {
 public:
  Filler(const std::vector<Character>& characters, std::vector<Chunk> chunks, const WrapStyle& style)
      : characters_(characters), chunks_(std::move(chunks)), style_(style) {
    std::reverse(chunks_.begin(), chunks_.end());
  }

  // The lines, as stretches without the spaces they were broken at.
  std::vector<Chunk> lines() {
    std::vector<Chunk> result;
    while (!chunks_.empty()) {
      if (!result.empty() && is_blank(chunks_.back())) chunks_.pop_back();
      std::vector<Chunk> line = next_line();
      if (!line.empty() && is_blank(line.back())) line.pop_back();
      if (!line.empty()) result.push_back({line.front().begin, line.back().end});
    }
    return result;
  }

 private:
  bool is_blank(const Chunk& chunk) const {
    return std::all_of(characters_.begin() + static_cast<ptrdiff_t>(chunk.begin),
                       characters_.begin() + static_cast<ptrdiff_t>(chunk.end),
                       [](const Character& c) { return is_wrap_space(c.value); });
  }

  std::vector<Chunk> next_line() {
    const auto width = static_cast<size_t>(style_.width);
    std::vector<Chunk> line;
    size_t used = 0;
    while (!chunks_.empty() && used + chunks_.back().size() <= width) {
      used += chunks_.back().size();
      line.push_back(chunks_.back());
      chunks_.pop_back();
    }
    if (chunks_.empty() || chunks_.back().size() <= width) return line;
    Chunk& word = chunks_.back();
    if (style_.break_long_words) {
      const size_t end = word.begin + long_word_part(word, width - used);
      line.push_back({word.begin, end});
      word.begin = end;
    } else if (line.empty()) {
      line.push_back(word);
      chunks_.pop_back();
    }
    return line;
  }
  // How much of a long word goes on a line with this much room: up to its last hyphen there, if that is not all
  // hyphens.
  size_t long_word_part(const Chunk& word, size_t room) const {
    if (!style_.break_on_hyphens) return room;
    size_t part = room;
    while (part > 1 && characters_[word.begin + part - 1].value != U'-') --part;
    if (part <= 1) return room;
    for (size_t i = word.begin; i + 1 < word.begin + part; ++i) {
      if (characters_[i].value != U'-') return part;
    }
    return room;
  }

  const std::vector<Character>& characters_;
  std::vector<Chunk> chunks_;  // the next one last
  const WrapStyle& style_;
};

}  // namespace

std::vector<Text> wrap_line(Runtime& runtime, const Text& line, const WrapStyle& style) {
  if (style.width <= 0) fail("invalid width " + std::to_string(style.width) + " (must be > 0)");
  const Chunker chunker(runtime.budget(), line, style.break_on_hyphens);
  const auto& characters = chunker.characters();
  runtime.budget().memory(characters.size() * sizeof(Character));
  std::vector<Chunk> chunks;
  for (const size_t end : chunker.ends()) chunks.push_back({chunks.empty() ? 0 : chunks.back().end, end});
  std::vector<Text> lines;
  for (const Chunk& part : Filler(characters, std::move(chunks), style).lines()) {
    if (part.size() == 0) {
      lines.emplace_back();
    } else {
      lines.push_back(slice_text(runtime, line, characters[part.begin].begin, characters[part.end - 1].end));
    }
  }
  return lines;
}

}  // namespace inferens::jinja
