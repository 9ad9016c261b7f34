#include "engine/grammar/ebnf.h"

#include <algorithm>
#include <array>
#include <utility>

namespace inferens {
namespace {

constexpr char32_t kLastCharacter = 0x10FFFF;
constexpr char32_t kFirstSurrogate = 0xD800;
constexpr char32_t kLastSurrogate = 0xDFFF;

constexpr std::array<std::pair<char32_t, char>, 7> kJsonEscapes = {
    {{'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}}};

std::string hex_escape(char32_t c) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const int digits = c <= 0xFFFF ? 4 : 8;
  std::string text = digits == 4 ? "\\u" : "\\U";
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) text += kDigits[(c >> shift) & 15U];
  return text;
}

bool is_plain(char32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ' ';
}

std::string in_class(char32_t c) {
  return is_plain(c) ? std::string(1, static_cast<char>(c)) : hex_escape(c);
}

}  // namespace

std::string ebnf_literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += hex_escape(static_cast<unsigned char>(c));
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

CharacterSet CharacterSet::all() {
  CharacterSet set;
  set.add(0, kLastCharacter);
  return set;
}

void CharacterSet::add(char32_t first, char32_t last) {
  last = std::min(last, kLastCharacter);
  if (first < kFirstSurrogate) ranges_.push_back({first, std::min<char32_t>(last, kFirstSurrogate - 1)});
  if (last > kLastSurrogate) ranges_.push_back({std::max<char32_t>(first, kLastSurrogate + 1), last});
  sorted_ = false;
}

void CharacterSet::add(const CharacterSet& other) {
  for (const Range& r : std::vector<Range>(other.ranges())) add(r.first, r.last);
}

void CharacterSet::fold_ascii_case() {
  for (char32_t c = 'a'; c <= 'z'; ++c) {
    const char32_t upper = c - 'a' + 'A';
    if (contains(c)) add(upper, upper);
    if (contains(upper)) add(c, c);
  }
}

const std::vector<CharacterSet::Range>& CharacterSet::ranges() const {
  if (sorted_) return ranges_;
  sorted_ = true;
  std::erase_if(ranges_, [](const Range& r) { return r.first > r.last; });
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
  std::vector<Range> joined;
  for (const Range& r : ranges_) {
    if (!joined.empty() && r.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, r.last);
    } else {
      joined.push_back(r);
    }
  }
  ranges_ = std::move(joined);
  return ranges_;
}

CharacterSet CharacterSet::complement() const {
  CharacterSet out;
  char32_t next = 0;
  for (const Range& r : ranges()) {
    if (r.first > next) out.add(next, r.first - 1);
    next = r.last + 1;
  }
  if (next <= kLastCharacter) out.add(next, kLastCharacter);
  return out;
}

CharacterSet CharacterSet::without(const CharacterSet& other) const {
  CharacterSet gone = complement();
  gone.add(other);
  return gone.complement();
}

bool CharacterSet::contains(char32_t c) const {
  const std::vector<Range>& all = ranges();
  return std::any_of(all.begin(), all.end(), [c](const Range& r) { return r.first <= c && c <= r.last; });
}

std::string CharacterSet::ebnf() const {
  std::string out = "[";
  for (const Range& r : ranges()) {
    out += in_class(r.first);
    if (r.last > r.first) (out += '-') += in_class(r.last);
  }
  return out + "]";
}

CharacterSet plain_in_json_string() {
  CharacterSet escaped;
  escaped.add(0, 0x1F);
  escaped.add('"', '"');
  escaped.add('\\', '\\');
  return escaped.complement();
}

std::string ebnf_in_json_string(const CharacterSet& set) {
  std::string escapes;
  for (const auto& [c, letter] : kJsonEscapes) {
    if (set.contains(c)) escapes += in_class(static_cast<unsigned char>(letter));
  }
  const CharacterSet plain = set.without(plain_in_json_string().complement());
  std::string out = plain.empty() ? "" : plain.ebnf();
  if (escapes.empty()) return out;
  if (!out.empty()) out += " | ";
  return "(" + out + "\"\\\\\" [" + escapes + "])";
}

}  // namespace inferens
