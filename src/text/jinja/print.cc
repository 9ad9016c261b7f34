// str() and repr(). Strings inside keep their provenance; punctuation that Python adds belongs to no template.
#include "text/jinja/print.h"

#include <array>
#include <charconv>
#include <cmath>

#include "text/jinja/characters.h"
#include "text/jinja/globals.h"
#include "text/jinja/loop.h"
#include "text/jinja/macro.h"

namespace inferens::jinja {
namespace {

std::string hex(char32_t value, size_t digits) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(digits, '0');
  for (size_t i = digits; i > 0; --i, value >>= 4) out[i - 1] = kDigits[value & 15];
  return out;
}

// How repr writes a character inside these quotes; empty when as it is.
std::string repr_escape(char32_t c, char32_t quote) {
  if (c == quote || c == U'\\') return std::string("\\") + static_cast<char>(c);
  if (c == U'\n') return "\\n";
  if (c == U'\r') return "\\r";
  if (c == U'\t') return "\\t";
  if (is_printable(c)) return "";
  if (c <= 0xFF) return "\\x" + hex(c, 2);
  return c <= 0xFFFF ? "\\u" + hex(c, 4) : "\\U" + hex(c, 8);
}

void append_string_repr(const Text& text, TextBuilder& out) {
  if (text.is_markup()) out.append("Markup(", false);
  const bool has_single = text.view().find('\'') != std::string_view::npos;
  const bool has_double = text.view().find('"') != std::string_view::npos;
  const char32_t quote = has_single && !has_double ? U'"' : U'\'';
  const std::string_view quote_text = quote == U'"' ? "\"" : "'";
  out.append(quote_text, false);
  for_each_character(text.view(), [&](const Character& c) {
    const std::string escaped = repr_escape(c.value, quote);
    if (escaped.empty()) {
      out.append(text, c.begin, c.end);
    } else {
      out.append(escaped, false);
    }
  });
  out.append(quote_text, false);
  if (text.is_markup()) out.append(")", false);
}

void append_items(Runtime& runtime, const Sequence& list, std::string_view open, std::string_view close,
                  TextBuilder& out) {
  out.append(open, false);
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (i > 0) out.append(", ", false);
    append_repr(runtime, list.items[i], out);
  }
  out.append(close, false);
}

void append_sequence(Runtime& runtime, const Sequence& list, TextBuilder& out) {
  switch (list.kind) {
    case SequenceKind::kList:
      return append_items(runtime, list, "[", "]", out);
    case SequenceKind::kTuple:
    case SequenceKind::kGroup:
      return append_items(runtime, list, "(", list.items.size() == 1 ? ",)" : ")", out);
    case SequenceKind::kDictKeys:
      return append_items(runtime, list, "dict_keys([", "])", out);
    case SequenceKind::kDictValues:
      return append_items(runtime, list, "dict_values([", "])", out);
    case SequenceKind::kDictItems:
      return append_items(runtime, list, "dict_items([", "])", out);
    case SequenceKind::kRange: {
      std::string text = "range(" + std::to_string(list.start) + ", " + std::to_string(list.stop);
      if (list.step != 1) text += ", " + std::to_string(list.step);
      return out.append(text + ")", false);
    }
  }
}

void append_dict(Runtime& runtime, const Dict& dict, TextBuilder& out) {
  out.append("{", false);
  bool first = true;
  for (const auto& [key, value] : dict.entries) {
    if (!first) out.append(", ", false);
    first = false;
    append_repr(runtime, key, out);
    out.append(": ", false);
    append_repr(runtime, value, out);
  }
  out.append("}", false);
}

void append_object(Runtime& runtime, Object& object, TextBuilder& out) {
  if (const auto* macro = dynamic_cast<Macro*>(&object)) {
    return out.append(macro->name().empty() ? std::string("<Macro anonymous>") : "<Macro '" + macro->name() + "'>",
                      false);
  }
  if (auto* loop = dynamic_cast<LoopContext*>(&object)) {
    return out.append("<LoopContext " + std::to_string(loop->index()) + "/" + std::to_string(loop->full_length()) + ">",
                      false);
  }
  if (const auto* ns = dynamic_cast<Namespace*>(&object)) {
    out.append("<Namespace {", false);
    bool first = true;
    for (const auto& [key, value] : ns->values()) {
      out.append((first ? "'" : ", '") + key + "': ", false);
      first = false;
      append_repr(runtime, value, out);
    }
    return out.append("}>", false);
  }
  // Python prints an address here; one is never shown.
  out.append("<" + std::string(object.type_name()) + " object>", false);
}

}  // namespace

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  std::string text(buffer.data(), end);
  const size_t e = text.find('e');
  int exponent = 0;
  const char* digits = text.data() + e + 1 + (text[e + 1] == '+');
  std::from_chars(digits, text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= 16) return text;
  const auto fixed = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed).ptr;
  text.assign(buffer.data(), fixed);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

void append_text(Runtime& runtime, const Value& value, TextBuilder& out) {
  if (value.is_text()) {
    out.append(value.text());
  } else if (!value.is_undefined()) {
    append_repr(runtime, value, out);
  }
}

void append_repr(Runtime& runtime, const Value& value, TextBuilder& out) {
  const Runtime::Depth depth(runtime);
  runtime.budget().step();
  const bool trusted = !value.from_input();
  switch (value.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return out.append("Undefined", false);
    case Kind::kNone:
      return out.append("None", trusted);
    case Kind::kBool:
      return out.append(value.boolean() ? "True" : "False", trusted);
    case Kind::kInt:
      return out.append(std::to_string(value.integer()), trusted);
    case Kind::kFloat:
      return out.append(float_repr(value.number()), trusted);
    case Kind::kText:
      return append_string_repr(value.text(), out);
    case Kind::kSequence:
      return append_sequence(runtime, *value.sequence(), out);
    case Kind::kDict:
      return append_dict(runtime, *value.dict(), out);
    case Kind::kObject:
      return append_object(runtime, *value.object(), out);
  }
}

Text to_text(Runtime& runtime, const Value& value) {
  return soft_text(runtime, value).as_markup(false);
}

Text soft_text(Runtime& runtime, const Value& value) {
  if (value.is_text()) return value.text();
  TextBuilder out(runtime.budget());
  append_text(runtime, value, out);
  return out.take();
}

Text escape(Runtime& runtime, const Value& value) {
  const Text text = soft_text(runtime, value);
  if (text.is_markup()) return text;
  TextBuilder out(runtime.budget());
  size_t copied = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    static constexpr std::string_view kSpecial = "&<>'\"";
    static constexpr std::array<std::string_view, 5> kEntities = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    const size_t which = kSpecial.find(text.view()[i]);
    if (which == std::string_view::npos) continue;
    out.append(text, copied, i);
    out.append(kEntities[which], false);
    copied = i + 1;
  }
  out.append(text, copied, text.size());
  return out.take().as_markup(true);
}

}  // namespace inferens::jinja
