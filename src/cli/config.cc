#include "cli/config.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/file.h"
#include "base/utf8.h"

namespace inferens {
namespace {

constexpr size_t kMaxConfig = size_t{1} << 20;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

bool is_bare_key(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

bool is_comment_or_empty(std::string_view text) {
  text = trimmed(text);
  return text.empty() || text.front() == '#';
}

// The text of a quoted value and what stands behind it; nullopt when the quoting is wrong.
struct Quoted {
  std::string value;
  std::string_view rest;
};

std::optional<char32_t> parse_hex(std::string_view digits) {
  uint32_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (error != std::errc() || end != digits.data() + digits.size() || value > 0x10FFFF || surrogate) return std::nullopt;
  return static_cast<char32_t>(value);
}

// `text` starts behind a backslash. Returns the characters taken, 0 when the escape is not one of TOML.
size_t read_escape(std::string_view text, std::string& out) {
  constexpr std::string_view kNames = "btnfr\"\\";
  constexpr std::string_view kValues = "\b\t\n\f\r\"\\";
  if (text.empty()) return 0;
  if (size_t at = kNames.find(text.front()); at != std::string_view::npos) {
    out += kValues[at];
    return 1;
  }
  size_t digits = text.front() == 'u' ? 4 : text.front() == 'U' ? 8 : 0;
  if (digits == 0 || text.size() <= digits) return 0;
  auto code_point = parse_hex(text.substr(1, digits));
  if (!code_point) return 0;
  append_utf8(*code_point, out);
  return digits + 1;
}

std::optional<Quoted> read_quoted(std::string_view text) {
  char quote = text.front();
  Quoted result;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == quote) {
      result.rest = text.substr(i + 1);
      return result;
    }
    if (quote == '"' && text[i] == '\\') {
      size_t taken = read_escape(text.substr(i + 1), result.value);
      if (taken == 0) return std::nullopt;
      i += taken;
    } else {
      result.value += text[i];
    }
  }
  return std::nullopt;
}

bool is_plain_value(std::string_view text) {
  if (text == "true" || text == "false") return true;
  double number = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// The value behind "key =", without its comment.
StatusOr<std::string> read_value(std::string_view text) {
  Status bad = invalid_argument("a value is a \"string\" or 'string' on this line, a number, true or false");
  if (text.empty()) return bad;
  if (text.starts_with("\"\"\"") || text.starts_with("'''")) return bad;
  if (text.front() == '"' || text.front() == '\'') {
    auto quoted = read_quoted(text);
    if (!quoted || !is_comment_or_empty(quoted->rest)) return bad;
    return quoted->value;
  }
  text = trimmed(text.substr(0, text.find('#')));
  if (!is_plain_value(text)) return bad;
  return std::string(text.starts_with('+') ? text.substr(1) : text);
}

}  // namespace

StatusOr<Config> Config::parse(std::string_view text, const std::string& path) {
  Config config;
  config.path_ = path;
  std::string section;
  int number = 0;
  auto error = [&](const std::string& reason) { return invalid_argument(path + ":" + std::to_string(number) + ": " + reason); };
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    ++number;
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!is_valid_utf8(line)) return error("the line is not UTF-8");
    if (is_comment_or_empty(line)) continue;
    if (line.front() == '[') {
      size_t close = line.find(']');
      if (close == std::string_view::npos || !is_bare_key(trimmed(line.substr(1, close - 1))) || !is_comment_or_empty(line.substr(close + 1))) return error("a section is [name]");
      section = trimmed(line.substr(1, close - 1));
      continue;
    }
    size_t equals = line.find('=');
    if (equals == std::string_view::npos || !is_bare_key(trimmed(line.substr(0, equals)))) return error("a line is 'key = value', '[section]' or '# comment'");
    auto value = read_value(trimmed(line.substr(equals + 1)));
    if (!value.ok()) return error(value.status().message());
    Entry entry{section, std::string(trimmed(line.substr(0, equals))), *value, number};
    std::replace(entry.key.begin(), entry.key.end(), '-', '_');
    for (const Entry& e : config.entries_) {
      if (e.section == section && e.key == entry.key) return error("'" + entry.key + "' is set already on line " + std::to_string(e.line));
    }
    config.entries_.push_back(std::move(entry));
  }
  return config;
}

StatusOr<Config> Config::load(const std::string& path) {
  auto text = read_file(path, kMaxConfig);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) return Config();
  if (!text.ok()) return text.status();
  return parse(*text, path);
}

const Config::Entry* Config::find(std::string_view section, std::string_view key) const {
  const Entry* top = nullptr;
  for (const Entry& e : entries_) {
    if (e.key != key) continue;
    if (e.section == section) return &e;
    if (e.section.empty()) top = &e;
  }
  return top;
}

}  // namespace inferens
