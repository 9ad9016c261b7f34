// Field tables: one line per request field says its name, JSON kind, range, what this server does with it, and how it gets
// into the request. The same tables drive the parser, the documentation and the test that tries every field.
#pragma once

#include <bitset>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/api_error.h"
#include "serve/json_reader.h"

namespace inferens {

enum JsonKind : unsigned {
  kString = 1,
  kInteger = 2,
  kNumber = 4,  // integers too
  kBoolean = 8,
  kArray = 16,
  kObject = 32,
  kAnything = 63,
};

enum class Treatment {
  kHonour,  // does what its API says
  kEcho,    // checked, and has no effect but perhaps in the reply
  kRefuse,  // known and not offered: 400 by name, but for values that ask for nothing
};

struct FieldInfo {
  std::string_view name;
  unsigned kinds = kAnything;  // of JsonKind
  Treatment treatment = Treatment::kHonour;
  std::string_view example = {};    // a valid value, as JSON
  std::string_view note = {};       // for the documentation, and the reason in refusals
  double low = -std::numeric_limits<double>::infinity();  // of numbers
  double high = std::numeric_limits<double>::infinity();
  bool required = false;
  bool nullable = true;        // null counts as absent
  std::string_view harmless = {};   // kRefuse: values that ask for nothing, minified JSON separated by '|'
};

template <class Call>
struct Field {
  FieldInfo info;
  // Gets a value of a right kind and in range; null only where not nullable. May be empty for kEcho and kRefuse.
  Refusal (*take)(Json value, Call& call) = nullptr;
};

// Fields in tables; all together at most this many.
constexpr size_t kMaxFields = 128;

// Kind, range and treatment of one value. `path` names it in errors: "temperature", "messages[2].role".
Refusal check_field(const FieldInfo& field, Json value, const std::string& path);
Refusal unknown_field(const std::string& path);
Refusal duplicate_field(const std::string& path);
Refusal missing_field(const std::string& path);
std::string kinds_in_words(unsigned kinds);

// "top_p" to "topP": the second spelling of names in the JSON form of protocol buffers.
std::string camel_case(std::string_view name);

// Reads an object by several tables, which share no name. `prefix` opens the names in errors. Unknown fields are refused
// unless `lenient`. `canonical`, when given, makes a key the name that the tables have.
template <class Call>
Refusal parse_fields(simdjson::dom::object object, std::span<const std::span<const Field<Call>>> tables, const std::string& prefix,
                     bool lenient, Call& call, std::string (*canonical)(std::string_view) = nullptr) {
  std::bitset<kMaxFields> seen;
  for (const auto [given, value] : object) {
    const std::string key = canonical == nullptr ? std::string(given) : canonical(given);
    const std::string path = prefix + key;
    const Field<Call>* field = nullptr;
    size_t number = 0;
    for (const auto& table : tables) {
      for (const Field<Call>& f : table) {
        if (f.info.name == key) field = &f;
        if (field != nullptr) break;
        ++number;
      }
      if (field != nullptr) break;
    }
    if (field == nullptr) {
      if (lenient) continue;
      return unknown_field(path);
    }
    if (seen[number]) return duplicate_field(path);
    seen[number] = true;
    if (value.is_null() && field->info.nullable && !field->info.required) continue;
    if (Refusal r = check_field(field->info, value, path)) return r;
    if (field->take == nullptr) continue;
    if (Refusal r = field->take(value, call)) {
      if (r->param.empty()) r->param = path;
      return r;
    }
  }
  size_t number = 0;
  for (const auto& table : tables) {
    for (const Field<Call>& f : table) {
      if (f.info.required && !seen[number]) return missing_field(prefix + std::string(f.info.name));
      ++number;
    }
  }
  return {};
}

}  // namespace inferens
