#include "serve/api/fields.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace inferens {
namespace {

// A field's name comes back in errors, but not a megabyte of it.
constexpr size_t kLongestEchoedName = 128;

unsigned kind_of(Json value) {
  switch (value.type()) {
    case simdjson::dom::element_type::ARRAY: return kArray;
    case simdjson::dom::element_type::OBJECT: return kObject;
    case simdjson::dom::element_type::INT64:
    case simdjson::dom::element_type::UINT64: return kInteger | kNumber;
    case simdjson::dom::element_type::DOUBLE: return kNumber;
    case simdjson::dom::element_type::STRING: return kString;
    case simdjson::dom::element_type::BOOL: return kBoolean;
    case simdjson::dom::element_type::NULL_VALUE: break;
  }
  return 0;
}

std::string in_words(double number) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

bool is_harmless(const FieldInfo& field, Json value) {
  const std::string text = simdjson::minify(value);
  std::string_view rest = field.harmless;
  while (!rest.empty()) {
    const size_t bar = std::min(rest.find('|'), rest.size());
    if (rest.substr(0, bar) == text) return true;
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
  return false;
}

}  // namespace

std::string kinds_in_words(unsigned kinds) {
  constexpr std::pair<unsigned, std::string_view> kWords[] = {{kString, "a string"}, {kNumber, "a number"}, {kInteger, "an integer"},
                                                              {kBoolean, "a boolean"}, {kArray, "an array"}, {kObject, "an object"}};
  std::string text;
  for (const auto& [kind, word] : kWords) {
    if ((kinds & kind) == 0 || (kind == kInteger && (kinds & kNumber) != 0)) continue;
    text += (text.empty() ? "" : " or ") + std::string(word);
  }
  return text;
}

std::string camel_case(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool joins = name[i] == '_' && i > 0 && i + 1 < name.size() && name[i + 1] >= 'a' && name[i + 1] <= 'z';
    out += joins ? static_cast<char>(name[++i] - 'a' + 'A') : name[i];
  }
  return out;
}

Refusal check_field(const FieldInfo& field, Json value, const std::string& path) {
  if (field.treatment == Treatment::kRefuse) {
    if (is_harmless(field, value)) return {};
    return unsupported_field(path, std::string(field.note));
  }
  const unsigned kind = kind_of(value);
  if ((kind & field.kinds) == 0) {
    return bad_field(path, "invalid_type", "'" + path + "' must be " + kinds_in_words(field.kinds) + ", not " + std::string(json_kind_name(value)));
  }
  if ((kind & (kInteger | kNumber)) == 0) return {};
  const double number = value.is_double() ? number_of(value) : value.is_uint64() ? number_of(value) : static_cast<double>(integer_of(value));
  if (number >= field.low && number <= field.high) return {};
  const std::string range = !std::isfinite(field.high)  ? "at least " + in_words(field.low)
                            : !std::isfinite(field.low) ? "at most " + in_words(field.high)
                                                        : "between " + in_words(field.low) + " and " + in_words(field.high);
  return bad_field(path, "invalid_value", "'" + path + "' is " + in_words(number) + "; it must be " + range);
}

Refusal unknown_field(const std::string& name) {
  const std::string path = repair_utf8(name.substr(0, kLongestEchoedName));
  return bad_field(path, "unknown_parameter", "'" + path + "' is not a field that this endpoint knows");
}

Refusal duplicate_field(const std::string& path) { return bad_field(path, "invalid_value", "'" + path + "' is given twice"); }

Refusal missing_field(const std::string& path) {
  return bad_field(path, "missing_required_parameter", "'" + path + "' is required and missing");
}

}  // namespace inferens
