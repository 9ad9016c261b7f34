#include "engine/grammar/schema_compiler.h"

#include <algorithm>
#include <charconv>

#include "engine/grammar/ebnf.h"
#include "engine/grammar/json_schema.h"

namespace inferens {
namespace {

constexpr size_t kLargestSchema = size_t{256} << 10;  // bytes
constexpr size_t kDeepestSchema = 200;
constexpr size_t kMostPlaces = 5000;
constexpr size_t kLargestGrammar = size_t{4} << 20;
constexpr size_t kMostValues = 5000;
constexpr int kFollowed = 32;   // references in a row
constexpr int kLookedInto = 2;  // levels of properties that may tell alternatives apart

// JSON itself. Whitespace ends, so that a model that loves line breaks comes back to the text; strings are sound
// UTF-16, so that no lone surrogate breaks a reader; numbers stay in the range of a double.
constexpr std::string_view kJsonRules = R"EBNF(
ws ::= [ \n\t\r]{0,64}
hex ::= [0-9A-Fa-f]
escape ::= ["\\/bfnrt] | "u" ([0-9A-Ca-cEFef] hex hex hex | [Dd] [0-7] hex hex | [Dd] [89ABab] hex hex "\\u" [Dd] [C-Fc-f] hex hex)
character ::= plain | "\\" escape
string_rest ::= "\"" | plain string_rest | "\\" escape string_rest
string ::= "\"" string_rest
integer ::= "-"? ("0" | [1-9] [0-9]{0,29})
number ::= integer ("." [0-9]{1,30})? ([Ee] [+\-]? [0-9]{1,2})?
any ::= string | number | object | array | "true" | "false" | "null"
object ::= "{" (ws string ws ":" ws any (ws "," ws string ws ":" ws any)*)? ws "}"
array ::= "[" (ws any (ws "," ws any)*)? ws "]"
)EBNF";

bool number_of(SchemaValue value, double& out) {
  return value.is_number() && value.get(out) == simdjson::SUCCESS;
}

bool is_whole_number(SchemaValue value) {
  double d = 0;
  return value.is_int64() || value.is_uint64() ||
         (number_of(value, d) && d == static_cast<double>(static_cast<int64_t>(d > -9e18 && d < 9e18 ? d : 0)));
}

bool has_type(SchemaValue value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "null") return value.is_null();
  return type == "integer" ? is_whole_number(value) : value.is_number();
}

// Whether two JSON values may be equal; true where it is not certain.
bool may_equal(SchemaValue a, SchemaValue b) {
  double x = 0, y = 0;
  if (number_of(a, x) || number_of(b, y)) return number_of(a, x) && number_of(b, y) && x == y;
  if (a.type() != b.type()) return false;
  if (a.is_string() || a.is_bool()) return simdjson::minify(a) == simdjson::minify(b);
  return true;
}

}  // namespace

StatusOr<std::string> json_schema_to_ebnf(std::string_view schema) {
  if (schema.size() > kLargestSchema) {
    return invalid_argument("the schema has " + std::to_string(schema.size()) + " bytes; at most " +
                            std::to_string(kLargestSchema) + " are taken");
  }
  simdjson::dom::parser parser;
  SchemaValue root;
  if (parser.allocate(schema.size() + 1, kDeepestSchema) != simdjson::SUCCESS) return resource_exhausted("no memory");
  if (const auto error = parser.parse(schema.data(), schema.size()).get(root); error != simdjson::SUCCESS) {
    if (error == simdjson::DEPTH_ERROR) {
      return invalid_argument("the schema nests deeper than " + std::to_string(kDeepestSchema) + " levels");
    }
    return invalid_argument(std::string("the schema is not JSON: ") + simdjson::error_message(error));
  }
  return SchemaCompiler(root).compile();
}

size_t SchemaCompiler::place(SchemaValue schema, const std::string& pointer) {
  const auto [found, added] = place_of_.emplace(pointer, places_.size());
  if (added) places_.push_back({schema, pointer, {}, false});
  return found->second;
}

StatusOr<std::string> SchemaCompiler::compile() {
  place(root_, "#");
  std::string rules;
  // Places found on the way join the end of the list. They move when it grows, so a copy is worked on.
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_.size() > kMostPlaces) {
      return invalid_argument("the schema has more than " + std::to_string(kMostPlaces) + " parts");
    }
    StatusOr<Body> body = body_of(Place(places_[i]));
    if (!body.ok()) return body.status();
    rules += rule_of(i) + " ::= " + body->ebnf + "\n";
    places_[i].body = std::move(*body);
    if (rules.size() + extra_rules_.size() > kLargestGrammar) {
      return schema_error(places_[i].pointer, "the grammar for the schema becomes too large");
    }
  }
  if (Status s = check_whole(); !s.ok()) return s;
  return "root ::= " + rule_of(0) + "\n" + rules + extra_rules_ + "plain ::= " + plain_in_json_string().ebnf() +
         std::string(kJsonRules);
}

// A place that cannot become whole would lead an output into a text without end.
Status SchemaCompiler::check_whole() {
  for (bool changed = true; changed;) {
    changed = false;
    for (Place& p : places_) {
      if (p.whole) continue;
      p.whole = std::any_of(p.body.needs.begin(), p.body.needs.end(), [&](const auto& all) {
        return std::all_of(all.begin(), all.end(), [&](size_t i) { return places_[i].whole; });
      });
      changed |= p.whole;
    }
  }
  for (const Place& p : places_) {
    if (!p.whole) return schema_error(p.pointer, "no value can satisfy it: it always needs another of itself inside");
  }
  return ok_status();
}

StatusOr<SchemaCompiler::Body> SchemaCompiler::body_of(const Place& place) {
  bool constant = false;
  if (place.schema.get(constant) == simdjson::SUCCESS) {
    if (constant) return Body{"any", {{}}};
    return schema_error(place.pointer, "false allows no value");
  }
  StatusOr<SchemaNode> node = SchemaNode::read(place.schema, place.pointer);
  if (!node.ok()) return node.status();
  if (node->has("$ref")) return reference(*node);
  for (const std::string_view keyword : {"const", "enum"}) {
    if (node->has(keyword)) return values(*node, keyword);
  }
  for (const std::string_view keyword : {"anyOf", "oneOf", "allOf"}) {
    if (node->has(keyword)) return alternatives(*node, keyword);
  }
  const StatusOr<std::vector<std::string_view>> types = node->types();
  if (!types.ok()) return types.status();
  if (types->empty()) return Body{"any", {{}}};
  Body all;
  for (const std::string_view type : *types) {
    StatusOr<Body> one = type_body(*node, type);
    if (!one.ok()) return one.status();
    all.ebnf += (all.ebnf.empty() ? "" : " | ") + one->ebnf;
    all.needs.insert(all.needs.end(), one->needs.begin(), one->needs.end());
  }
  return all;
}

StatusOr<SchemaCompiler::Body> SchemaCompiler::type_body(const SchemaNode& node, std::string_view type) {
  if (type == "object") return object(node);
  if (type == "array") return array(node);
  if (type == "string") return string(node);
  if (type == "number" || type == "integer") return number(node, type == "integer");
  if (type == "boolean") return Body{"\"true\" | \"false\"", {{}}};
  return Body{"\"null\"", {{}}};
}

StatusOr<SchemaCompiler::Body> SchemaCompiler::reference(const SchemaNode& node) {
  if (Status s = node.allow_only({"$ref"}, "$ref"); !s.ok()) return s;
  std::string_view uri;
  if (node.find("$ref")->get(uri) != simdjson::SUCCESS)
    return schema_error(node.pointer_of("$ref"), "it must be a string");
  const StatusOr<SchemaValue> target = resolve(uri, node.pointer_of("$ref"));
  if (!target.ok()) return target.status();
  const size_t to = place(*target, std::string(uri));
  return Body{rule_of(to), {{to}}};
}

StatusOr<SchemaValue> SchemaCompiler::resolve(std::string_view reference, const std::string& pointer) const {
  if (!reference.starts_with('#')) {
    return schema_error(pointer, "'" + std::string(reference.substr(0, 100)) +
                                     "' is outside the schema; only references that begin with # are followed");
  }
  SchemaValue at = root_;
  if (reference == "#") return at;
  // simdjson's own JSON pointer, after the percent signs of a URI.
  std::string path;
  for (size_t i = 1; i < reference.size(); ++i) {
    unsigned code = 0;
    const char* digits = reference.data() + i + 1;
    if (reference[i] == '%' && i + 2 < reference.size() &&
        std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
      path += static_cast<char>(code);
      i += 2;
    } else {
      path += reference[i];
    }
  }
  if (!path.starts_with('/') || root_.at_pointer(path).get(at) != simdjson::SUCCESS) {
    return schema_error(pointer, "'" + std::string(reference.substr(0, 100)) + "' points at nothing in the schema");
  }
  return at;
}

StatusOr<SchemaCompiler::Body> SchemaCompiler::values(const SchemaNode& node, std::string_view keyword) {
  if (Status s = node.allow_only({keyword, "type"}, keyword); !s.ok()) return s;
  std::vector<SchemaValue> all;
  const SchemaValue given = *node.find(keyword);
  if (keyword == "const") {
    all.push_back(given);
  } else {
    simdjson::dom::array list;
    if (given.get(list) != simdjson::SUCCESS) return schema_error(node.pointer_of("enum"), "it must be an array");
    if (list.size() > kMostValues) {
      return schema_error(node.pointer_of("enum"), "it has " + std::to_string(list.size()) + " values; at most " +
                                                       std::to_string(kMostValues) + " are taken");
    }
    all.assign(list.begin(), list.end());
  }
  if (node.has("type")) {
    const StatusOr<std::vector<std::string_view>> types = node.types();
    if (!types.ok()) return types.status();
    std::erase_if(all, [&](SchemaValue v) {
      return std::none_of(types->begin(), types->end(), [&](std::string_view t) { return has_type(v, t); });
    });
  }
  if (all.empty()) return schema_error(node.pointer_of(keyword), "it leaves no value");
  Body body;
  for (const SchemaValue value : all) {
    body.ebnf += (body.ebnf.empty() ? "" : " | ") + ebnf_literal(std::string(simdjson::minify(value)));
  }
  body.needs = {{}};
  return body;
}

StatusOr<SchemaCompiler::Body> SchemaCompiler::alternatives(const SchemaNode& node, std::string_view keyword) {
  if (Status s = node.allow_only({keyword}, keyword); !s.ok()) return s;
  const std::string pointer = node.pointer_of(keyword);
  simdjson::dom::array list;
  if (node.find(keyword)->get(list) != simdjson::SUCCESS || list.size() == 0) {
    return schema_error(pointer, "it must be an array of schemas that is not empty");
  }
  if (keyword == "allOf" && list.size() != 1) {
    return schema_error(pointer, "several schemas at once cannot be kept by a grammar; merge them into one");
  }
  Body body;
  std::vector<SchemaValue> before;
  for (const SchemaValue item : list) {
    for (size_t j = 0; keyword == "oneOf" && j < before.size(); ++j) {
      if (disjoint(before[j], item, 0)) continue;
      return schema_error(pointer, "alternatives " + std::to_string(j) + " and " + std::to_string(before.size()) +
                                       " may both match a value, and exactly one must; give both a required property "
                                       "with a different const, or write anyOf");
    }
    const size_t to = place(item, pointer + '/' + std::to_string(before.size()));
    body.ebnf += (body.ebnf.empty() ? "" : " | ") + rule_of(to);
    body.needs.push_back({to});
    before.push_back(item);
    if (before.size() > kMostPlaces) return schema_error(pointer, "it has too many alternatives");
  }
  return body;
}

std::optional<SchemaValue> SchemaCompiler::follow(SchemaValue schema) const {
  for (int i = 0; i < kFollowed; ++i) {
    std::string_view uri;
    if (!schema.is_object()) return std::nullopt;
    if (schema.at_key("$ref").get(uri) != simdjson::SUCCESS) return schema;
    const StatusOr<SchemaValue> next = resolve(uri, "#");
    if (!next.ok()) return std::nullopt;
    schema = *next;
  }
  return std::nullopt;
}

bool SchemaCompiler::disjoint(SchemaValue a, SchemaValue b, int depth) const {
  const auto first = follow(a), second = follow(b);
  if (!first || !second) return false;
  const auto values_of = [](SchemaValue schema) {
    std::vector<SchemaValue> values;
    SchemaValue one;
    simdjson::dom::array list;
    if (schema.at_key("const").get(one) == simdjson::SUCCESS)
      values.push_back(one);
    else if (schema.at_key("enum").get(list) == simdjson::SUCCESS)
      values.assign(list.begin(), list.end());
    return values;
  };
  const std::vector<SchemaValue> x = values_of(*first), y = values_of(*second);
  if (!x.empty() && !y.empty()) {
    return std::none_of(x.begin(), x.end(), [&](SchemaValue v) {
      return std::any_of(y.begin(), y.end(), [&](SchemaValue w) { return may_equal(v, w); });
    });
  }
  const StatusOr<SchemaNode> left = SchemaNode::read(*first, "#"), right = SchemaNode::read(*second, "#");
  // Only a "type" that is written down keeps other values out.
  const auto typed = [](const StatusOr<SchemaNode>& n) { return n.ok() && n->has("type"); };
  if ((x.empty() && !typed(left)) || (y.empty() && !typed(right))) return false;
  const auto types_of = [&](const StatusOr<SchemaNode>& n) {
    const StatusOr<std::vector<std::string_view>> types =
        typed(n) ? n->types() : StatusOr<std::vector<std::string_view>>(std::vector<std::string_view>());
    return types.ok() ? *types : std::vector<std::string_view>();
  };
  const std::vector<std::string_view> left_types = types_of(left), right_types = types_of(right);
  const auto types_meet = [](std::string_view s, std::string_view t) {
    return s == t || (s == "integer" && t == "number") || (s == "number" && t == "integer");
  };
  const auto apart = [&](const std::vector<SchemaValue>& values, const std::vector<std::string_view>& types) {
    return !types.empty() && std::none_of(values.begin(), values.end(), [&](SchemaValue v) {
      return std::any_of(types.begin(), types.end(), [&](std::string_view t) { return has_type(v, t); });
    });
  };
  if (!x.empty()) return apart(x, right_types);
  if (!y.empty()) return apart(y, left_types);
  if (left_types.empty() || right_types.empty()) return false;
  bool meet = false;
  for (const std::string_view s : left_types) {
    for (const std::string_view t : right_types) {
      if (!types_meet(s, t)) continue;
      if (s != "object") return false;
      meet = true;
    }
  }
  if (!meet) return true;
  if (depth >= kLookedInto) return false;
  simdjson::dom::array required, other;
  simdjson::dom::object mine, theirs;
  if (first->at_key("required").get(required) != simdjson::SUCCESS ||
      second->at_key("required").get(other) != simdjson::SUCCESS ||
      first->at_key("properties").get(mine) != simdjson::SUCCESS ||
      second->at_key("properties").get(theirs) != simdjson::SUCCESS) {
    return false;
  }
  return std::any_of(required.begin(), required.end(), [&](SchemaValue name) {
    std::string_view key;
    SchemaValue left_value, right_value;
    const bool both = name.get(key) == simdjson::SUCCESS && std::any_of(other.begin(), other.end(), [&](SchemaValue o) {
                        std::string_view text;
                        return o.get(text) == simdjson::SUCCESS && text == key;
                      });
    return both && mine.at_key(key).get(left_value) == simdjson::SUCCESS &&
           theirs.at_key(key).get(right_value) == simdjson::SUCCESS && disjoint(left_value, right_value, depth + 1);
  });
}

}  // namespace inferens
