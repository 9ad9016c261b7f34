#include "engine/grammar/schema_node.h"

#include <algorithm>
#include <array>

namespace inferens {
namespace {

enum class Use { kDescribes, kAnyType, kString, kNumber, kArray, kObject, kRefused };

struct Keyword {
  std::string_view name;
  Use use;
  std::string_view reason = {};  // kRefused
};

constexpr std::string_view kNotByGrammar = "a grammar cannot keep it; leave it out and check the answer";
constexpr Keyword kKeywords[] = {
    {"title", Use::kDescribes},
    {"description", Use::kDescribes},
    {"default", Use::kDescribes},
    {"examples", Use::kDescribes},
    {"example", Use::kDescribes},
    {"deprecated", Use::kDescribes},
    {"readOnly", Use::kDescribes},
    {"writeOnly", Use::kDescribes},
    {"$comment", Use::kDescribes},
    {"$schema", Use::kDescribes},
    {"$id", Use::kDescribes},
    {"$defs", Use::kDescribes},
    {"definitions", Use::kDescribes},
    {"discriminator", Use::kDescribes},
    {"$ref", Use::kAnyType},
    {"type", Use::kAnyType},
    {"enum", Use::kAnyType},
    {"const", Use::kAnyType},
    {"anyOf", Use::kAnyType},
    {"oneOf", Use::kAnyType},
    {"allOf", Use::kAnyType},
    {"minLength", Use::kString},
    {"maxLength", Use::kString},
    {"pattern", Use::kString},
    {"format", Use::kString},
    {"minimum", Use::kNumber},
    {"maximum", Use::kNumber},
    {"exclusiveMinimum", Use::kNumber},
    {"exclusiveMaximum", Use::kNumber},
    {"multipleOf", Use::kNumber},
    {"items", Use::kArray},
    {"prefixItems", Use::kArray},
    {"minItems", Use::kArray},
    {"maxItems", Use::kArray},
    {"uniqueItems", Use::kArray},
    {"properties", Use::kObject},
    {"required", Use::kObject},
    {"additionalProperties", Use::kObject},
    {"minProperties", Use::kObject},
    {"maxProperties", Use::kObject},
    {"patternProperties", Use::kObject},
    {"propertyNames", Use::kObject},
    {"not", Use::kRefused, kNotByGrammar},
    {"if", Use::kRefused, kNotByGrammar},
    {"then", Use::kRefused, kNotByGrammar},
    {"else", Use::kRefused, kNotByGrammar},
    {"contains", Use::kRefused, kNotByGrammar},
    {"minContains", Use::kRefused, kNotByGrammar},
    {"maxContains", Use::kRefused, kNotByGrammar},
    {"dependencies", Use::kRefused, kNotByGrammar},
    {"dependentRequired", Use::kRefused, kNotByGrammar},
    {"dependentSchemas", Use::kRefused, kNotByGrammar},
    {"unevaluatedItems", Use::kRefused, "write items instead"},
    {"unevaluatedProperties", Use::kRefused, "write additionalProperties instead"},
    {"additionalItems", Use::kRefused, "write prefixItems and items instead"},
    {"contentEncoding", Use::kRefused, kNotByGrammar},
    {"contentMediaType", Use::kRefused, kNotByGrammar},
    {"contentSchema", Use::kRefused, kNotByGrammar},
    {"nullable", Use::kRefused, "write \"type\": [\"…\", \"null\"] instead"},
    {"$anchor", Use::kRefused, "write a $ref by JSON pointer instead"},
    {"$dynamicRef", Use::kRefused, "write a $ref by JSON pointer instead"},
    {"$dynamicAnchor", Use::kRefused, "write a $ref by JSON pointer instead"},
};

constexpr std::pair<Use, std::string_view> kTypeOfUse[] = {
    {Use::kString, "string"}, {Use::kNumber, "number"}, {Use::kArray, "array"}, {Use::kObject, "object"}};
constexpr std::array<std::string_view, 7> kTypes = {"object",  "array",   "string", "number",
                                                    "integer", "boolean", "null"};

const Keyword* find_keyword(std::string_view name) {
  const auto* found = std::find_if(std::begin(kKeywords), std::end(kKeywords), [&](auto& k) { return k.name == name; });
  return found == std::end(kKeywords) ? nullptr : found;
}

}  // namespace

std::string pointer_to(const std::string& pointer, std::string_view step) {
  std::string out = pointer + '/';
  for (const char c : step) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

Status schema_error(const std::string& pointer, const std::string& what) {
  constexpr size_t kLongestPointer = 200;
  return invalid_argument((pointer.size() > kLongestPointer ? pointer.substr(0, kLongestPointer) + "…" : pointer) +
                          ": " + what);
}

StatusOr<SchemaNode> SchemaNode::read(SchemaValue value, const std::string& pointer) {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return schema_error(pointer, "a schema is an object, true or false");
  SchemaNode node;
  node.pointer_ = pointer;
  for (const auto [name, member] : object) {
    const Keyword* keyword = find_keyword(name);
    if (keyword == nullptr) {
      if (name.starts_with("x-")) continue;
      return schema_error(pointer_to(pointer, name),
                          "this keyword is not known here, so it cannot be kept; leave it out");
    }
    if (keyword->use == Use::kDescribes) continue;
    if (keyword->use == Use::kRefused) return schema_error(pointer_to(pointer, name), std::string(keyword->reason));
    if (node.has(name)) return schema_error(pointer_to(pointer, name), "it is given twice");
    node.members_.emplace_back(name, member);
  }
  return node;
}

std::optional<SchemaValue> SchemaNode::find(std::string_view keyword) const {
  for (const auto& [name, value] : members_) {
    if (name == keyword) return value;
  }
  return std::nullopt;
}

StatusOr<std::vector<std::string_view>> SchemaNode::types() const {
  std::vector<std::string_view> types;
  if (const auto type = find("type")) {
    simdjson::dom::array list;
    std::string_view one;
    if (type->get(one) == simdjson::SUCCESS) {
      types.push_back(one);
    } else if (type->get(list) != simdjson::SUCCESS || list.size() == 0) {
      return schema_error(pointer_of("type"), "it must be a type's name or an array of them");
    } else {
      for (const SchemaValue item : list) {
        if (item.get(one) != simdjson::SUCCESS) return schema_error(pointer_of("type"), "its items must be strings");
        types.push_back(one);
      }
    }
    for (const std::string_view name : types) {
      if (std::find(kTypes.begin(), kTypes.end(), name) == kTypes.end()) {
        return schema_error(pointer_of("type"), "'" + std::string(name) + "' is not a type of JSON Schema");
      }
    }
    return types;
  }
  // Without "type" a keyword restricts values of its type only, and others are free. The one type is meant.
  for (const auto& [use, name] : kTypeOfUse) {
    const bool used = std::any_of(members_.begin(), members_.end(),
                                  [use = use](const auto& m) { return find_keyword(m.first)->use == use; });
    if (used) types.push_back(name);
  }
  if (types.size() > 1) {
    return schema_error(pointer_, "it has keywords of several types and no \"type\"; name the types");
  }
  return types;
}

Status SchemaNode::allow_only(std::initializer_list<std::string_view> keywords, std::string_view beside) const {
  for (const auto& [name, value] : members_) {
    if (std::find(keywords.begin(), keywords.end(), name) != keywords.end()) continue;
    return schema_error(pointer_of(name),
                        "beside '" + std::string(beside) + "' it cannot be kept; write it into the schemas there");
  }
  return ok_status();
}

StatusOr<int64_t> SchemaNode::count(std::string_view keyword, int64_t fallback, int64_t most) const {
  const auto value = find(keyword);
  if (!value) return fallback;
  int64_t number = -1;
  double real = 0;
  if (value->get(number) != simdjson::SUCCESS) {
    // 3.0 is a count, too.
    if (value->is_double() && value->get(real) == simdjson::SUCCESS && real >= 0 && real <= 1e9 &&
        real == static_cast<double>(static_cast<int64_t>(real))) {
      number = static_cast<int64_t>(real);
    } else {
      return schema_error(pointer_of(keyword), "it must be a whole number that is not negative");
    }
  }
  if (number < 0) return schema_error(pointer_of(keyword), "it must be a whole number that is not negative");
  if (number > most) {
    return schema_error(pointer_of(keyword),
                        std::to_string(number) + " is more than the " + std::to_string(most) + " that can be kept");
  }
  return number;
}

}  // namespace inferens
