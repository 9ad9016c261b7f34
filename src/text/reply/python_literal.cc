#include "text/reply/python_literal.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/utf8.h"
#include "text/reply/marker_finder.h"

namespace inferens {
namespace {

constexpr int kDeepest = 32;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '-' ||
         static_cast<unsigned char>(c) >= 0x80;
}

void append_json_string(std::string_view text, std::string& out) {
  out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Reads `text` from `at` on. Every function returns false where it finds something else than it should read.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool call(PythonCall& out) {
    blanks();
    out.name = name();
    if (out.name.empty() || !take('(')) return false;
    out.arguments_json = "{";
    bool first = true;
    for (blanks(); !take(')'); blanks()) {
      if (!first && !take(',')) return false;
      blanks();
      if (!first && take(')')) break;
      const std::string key = name();
      blanks();
      if (key.empty() || !take('=')) return false;
      if (!std::exchange(first, false)) out.arguments_json += ", ";
      append_json_string(key, out.arguments_json);
      out.arguments_json += ": ";
      if (!value(out.arguments_json, 0)) return false;
    }
    out.arguments_json += "}";
    blanks();
    return at_ == text_.size();
  }

  bool whole_value(std::string& out) {
    if (!value(out, 0)) return false;
    blanks();
    return at_ == text_.size();
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  std::string name() {
    const size_t begin = at_;
    while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  bool value(std::string& out, int depth) {
    if (depth == kDeepest) return false;
    blanks();
    const char c = peek();
    if (c == '"' || c == '\'') {
      std::string text;
      if (!string(text)) return false;
      append_json_string(text, out);
      return true;
    }
    if (take('[')) return list(out, ']', depth);
    if (take('(')) return list(out, ')', depth);
    if (take('{')) return dictionary(out, depth);
    if (is_digit(c) || c == '-' || c == '+' || c == '.') return number(out);
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kWords = {{{"True", "true"},
                                                                                      {"False", "false"},
                                                                                      {"None", "null"},
                                                                                      {"true", "true"},
                                                                                      {"false", "false"},
                                                                                      {"null", "null"}}};
    const std::string word = name();
    const auto found = std::find_if(kWords.begin(), kWords.end(), [&](const auto& w) { return w.first == word; });
    if (found == kWords.end()) return false;
    out += found->second;
    return true;
  }

  bool list(std::string& out, char close, int depth) {
    out += '[';
    bool first = true;
    for (blanks(); !take(close); blanks()) {
      if (!first && !take(',')) return false;
      blanks();
      if (!first && take(close)) break;
      if (!std::exchange(first, false)) out += ", ";
      if (!value(out, depth + 1)) return false;
    }
    out += ']';
    return true;
  }

  bool dictionary(std::string& out, int depth) {
    out += '{';
    bool first = true;
    for (blanks(); !take('}'); blanks()) {
      if (!first && !take(',')) return false;
      blanks();
      if (!first && take('}')) break;
      if (!std::exchange(first, false)) out += ", ";
      std::string key;
      if (!string(key)) return false;
      append_json_string(key, out);
      blanks();
      if (!take(':')) return false;
      out += ": ";
      if (!value(out, depth + 1)) return false;
    }
    out += '}';
    return true;
  }

  bool number(std::string& out) {
    std::string text;
    if (!take('+') && take('-')) text += '-';
    if (peek() == '.') text += '0';
    while (at_ < text_.size() &&
           (is_digit(peek()) || std::string_view(".eE+-_").find(peek()) != std::string_view::npos)) {
      const char c = text_[at_++];
      if (c == '_') continue;
      const bool whole = c == '.' && !is_digit(peek());  // "1." and "1.e5"
      text += c;
      if (whole) text += '0';
    }
    if (!nlohmann::json::accept(text)) return false;
    out += text;
    return true;
  }

  bool string(std::string& out) {
    const char quote = peek();
    if (quote != '"' && quote != '\'') return false;
    const std::string triple(3, quote);
    const std::string close = text_.substr(at_).starts_with(triple) ? triple : std::string(1, quote);
    at_ += close.size();
    while (at_ < text_.size()) {
      if (take(close)) return true;
      if (text_[at_] != '\\') {
        out += text_[at_++];
        continue;
      }
      ++at_;
      if (!escape(out)) return false;
    }
    return false;
  }

  bool escape(std::string& out) {
    if (at_ == text_.size()) return false;
    const char c = text_[at_++];
    constexpr std::string_view kFrom = "ntrbf0'\"\\";
    constexpr std::string_view kTo("\n\t\r\b\f\0'\"\\", 9);
    if (const size_t i = kFrom.find(c); i != std::string_view::npos) {
      out += kTo[i];
      return true;
    }
    if (c == '\n') return true;  // a line that goes on
    const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0) {  // Python keeps the backslash
      out += '\\';
      out += c;
      return true;
    }
    char32_t point = 0;
    for (int i = 0; i < digits; ++i) {
      const char h = peek();
      const int v = is_digit(h)            ? h - '0'
                    : h >= 'a' && h <= 'f' ? h - 'a' + 10
                    : h >= 'A' && h <= 'F' ? h - 'A' + 10
                                           : -1;
      if (v < 0 || point > 0x10FFFF) return false;
      point = point * 16 + static_cast<char32_t>(v);
      ++at_;
    }
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    append_utf8(surrogate || point > 0x10FFFF ? char32_t{0xFFFD} : point, out);
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::optional<std::string> parse_python_value(std::string_view text) {
  std::string json;
  if (!Reader(text).whole_value(json)) return std::nullopt;
  return json;
}

std::optional<PythonCall> parse_python_call(std::string_view text) {
  PythonCall call;
  if (!Reader(text).call(call)) return std::nullopt;
  return call;
}

}  // namespace inferens
