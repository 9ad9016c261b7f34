// Strings that know where each byte came from: the template's own text (trusted: it may spell control tokens) or the
// conversation (never). Every string of the interpreter is made by TextBuilder, which has no way to forget the
// difference.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "text/jinja/budget.h"

namespace inferens::jinja {

// Immutable, cheap to copy. Positions called `byte` are byte offsets, those called `index` count code points as Python
// does.
class Text {
 public:
  struct Run {
    size_t end = 0;  // first byte after the run
    bool trusted = false;
  };

  Text() = default;
  static Text trusted(std::string bytes) { return Text(std::move(bytes), true); }
  static Text untrusted(std::string bytes) { return Text(std::move(bytes), false); }

  std::string_view view() const { return rep_ ? std::string_view(rep_->bytes) : std::string_view(); }
  std::string str() const { return std::string(view()); }
  size_t size() const { return rep_ ? rep_->bytes.size() : 0; }
  bool empty() const { return size() == 0; }
  size_t length() const { return rep_ ? rep_->length : 0; }
  bool is_ascii() const { return length() == size(); }
  const std::vector<Run>& runs() const;
  bool trusted_at(size_t byte) const;
  size_t byte_of(size_t index) const;  // index ≤ length()
  size_t index_of(size_t byte) const;

  // HTML-safe, Python's Markup: what |safe and |escape make.
  bool is_markup() const { return markup_; }
  Text as_markup(bool markup) const;

 private:
  friend class TextBuilder;
  struct Rep {
    std::string bytes;
    std::vector<Run> runs;
    size_t length = 0;
  };
  Text(std::string bytes, bool trusted);
  explicit Text(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}

  std::shared_ptr<const Rep> rep_;
  bool markup_ = false;
};

class TextBuilder {
 public:
  explicit TextBuilder(Budget& budget) : budget_(budget) {}
  void append(const Text& text) { append(text, 0, text.size()); }
  void append(const Text& text, size_t begin, size_t end);  // a byte range
  void append(std::string_view bytes, bool trusted);
  void append_repeated(const Text& text, uint64_t count);
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  Budget& budget() { return budget_; }
  Text take();

 private:
  void append_charged(std::string_view bytes, bool trusted);  // what the budget already knows of

  Budget& budget_;
  std::string bytes_;
  std::vector<Text::Run> runs_;
};

// The first place of `wanted` at or after `from`, npos when none; in linear time, which std::string_view::find is not.
size_t find_bytes(std::string_view text, std::string_view wanted, size_t from = 0);
// The last place of `wanted`. Its worst case is a product of lengths, so the budget pays for that.
size_t find_last_bytes(Budget& budget, std::string_view text, std::string_view wanted);

// One code point of a text with its place, for walks that map or test characters.
struct Character {
  size_t begin = 0;
  size_t end = 0;
  char32_t value = 0;
};
// Calls visit(Character) for each.
template <class Visit>
void for_each_character(std::string_view bytes, Visit&& visit) {
  for (size_t at = 0; at < bytes.size();) {
    const CodePoint point = decode_utf8(bytes, at);
    visit(Character{at, at + point.length, point.value});
    at += point.length;
  }
}

}  // namespace inferens::jinja
