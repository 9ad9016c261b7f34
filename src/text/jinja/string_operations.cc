// What str methods and filters share: stripping, joining, replacing, lines and cases. Every result is built from pieces
// of its inputs, so each byte keeps its provenance.
#include <algorithm>

#include "text/jinja/characters.h"
#include "text/jinja/methods.h"

namespace inferens::jinja {

Text slice_text(Runtime& runtime, const Text& text, size_t begin, size_t end) {
  TextBuilder out(runtime.budget());
  out.append(text, begin, end);
  return out.take().as_markup(text.is_markup());
}

Text strip_text(Runtime& runtime, const Text& text, const Value& characters, bool left, bool right) {
  std::string_view view = text.view();
  if (characters.is_none()) {
    if (left) view = strip_left(view);
    if (right) view = strip_right(view);
  } else {
    if (!characters.is_text()) fail("strip arg must be None or str");
    std::u32string set;
    for_each_character(characters.text().view(), [&](const Character& c) { set += c.value; });
    std::sort(set.begin(), set.end());
    std::vector<Character> all;
    for_each_character(view, [&](const Character& c) { all.push_back(c); });
    runtime.budget().step(all.size());
    const auto in_set = [&](const Character& c) { return std::binary_search(set.begin(), set.end(), c.value); };
    size_t begin = 0, end = all.size();
    while (left && begin < end && in_set(all[begin])) ++begin;
    while (right && end > begin && in_set(all[end - 1])) --end;
    if (begin == end) return Text().as_markup(text.is_markup());
    return slice_text(runtime, text, all[begin].begin, all[end - 1].end);
  }
  if (view.size() == text.size()) return text;
  const auto begin = static_cast<size_t>(view.data() - text.view().data());
  return slice_text(runtime, text, begin, begin + view.size());
}

Text join_texts(Runtime& runtime, const Text& separator, const std::vector<Text>& parts) {
  TextBuilder out(runtime.budget());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out.append(separator);
    out.append(parts[i]);
  }
  return out.take();
}

Text replace_text(Runtime& runtime, const Text& text, const Text& from, const Text& to, int64_t count) {
  const std::string_view view = text.view();
  TextBuilder out(runtime.budget());
  size_t copied = 0;
  if (from.empty()) {
    // Before every character and at the end.
    int64_t done = 0;
    for (size_t at = 0; at < view.size() && (count < 0 || done < count); ++done) {
      out.append(to);
      const size_t length = decode_utf8(view, at).length;
      out.append(text, at, at + length);
      copied = at += length;
    }
    out.append(text, copied, view.size());
    if (copied == view.size() && (count < 0 || done < count)) out.append(to);
    return out.take();
  }
  for (int64_t done = 0; count < 0 || done < count; ++done) {
    const size_t at = find_bytes(view, from.view(), copied);
    if (at == std::string_view::npos) break;
    out.append(text, copied, at);
    out.append(to);
    copied = at + from.size();
  }
  out.append(text, copied, view.size());
  return out.take();
}

std::vector<Text> split_lines(Runtime& runtime, const Text& text, bool keep_ends) {
  std::vector<Text> lines;
  size_t begin = 0;
  const std::string_view view = text.view();
  for (size_t at = 0; at < view.size();) {
    const CodePoint point = decode_utf8(view, at);
    size_t next = at + point.length;
    if (is_line_break(point.value)) {
      if (point.value == U'\r' && next < view.size() && view[next] == '\n') ++next;
      lines.push_back(slice_text(runtime, text, begin, keep_ends ? next : at));
      begin = next;
    }
    at = next;
  }
  if (begin < view.size()) lines.push_back(slice_text(runtime, text, begin, view.size()));
  return lines;
}

namespace {

// What Greek capital sigma looks through when it asks whether it ends a word.
bool is_case_ignorable(char32_t c) {
  return c == U'\'' || c == 0xAD || c == 0x2019 || c == U'.' || c == U':' || c == 0xB7;
}

bool is_cased_next(std::string_view view, size_t at) {
  while (at < view.size()) {
    const CodePoint point = decode_utf8(view, at);
    if (!is_case_ignorable(point.value)) return is_cased(point.value);
    at += point.length;
  }
  return false;
}

// Lower case of a character; `in_word`: the last one that is not ignorable before it is cased.
void append_lower_in(std::string_view view, const Character& c, bool in_word, std::string& out) {
  if (c.value == 0x3A3) {
    append_utf8(in_word && !is_cased_next(view, c.end) ? 0x3C2 : 0x3C3, out);
  } else {
    append_lower(c.value, out);
  }
}

}  // namespace

Text change_case(Runtime& runtime, const Text& text, Case wanted) {
  TextBuilder out(runtime.budget());
  bool after_cased = false, in_word = false;
  std::string mapped;
  for_each_character(text.view(), [&](const Character& c) {
    mapped.clear();
    const bool first = wanted == Case::kCapitalize ? c.begin == 0 : !after_cased;
    switch (wanted) {
      case Case::kUpper:
        append_upper(c.value, mapped);
        break;
      case Case::kLower:
        append_lower_in(text.view(), c, in_word, mapped);
        break;
      case Case::kFold:
        append_folded(c.value, mapped);
        break;
      case Case::kSwap:
        is_upper(c.value) ? append_lower_in(text.view(), c, in_word, mapped) : append_upper(c.value, mapped);
        break;
      case Case::kTitle:
      case Case::kCapitalize:
        first ? append_title(c.value, mapped) : append_lower_in(text.view(), c, in_word, mapped);
        break;
    }
    after_cased = is_cased(c.value);
    if (!is_case_ignorable(c.value)) in_word = after_cased;
    out.append(mapped, text.trusted_at(c.begin));
  });
  return out.take().as_markup(text.is_markup());
}

}  // namespace inferens::jinja
