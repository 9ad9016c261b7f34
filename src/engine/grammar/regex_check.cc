#include "engine/grammar/regex_check.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "engine/grammar/ebnf.h"

namespace inferens {
namespace {

constexpr size_t kLongestRegex = 16384;  // bytes
constexpr int kDeepestGroups = 50;
constexpr int64_t kMostRepeats = 100'000;
// Characters of the longest text that bounded repetition is written out for, about: what a {1000}{1000} stands for.
constexpr int64_t kLargestExpansion = 200'000;

// One parse. Methods return the grammar text of what they read; the first fault ends it.
class Parser {
 public:
  Parser(std::string_view regex, RegexUse use) : json_(use == RegexUse::kJsonString) {
    for (size_t i = 0; i < regex.size();) {
      const CodePoint c = decode_utf8(regex, i);
      if (!c.valid) fail("it is not UTF-8");
      text_.push_back(c.value);
      i += c.length;
    }
  }

  StatusOr<std::string> parse() {
    std::string out;
    do {
      if (!out.empty()) out += " | ";
      out += top_alternative();
    } while (take('|'));
    if (!fault_ && at_ < text_.size()) fail("unmatched ')'");
    if (fault_) return *fault_;
    return out;
  }

 private:
  struct Piece {
    std::string ebnf;
    int64_t size = 1;  // characters of its longest written-out form, about
  };

  void fail(const std::string& what) {
    if (!fault_) fault_ = invalid_argument("at character " + std::to_string(at_ + 1) + ": " + what);
  }
  bool more() const { return !fault_ && at_ < text_.size(); }
  bool peek(char32_t c) const { return more() && text_[at_] == c; }
  bool take(char32_t c) {
    if (!peek(c)) return false;
    ++at_;
    return true;
  }

  // Anchors may stand at the ends of an alternative of the whole; where one is missing, a pattern of JSON Schema
  // goes on.
  std::string top_alternative() {
    const bool begins = take('^');
    std::string out = sequence(0).ebnf;
    const bool ends = take('$');
    if (more() && !peek('|') && !peek(')')) fail("'$' can only stand at the end");
    if (!json_) return out;
    const std::string anything = ebnf_in_json_string(CharacterSet::all()) + "*";
    return (begins ? "" : anything + " ") + out + (ends ? "" : " " + anything);
  }

  Piece alternatives(int depth) {
    Piece out = sequence(depth);
    while (take('|')) {
      const Piece next = sequence(depth);
      out.ebnf += " | " + next.ebnf;
      out.size += next.size;
    }
    return out;
  }

  Piece sequence(int depth) {
    Piece out = {"", 0};
    while (more() && !peek('|') && !peek(')') && !peek('$')) {
      const Piece piece = quantified(depth);
      if (!out.ebnf.empty()) out.ebnf += ' ';
      out.ebnf += piece.ebnf;
      out.size += piece.size;
    }
    if (out.size > kLargestExpansion) fail("its bounded repetitions stand for too long a text");
    if (out.ebnf.empty()) out.ebnf = "\"\"";
    return out;
  }

  Piece quantified(int depth) {
    Piece piece = atom(depth);
    if (!more()) return piece;
    if (take('*') || take('+') || take('?')) {
      piece.ebnf += static_cast<char>(text_[at_ - 1]);
    } else if (peek('{')) {
      repeat(piece);
    } else {
      return piece;
    }
    take('?');  // laziness: which match is found does not matter, only that there is one
    if (peek('*') || peek('+') || peek('?') || peek('{')) fail("two quantifiers in a row");
    return piece;
  }

  std::optional<int64_t> count() {
    const size_t begin = at_;
    int64_t value = 0;
    while (more() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = std::min(value * 10 + static_cast<int64_t>(text_[at_++] - '0'), kMostRepeats + 1);
    }
    if (at_ == begin) return std::nullopt;
    return value;
  }

  void repeat(Piece& piece) {
    ++at_;
    const std::optional<int64_t> least = count();
    std::optional<int64_t> most = least;
    const bool range = take(',');
    if (range) most = count();
    if (!least || !take('}')) return fail("a repetition is {m}, {m,} or {m,n}; a brace as such is written \\{");
    if (most && *most < *least) return fail("a repetition whose bounds are the wrong way round");
    if (std::max(*least, most.value_or(0)) > kMostRepeats) {
      return fail("a repetition of more than " + std::to_string(kMostRepeats));
    }
    piece.ebnf += "{" + std::to_string(*least);
    if (range) piece.ebnf += ",";
    if (range && most) piece.ebnf += std::to_string(*most);
    piece.ebnf += "}";
    piece.size *= std::max<int64_t>(1, most.value_or(*least));
  }

  Piece atom(int depth) {
    const char32_t c = text_[at_];
    if (c == '(') return group(depth);
    if (c == '[') return {set_ebnf(bracket())};
    if (c == '*' || c == '+' || c == '?') fail("a quantifier with nothing before it");
    if (c == '{' || c == '}') fail("a brace as such is written \\{ or \\}");
    if (c == '^') fail("'^' can only stand at the beginning");
    CharacterSet set;
    if (c == '.') {
      ++at_;
      set.add('\n', '\n');
      set.add('\r', '\r');
      set.add(0x2028, 0x2029);
      return {set_ebnf(set.complement())};
    }
    if (c == '\\') return {set_ebnf(escape(false))};
    ++at_;
    set.add(c, c);
    return {set_ebnf(set)};
  }

  Piece group(int depth) {
    if (depth >= kDeepestGroups) fail("groups nest deeper than " + std::to_string(kDeepestGroups));
    ++at_;
    if (take('?') && !take(':')) name_of_group();
    if (fault_) return {};
    Piece inner = alternatives(depth + 1);
    if (!take(')')) fail(peek('$') ? "'$' can only stand at the end" : "a '(' without its ')'");
    inner.ebnf = "(" + inner.ebnf + ")";
    return inner;
  }

  void name_of_group() {
    if (peek('=') || peek('!')) return fail("lookahead cannot be kept");
    take('P');
    if (!take('<')) return fail("a group of this kind is not offered");
    if (peek('=') || peek('!')) return fail("lookbehind cannot be kept");
    while (more() && !peek('>')) ++at_;
    if (!take('>')) fail("a group's name without its '>'");
  }

  std::string set_ebnf(const CharacterSet& set) {
    if (fault_) return {};
    const std::string out = set.empty() ? "" : json_ ? ebnf_in_json_string(set) : set.ebnf();
    if (out.empty()) fail("a set of characters without one that can be written");
    return out;
  }

  CharacterSet bracket() {
    ++at_;
    const bool negated = take('^');
    CharacterSet set;
    bool first = true;
    while (more() && (first || !peek(']'))) {
      if (peek(']')) break;  // [] is the empty set
      first = false;
      CharacterSet item = class_item();
      if (!more()) break;
      const bool single = item.ranges().size() == 1 && item.ranges()[0].first == item.ranges()[0].last;
      if (peek('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        if (!single) fail("a range between sets");
        ++at_;
        const CharacterSet last = class_item();
        if (fault_) break;
        if (last.ranges().size() != 1 || last.ranges()[0].first != last.ranges()[0].last) {
          fail("a range between sets");
          break;
        }
        const char32_t from = item.ranges()[0].first, to = last.ranges()[0].first;
        if (from > to) fail("a range whose ends are the wrong way round");
        item.add(from, to);
      }
      set.add(item);
    }
    if (!take(']')) fail("a '[' without its ']'");
    return negated ? set.complement() : set;
  }

  CharacterSet class_item() {
    if (peek('\\')) return escape(true);
    CharacterSet set;
    if (!more()) return set;
    if (peek('[') && at_ + 1 < text_.size() && text_[at_ + 1] == ':') fail("[:name:] classes are not offered");
    set.add(text_[at_], text_[at_]);
    ++at_;
    return set;
  }

  std::optional<char32_t> hex(int digits) {
    char32_t value = 0;
    for (int i = 0; i < digits; ++i) {
      const char32_t c = at_ < text_.size() ? text_[at_] : 0;
      const bool number = c >= '0' && c <= '9', small = c >= 'a' && c <= 'f', large = c >= 'A' && c <= 'F';
      if (!number && !small && !large) return std::nullopt;
      value = value * 16 + (number ? c - '0' : small ? c - 'a' + 10 : c - 'A' + 10);
      ++at_;
    }
    return value;
  }

  // \u{…}, \uXXXX (two of them for one character above U+FFFF), \xXX.
  char32_t code_point(int digits) {
    std::optional<char32_t> value;
    if (digits == 4 && take('{')) {
      const size_t begin = at_;
      while (more() && !peek('}') && at_ - begin < 6) ++at_;
      const int length = static_cast<int>(at_ - begin);
      at_ = begin;
      value = length > 0 ? hex(length) : std::nullopt;
      if (!take('}')) value.reset();
    } else {
      value = hex(digits);
      if (value && *value >= 0xD800 && *value < 0xDC00 && take('\\') && take('u')) {
        const std::optional<char32_t> low = hex(4);
        value = low && *low >= 0xDC00 && *low < 0xE000
                    ? std::optional(0x10000 + ((*value - 0xD800) << 10U) + (*low - 0xDC00))
                    : std::nullopt;
      }
    }
    if (!value || *value > 0x10FFFF || (*value >= 0xD800 && *value < 0xE000)) {
      fail("an escape that is no character");
      return 0;
    }
    return *value;
  }

  // ECMAScript and Python differ in a few characters; what either leaves in doubt is in neither \s nor \S.
  static void add_spaces(bool for_complement, CharacterSet& set) {
    set.add('\t', '\r');
    set.add(0x2000, 0x200A);
    set.add(0x2028, 0x2029);
    for (const char32_t c : {0x20, 0xA0, 0x1680, 0x202F, 0x205F, 0x3000}) set.add(c, c);
    if (!for_complement) return;
    set.add(0x1C, 0x1F);
    for (const char32_t c : {0x85, 0xFEFF}) set.add(c, c);
  }

  CharacterSet escape(bool in_class) {
    ++at_;
    CharacterSet set;
    if (!more()) {
      fail("a '\\' with nothing after it");
      return set;
    }
    const char32_t c = text_[at_++];
    const auto one = [&](char32_t member) { set.add(member, member); };
    switch (c) {
      case 'd':
      case 'D':
        set.add('0', '9');
        break;
      case 'w':
      case 'W':
        set.add('0', '9');
        set.add('A', 'Z');
        set.add('a', 'z');
        one('_');
        break;
      case 's':
      case 'S':
        add_spaces(c == 'S', set);
        break;
      case 'n':
        one('\n');
        break;
      case 'r':
        one('\r');
        break;
      case 't':
        one('\t');
        break;
      case 'f':
        one('\f');
        break;
      case 'v':
        one('\v');
        break;
      case '0':
        one(0);
        break;
      case 'u':
        one(code_point(4));
        break;
      case 'x':
        one(code_point(2));
        break;
      case 'b':
      case 'B':
        if (in_class && c == 'b')
          one('\b');
        else
          fail("word boundaries cannot be kept");
        break;
      case 'p':
      case 'P':
        fail("Unicode properties are not offered");
        break;
      default:
        if ((c >= '1' && c <= '9') || c == 'k')
          fail("back references cannot be kept");
        else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
          fail("an escape that is not known");
        else
          one(c);
    }
    return c == 'D' || c == 'W' || c == 'S' ? set.complement() : set;
  }

  std::u32string text_;
  size_t at_ = 0;
  bool json_;
  std::optional<Status> fault_;
};

}  // namespace

StatusOr<std::string> regex_to_ebnf(std::string_view regex, RegexUse use) {
  if (regex.size() > kLongestRegex) {
    return invalid_argument("it has " + std::to_string(regex.size()) + " bytes; at most " +
                            std::to_string(kLongestRegex) + " are taken");
  }
  return Parser(regex, use).parse();
}

}  // namespace inferens
