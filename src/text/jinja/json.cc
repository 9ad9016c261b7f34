// The reader is nlohmann's SAX parser with a depth limit; the writer follows CPython's json encoder.
#include "text/jinja/json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "text/jinja/print.h"
#include "text/jinja/stable_order.h"

namespace inferens::jinja {
namespace {

// Builds values as the parser reports them. Returning false stops the parser.
class Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Reader(Budget& budget) : budget_(budget) {}
  Value take() { return std::move(result_); }
  const std::string& error() const { return error_; }

  bool null() override { return put(Value().marked_input()); }
  bool boolean(bool v) override { return put(Value(v).marked_input()); }
  bool number_integer(number_integer_t v) override { return put(Value(int64_t{v}).marked_input()); }
  bool number_unsigned(number_unsigned_t v) override {
    if (v > static_cast<uint64_t>(INT64_MAX))
      return stop("the integer " + std::to_string(v) + " does not fit in 64 bits");
    return put(Value(static_cast<int64_t>(v)).marked_input());
  }
  bool number_float(number_float_t v, const string_t& text) override {
    if (text.find_first_of(".eE") == std::string::npos) return stop("the integer " + text + " does not fit in 64 bits");
    return put(Value(double{v}).marked_input());
  }
  bool string(string_t& v) override { return put(Value(read_text(v))); }
  bool binary(binary_t&) override { return stop("binary data"); }
  bool start_object(size_t) override { return open(true); }
  bool start_array(size_t) override { return open(false); }
  bool key(string_t& v) override {
    levels_.back().key = read_text(v);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return stop("not valid JSON near byte " + std::to_string(position));
  }

 private:
  struct Level {
    explicit Level(Budget& budget) : dict(budget) {}
    bool is_dict = false;
    DictBuilder dict;
    std::vector<Value> items;
    Text key;
  };
  bool stop(std::string message) {
    if (error_.empty()) error_ = std::move(message);
    return false;
  }
  Text read_text(const std::string& bytes) {
    TextBuilder text(budget_);
    text.append(bytes, false);
    return text.take();
  }
  bool open(bool is_dict) {
    if (levels_.size() >= kMaxJsonDepth)
      return stop("JSON nested more than " + std::to_string(kMaxJsonDepth) + " deep");
    levels_.emplace_back(budget_);
    levels_.back().is_dict = is_dict;
    return true;
  }
  bool close() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    return put(level.is_dict ? Value(level.dict.take()) : make_list(budget_, std::move(level.items)));
  }
  bool put(Value value) {
    if (levels_.empty()) {
      result_ = std::move(value);
    } else if (levels_.back().is_dict) {
      levels_.back().dict.set(Value(levels_.back().key), std::move(value));
    } else {
      levels_.back().items.push_back(std::move(value));
    }
    return true;
  }

  Budget& budget_;
  std::vector<Level> levels_;
  Value result_;
  std::string error_;
};

void append_escape(char32_t unit, TextBuilder& out) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string escape = "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) escape += kHex[(unit >> shift) & 15];
  out.append(escape, false);
}

void append_json_string(const Text& text, bool ensure_ascii, TextBuilder& out) {
  out.append("\"", false);
  size_t copied = 0;
  for_each_character(text.view(), [&](const Character& c) {
    static constexpr std::string_view kSpecial = "\"\\\n\r\t\b\f";
    static constexpr std::array<std::string_view, 7> kEscapes = {"\\\"", "\\\\", "\\n", "\\r", "\\t", "\\b", "\\f"};
    const size_t which = c.value < 0x80 ? kSpecial.find(static_cast<char>(c.value)) : std::string_view::npos;
    const bool control = c.value < 0x20 || (ensure_ascii && c.value > 0x7E);
    if (which == std::string_view::npos && !control) return;
    out.append(text, copied, c.begin);
    copied = c.end;
    if (which != std::string_view::npos) {
      out.append(kEscapes[which], false);
    } else if (c.value > 0xFFFF) {
      append_escape(0xD800 + ((c.value - 0x10000) >> 10), out);
      append_escape(0xDC00 + ((c.value - 0x10000) & 0x3FF), out);
    } else {
      append_escape(c.value, out);
    }
  });
  out.append(text, copied, text.size());
  out.append("\"", false);
}

std::string json_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return float_repr(value);
}

class Writer {
 public:
  Writer(Runtime& runtime, const JsonStyle& style) : runtime_(runtime), style_(style), out_(runtime.budget()) {}

  Text run(const Value& value) {
    write(value, 0);
    return out_.take();
  }

 private:
  void write(const Value& value, int level) {
    const Runtime::Depth depth(runtime_);
    runtime_.budget().step();
    switch (value.kind()) {
      case Kind::kNone:
        return out_.append("null", false);
      case Kind::kBool:
        return out_.append(value.boolean() ? "true" : "false", false);
      case Kind::kInt:
        return out_.append(std::to_string(value.integer()), false);
      case Kind::kFloat:
        return out_.append(json_float(value.number()), false);
      case Kind::kText:
        return append_json_string(value.text(), style_.ensure_ascii, out_);
      case Kind::kDict:
        return write_dict(*value.dict(), level);
      case Kind::kSequence: {
        const SequenceKind kind = value.sequence()->kind;
        if (kind == SequenceKind::kList || kind == SequenceKind::kTuple || kind == SequenceKind::kGroup)
          return write_list(*value.sequence(), level);
        break;
      }
      default:
        break;
    }
    fail("Object of type " + std::string(type_name(value)) + " is not JSON serializable");
  }
  void new_line(int level) {
    if (!style_.indent) return;
    out_.append("\n", false);
    out_.append_repeated(*style_.indent, static_cast<uint64_t>(level));
  }
  void write_list(const Sequence& list, int level) {
    if (list.items.empty()) return out_.append("[]", false);
    out_.append("[", false);
    for (size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) out_.append(style_.item_separator);
      new_line(level + 1);
      write(list.items[i], level + 1);
    }
    new_line(level);
    out_.append("]", false);
  }
  void write_dict(const Dict& dict, int level) {
    if (dict.entries.empty()) return out_.append("{}", false);
    const auto& entries = dict.entries;
    const auto order = stable_order(entries.size(), [&](size_t x, size_t y) {
      return style_.sort_keys && compare(runtime_.budget(), entries[x].first, entries[y].first).value_or(1) < 0;
    });
    out_.append("{", false);
    for (size_t i = 0; i < order.size(); ++i) {
      if (i > 0) out_.append(style_.item_separator);
      new_line(level + 1);
      write_key(entries[order[i]].first);
      out_.append(style_.key_separator);
      write(entries[order[i]].second, level + 1);
    }
    new_line(level);
    out_.append("}", false);
  }
  void write_key(const Value& key) {
    switch (key.kind()) {
      case Kind::kText:
        return append_json_string(key.text(), style_.ensure_ascii, out_);
      case Kind::kNone:
        return out_.append("\"null\"", false);
      case Kind::kBool:
        return out_.append(key.boolean() ? "\"true\"" : "\"false\"", false);
      case Kind::kInt:
        return out_.append("\"" + std::to_string(key.integer()) + "\"", false);
      case Kind::kFloat:
        return out_.append("\"" + json_float(key.number()) + "\"", false);
      default:
        fail("keys must be str, int, float, bool or None, not " + std::string(type_name(key)));
    }
  }

  Runtime& runtime_;
  const JsonStyle& style_;
  TextBuilder out_;
};

}  // namespace

Value parse_json(Budget& budget, std::string_view json, std::string_view what) {
  Reader reader(budget);
  const bool ok = nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  if (!ok)
    fail_input(std::string(what) + ": " + (reader.error().empty() ? std::string("not valid JSON") : reader.error()));
  return reader.take();
}

Text to_json(Runtime& runtime, const Value& value, const JsonStyle& style) {
  return Writer(runtime, style).run(value);
}

}  // namespace inferens::jinja
