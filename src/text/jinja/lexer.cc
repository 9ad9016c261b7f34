// The lexer walks text and tags in turn. Its whitespace rules follow jinja2's Lexer.tokeniter.
#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "text/jinja/budget.h"
#include "text/jinja/characters.h"

namespace inferens::jinja {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// \r\n and \r become \n, and one newline at the very end is dropped (keep_trailing_newline is off).
std::string normalize_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) lex_text();
    add(Token::Kind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail_syntax(const std::string& message) const {
    throw Failure(Failure::Kind::kSyntax, message, line_);
  }
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  char peek(size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  void add(Token::Kind kind, std::string value) { tokens_.push_back({kind, line_, std::move(value)}); }
  void advance(size_t bytes) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<ptrdiff_t>(at_),
                                         source_.begin() + static_cast<ptrdiff_t>(at_ + bytes), '\n'));
    at_ += bytes;
  }
  void skip_whitespace() {
    while (at_ < source_.size()) {
      const CodePoint point = decode_utf8(source_, at_);
      if (!is_space(point.value)) return;
      advance(point.length);
    }
  }
  size_t whitespace_end(size_t at) const {
    while (at < source_.size()) {
      const CodePoint point = decode_utf8(source_, at);
      if (!is_space(point.value)) break;
      at += point.length;
    }
    return at;
  }

  // Text up to the next tag, then the tag.
  void lex_text() {
    size_t tag = at_;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= source_.size()) return emit_last_text();
      const char kind = source_[tag + 1];
      if (kind == '%' || kind == '{' || kind == '#') break;
    }
    const char kind = source_[tag + 1];
    const char sign =
        tag + 2 < source_.size() && (source_[tag + 2] == '-' || source_[tag + 2] == '+') ? source_[tag + 2] : '\0';
    emit_text(tag, sign, kind != '{');
    advance(tag - at_ + 2 + (sign != '\0'));
    if (kind == '#') return lex_comment();
    if (kind == '%' && starts_raw()) return lex_raw();
    add(kind == '{' ? Token::Kind::kOutputBegin : Token::Kind::kBlockBegin, "");
    lex_tag(kind == '{' ? "}}" : "%}");
  }

  void emit_last_text() {
    if (at_ < source_.size()) add(Token::Kind::kText, source_.substr(at_));
    advance(source_.size() - at_);
  }

  // The text before a tag, cut as the tag's sign and lstrip_blocks ask.
  void emit_text(size_t end, char sign, bool may_lstrip) {
    std::string_view text = std::string_view(source_).substr(at_, end - at_);
    if (sign == '-') {
      text = strip_right(text);
    } else if (sign != '+' && may_lstrip) {
      const size_t newline = text.rfind('\n');
      const size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
      const bool at_line_start = line_start > 0 || at_ == 0 || source_[at_ - 1] == '\n';
      if (at_line_start && strip_right(text.substr(line_start)).empty()) text = text.substr(0, line_start);
    }
    if (!text.empty()) add(Token::Kind::kText, std::string(text));
  }

  void end_tag(bool strip, bool trim_newline) {
    if (strip) {
      skip_whitespace();
    } else if (trim_newline && peek() == '\n') {
      advance(1);
    }
  }

  void lex_comment() {
    if (at_ == source_.size()) return;  // as jinja2: a comment opened by the very last characters is nothing
    const size_t end = source_.find("#}", at_);
    if (end == std::string::npos) fail_syntax("a comment {# is not closed");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    advance(end + 2 - at_);
    end_tag(sign == '-', sign != '+');
  }

  bool starts_raw() const {
    const size_t word = whitespace_end(at_);
    if (source_.compare(word, 3, "raw") != 0) return false;
    const size_t end = whitespace_end(word + 3);
    return source_.compare(end, 2, "%}") == 0 || source_.compare(end, 3, "-%}") == 0;
  }

  // {% raw %} … {% endraw %}: everything between is text.
  void lex_raw() {
    const bool strip = source_[source_.find('}', at_) - 2] == '-';
    advance(source_.find('}', at_) + 1 - at_);
    if (strip) skip_whitespace();
    if (at_ == source_.size()) return;
    for (size_t tag = source_.find("{%", at_); tag != std::string::npos; tag = source_.find("{%", tag + 1)) {
      size_t word = tag + 2;
      const char sign = word < source_.size() && (source_[word] == '-' || source_[word] == '+') ? source_[word] : '\0';
      word = whitespace_end(word + (sign != '\0'));
      if (source_.compare(word, 6, "endraw") != 0) continue;
      size_t end = whitespace_end(word + 6);
      const char end_sign = end < source_.size() && (source_[end] == '-' || source_[end] == '+') ? source_[end] : '\0';
      end += end_sign != '\0';
      if (source_.compare(end, 2, "%}") != 0) continue;
      emit_text(tag, sign, true);
      advance(end + 2 - at_);
      return end_tag(end_sign == '-', end_sign != '+');
    }
    fail_syntax("{% raw %} is not closed by {% endraw %}");
  }

  // Everything inside {{ … }} or {% … %}.
  void lex_tag(std::string_view closing) {
    const bool block = closing == "%}";
    for (;;) {
      skip_whitespace();
      if (at_ >= source_.size()) return;  // the parser reports the end of the template
      if (brackets_.empty()) {
        const char sign = peek();
        const bool minus = sign == '-' && rest().substr(1, 2) == closing;
        const bool plus = block && sign == '+' && rest().substr(1, 2) == closing;
        if (minus || plus || rest().substr(0, 2) == closing) {
          add(block ? Token::Kind::kBlockEnd : Token::Kind::kOutputEnd, "");
          advance(minus || plus ? 3 : 2);
          return end_tag(minus, block && !plus);
        }
      }
      lex_token();
    }
  }

  void lex_token() {
    const char c = peek();
    if (is_digit(c)) return lex_number();
    if (c == '\'' || c == '"') return lex_string(c);
    if (is_identifier_start(decode_utf8(source_, at_).value)) return lex_name();
    lex_operator();
  }

  void lex_name() {
    size_t end = at_;
    while (end < source_.size()) {
      const CodePoint point = decode_utf8(source_, end);
      if (!point.valid || !is_identifier_part(point.value)) break;
      end += point.length;
    }
    add(Token::Kind::kName, source_.substr(at_, end - at_));
    at_ = end;
  }

  // Digits with single underscores between them, from `at`; returns the end, `at` itself when there are none.
  size_t digits_end(size_t at, bool (*accept)(char)) const {
    while (at < source_.size()) {
      if (accept(source_[at])) {
        ++at;
      } else if (source_[at] == '_' && at + 1 < source_.size() && accept(source_[at + 1])) {
        at += 2;
      } else {
        break;
      }
    }
    return at;
  }

  void emit_number(Token::Kind kind, size_t end) {
    std::string digits = source_.substr(at_, end - at_);
    std::erase(digits, '_');
    add(kind, std::move(digits));
    at_ = end;
  }

  void lex_number() {
    if (peek() == '0') {
      const char base = static_cast<char>(peek(1) | 0x20);
      bool (*accept)(char) = base == 'x'   ? is_hex
                             : base == 'o' ? +[](char d) { return d >= '0' && d <= '7'; }
                             : base == 'b' ? +[](char d) { return d == '0' || d == '1'; }
                                           : nullptr;
      if (accept && digits_end(at_ + 2, accept) > at_ + 2)
        return emit_number(Token::Kind::kInteger, digits_end(at_ + 2, accept));
    }
    size_t end = digits_end(at_, is_digit);
    bool is_float = false;
    // A number right after a dot is an index ("a.0.1"), never a fraction.
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    if (!after_dot && end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      is_float = true;
      end = digits_end(end + 1, is_digit);
    }
    if (!after_dot && end < source_.size() && (source_[end] | 0x20) == 'e') {
      size_t exponent = end + 1;
      if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-')) ++exponent;
      if (exponent < source_.size() && is_digit(source_[exponent])) {
        is_float = true;
        end = digits_end(exponent, is_digit);
      }
    }
    if (!is_float && peek() == '0') {  // decimals have no leading zero, so "012" is 0 and then 12
      end = digits_end(at_, [](char d) { return d == '0'; });
    }
    emit_number(is_float ? Token::Kind::kFloat : Token::Kind::kInteger, end);
  }

  void lex_string(char quote) {
    std::string value;
    const int start_line = line_;
    size_t at = at_ + 1;
    for (; at < source_.size() && source_[at] != quote;) {
      if (source_[at] == '\\' && at + 1 < source_.size()) {
        at = unescape(at + 1, value);
      } else {
        value += source_[at++];
      }
    }
    if (at >= source_.size()) fail_syntax("a string is not closed");
    tokens_.push_back({Token::Kind::kString, start_line, std::move(value)});
    advance(at + 1 - at_);
  }

  // Python's escapes; returns the place after the escape whose letter stands at `at`.
  size_t unescape(size_t at, std::string& out) {
    const char c = source_[at];
    static constexpr std::string_view kLetters = "\\'\"abfnrtv";
    static constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
    if (const size_t i = kLetters.find(c); i != std::string_view::npos) {
      out += kMeanings[i];
      return at + 1;
    }
    if (c == '\n') return at + 1;
    if (c >= '0' && c <= '7') {
      char32_t value = 0;
      size_t end = at;
      for (; end < at + 3 && end < source_.size() && source_[end] >= '0' && source_[end] <= '7'; ++end) {
        value = value * 8 + static_cast<char32_t>(source_[end] - '0');
      }
      append_utf8(value, out);
      return end;
    }
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {
      if (c == 'N')
        throw Failure(Failure::Kind::kUnsupported, "\\N{…} escapes are not supported; write the character itself",
                      line_);
      out += '\\';
      out += c;
      return at + 1;
    }
    char32_t value = 0;
    for (size_t i = 1; i <= digits; ++i) {
      const char d = at + i < source_.size() ? source_[at + i] : '\0';
      if (!is_hex(d)) fail_syntax("a \\x, \\u or \\U escape in a string is cut short");
      value = value * 16 + static_cast<char32_t>(is_digit(d) ? d - '0' : (d | 0x20) - 'a' + 10);
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
      fail_syntax("an escape in a string is not a Unicode character");
    append_utf8(value, out);
    return at + 1 + digits;
  }

  void lex_operator() {
    static constexpr std::array<std::string_view, 6> kPairs = {"//", "**", "==", "!=", ">=", "<="};
    static constexpr std::string_view kSingles = "+-/*%~[](){}><=.:|,;";
    const auto* pair = std::find(kPairs.begin(), kPairs.end(), rest().substr(0, 2));
    if (pair != kPairs.end()) {
      add(Token::Kind::kOperator, std::string(*pair));
      return advance(2);
    }
    const char c = peek();
    if (kSingles.find(c) == std::string_view::npos) {
      fail_syntax("unexpected character '" + source_.substr(at_, decode_utf8(source_, at_).length) + "'");
    }
    balance(c);
    add(Token::Kind::kOperator, std::string(1, c));
    advance(1);
  }

  // Inside brackets "}}" and "%}" are operators, so the brackets are counted here.
  void balance(char c) {
    if (c == '{' || c == '(' || c == '[') brackets_ += c == '{' ? '}' : c == '(' ? ')' : ']';
    if (c != '}' && c != ')' && c != ']') return;
    if (brackets_.empty()) fail_syntax(std::string("unexpected '") + c + "'");
    if (brackets_.back() != c) fail_syntax(std::string("unexpected '") + c + "', expected '" + brackets_.back() + "'");
    brackets_.pop_back();
  }

  std::string source_;
  size_t at_ = 0;
  int line_ = 1;
  std::string brackets_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  return Lexer(normalize_newlines(source)).run();
}

}  // namespace inferens::jinja
