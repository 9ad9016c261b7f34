#include "serve/api/gemini_schema.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "serve/api/fields.h"
#include "serve/json_writer.h"

namespace inferens {
namespace {

using simdjson::SUCCESS;
using simdjson::dom::array;
using simdjson::dom::object;

// Deeper schemas than the body may be deep do not come here; this is so that nobody need trust that.
constexpr int kDeepest = 128;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

class Translation {
 public:
  explicit Translation(std::string& out) : json_(out) {}

  Refusal schema(Json value, const std::string& place, int depth) {
    object members;
    if (value.get(members) != SUCCESS || depth > kDeepest) return bad_field(place, "invalid_type", "'" + place + "' must be a Schema object");
    bool nullable = false;
    if (const auto given = find(members, "nullable"); given && given->get(nullable) != SUCCESS) return bad_field(place + ".nullable", "invalid_type", "'" + place + ".nullable' must be a boolean");
    json_.begin_object();
    for (const auto [name, member] : members) {
      const std::string key = camel_case(name);
      if (key == "nullable" || key == "propertyOrdering") continue;
      if (Refusal r = write_member(members, key, member, nullable, place + "." + key, depth)) return r;
    }
    json_.end_object();
    return {};
  }

 private:
  static std::optional<Json> find(object members, std::string_view name) {
    for (const auto [key, value] : members) {
      if (camel_case(key) == name) return value;
    }
    return std::nullopt;
  }

  Refusal write_member(object all, const std::string& key, Json value, bool nullable, const std::string& place, int depth) {
    if (key == "type") return type(value, nullable, place);
    if (key == "enum" || key == "anyOf") return list(key, value, nullable, place, depth);
    if (key == "properties" || key == "defs" || key == "$defs") return named(key == "defs" ? "$defs" : key, all, value, place, depth);
    if (key == "items" || (key == "additionalProperties" && value.is_object())) {
      json_.key(key);
      return schema(value, place, depth + 1);
    }
    // Protocol buffers write 64-bit numbers as strings.
    const bool count = key.starts_with("min") || key.starts_with("max");
    if (count && value.is_string()) {
      json_.key(key).raw(text_of(value).empty() || text_of(value).find_first_not_of("0123456789") != std::string_view::npos ? "-1" : text_of(value));
    } else if (key == "ref") {
      json_.key("$ref").raw(simdjson::minify(value));
    } else if (key != "format" || !value.is_string() || text_of(value) != "enum") {
      json_.key(key).raw(simdjson::minify(value));
    }
    return {};
  }

  Refusal type(Json value, bool nullable, const std::string& place) {
    if (!value.is_string()) return bad_field(place, "invalid_type", "'" + place + "' must be a string");
    const std::string name = lower(text_of(value));
    if (name == "type_unspecified") return {};
    json_.key("type");
    if (!nullable) {
      json_.string(name);
    } else {
      json_.begin_array().string(name).string("null").end_array();
    }
    return {};
  }

  Refusal list(const std::string& key, Json value, bool nullable, const std::string& place, int depth) {
    array items;
    if (value.get(items) != SUCCESS) return bad_field(place, "invalid_type", "'" + place + "' must be an array");
    json_.key(key).begin_array();
    size_t i = 0;
    for (const Json item : items) {
      if (key == "enum") {
        json_.raw(simdjson::minify(item));
      } else if (Refusal r = schema(item, place + "[" + std::to_string(i++) + "]", depth + 1)) {
        return r;
      }
    }
    if (nullable) json_.raw(key == "enum" ? "null" : R"({"type":"null"})");
    json_.end_array();
    return {};
  }

  // Properties in the order that is asked for.
  Refusal named(const std::string& key, object all, Json value, const std::string& place, int depth) {
    object members;
    if (value.get(members) != SUCCESS) return bad_field(place, "invalid_type", "'" + place + "' must be an object");
    std::vector<std::string_view> order;
    array given;
    if (const auto ordering = find(all, "propertyOrdering"); key == "properties" && ordering && ordering->get(given) == SUCCESS) {
      for (const Json name : given) {
        if (name.is_string() && members.at_key(text_of(name)).error() == SUCCESS && std::find(order.begin(), order.end(), text_of(name)) == order.end()) order.push_back(text_of(name));
      }
    }
    const size_t ordered = order.size();
    for (const auto [name, member] : members) {
      if (std::find(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(ordered), name) == order.begin() + static_cast<std::ptrdiff_t>(ordered)) order.push_back(name);
    }
    json_.key(key).begin_object();
    for (const std::string_view name : order) {
      json_.key(name);
      if (Refusal r = schema(members.at_key(name).value(), place + "." + std::string(name), depth + 1)) return r;
    }
    json_.end_object();
    return {};
  }

  JsonWriter json_;
};

}  // namespace

Refusal gemini_schema_to_json(Json schema, const std::string& place, std::string& json) { return Translation(json).schema(schema, place, 0); }

}  // namespace inferens
