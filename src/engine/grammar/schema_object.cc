// Objects of a schema. Properties come in the order of the schema; which of the optional ones are there is a path
// through rules "property i, with c properties before it".
#include <algorithm>
#include <map>
#include <utility>

#include "base/utf8.h"
#include "engine/grammar/ebnf.h"
#include "engine/grammar/regex_check.h"
#include "engine/grammar/schema_compiler.h"

namespace inferens {
namespace {

constexpr size_t kMostProperties = 1000;
constexpr int64_t kMostCounted = 10'000;  // rules for one object
constexpr size_t kLongestNames = 20'000;  // bytes of the names that other names must differ from

std::string quoted_json(std::string_view text) {
  std::string out = "\"";
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4U];
      out += kHex[static_cast<unsigned char>(c) & 15U];
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

struct SchemaCompiler::Properties {
  struct Property {
    std::string name;
    size_t place = 0;
    bool required = false;
  };
  std::vector<Property> named;
  bool open = false;          // others may follow
  std::string key;            // rule of their names
  std::string value = "any";  // rule of their values
  std::optional<size_t> value_place;
  int64_t least = 0, most = -1;
};

Status SchemaCompiler::read_properties(const SchemaNode& node, Properties& out) {
  if (const auto given = node.find("properties")) {
    simdjson::dom::object list;
    if (given->get(list) != simdjson::SUCCESS)
      return schema_error(node.pointer_of("properties"), "it must be an object");
    if (list.size() > kMostProperties)
      return schema_error(node.pointer_of("properties"),
                          "it has more than " + std::to_string(kMostProperties) + " properties");
    for (const auto [name, schema] : list) {
      const std::string pointer = pointer_to(node.pointer_of("properties"), name);
      const bool twice = std::any_of(out.named.begin(), out.named.end(), [n = name](auto& p) { return p.name == n; });
      if (twice) return schema_error(pointer, "it is given twice");
      out.named.push_back({std::string(name), place(schema, pointer), false});
    }
  }
  StatusOr<int64_t> least = node.count("minProperties", 0, kMostCounted),
                    most = node.count("maxProperties", -1, kMostCounted);
  if (!least.ok()) return least.status();
  if (!most.ok()) return most.status();
  out.least = *least;
  out.most = *most;
  return ok_status();
}

// patternProperties, propertyNames, additionalProperties: names that the schema does not spell out.
Status SchemaCompiler::read_open_properties(const SchemaNode& node, Properties& out) {
  const auto additional = node.find("additionalProperties");
  bool constant = false;
  const bool is_constant = additional && additional->get(constant) == simdjson::SUCCESS;
  out.open = additional ? !is_constant || constant : !node.has("properties");
  if (additional && !is_constant) out.value_place = place(*additional, node.pointer_of("additionalProperties"));
  const auto pattern = node.find("patternProperties");
  const auto names = node.find("propertyNames");
  if ((pattern || names) && (!out.named.empty() || (pattern && names))) {
    return schema_error(node.pointer_of(pattern ? "patternProperties" : "propertyNames"),
                        "beside named properties or each other it cannot be kept");
  }
  if (pattern) {
    simdjson::dom::object list;
    if (pattern->get(list) != simdjson::SUCCESS || list.size() != 1 || (additional && (!is_constant || constant))) {
      return schema_error(node.pointer_of("patternProperties"),
                          "only one pattern, with additionalProperties false, can be kept");
    }
    const auto [regex, schema] = *list.begin();
    const std::string pointer = pointer_to(node.pointer_of("patternProperties"), regex);
    const StatusOr<std::string> ebnf = regex_to_ebnf(regex, RegexUse::kJsonString);
    if (!ebnf.ok()) return schema_error(pointer, ebnf.status().message());
    out.key = "k" + std::to_string(extra_count_++);
    extra_rules_ += out.key + R"( ::= "\"" ()" + *ebnf + R"() "\"")" + "\n";
    out.value_place = place(schema, pointer);
    out.open = true;
  }
  if (names) {
    if (!out.open)
      return schema_error(node.pointer_of("propertyNames"), "there are no properties whose names it could bind");
    StatusOr<std::string> key = property_names(node);
    if (!key.ok()) return key.status();
    out.key = *key;
  }
  if (out.value_place) out.value = rule_of(*out.value_place);
  return ok_status();
}

StatusOr<std::string> SchemaCompiler::property_names(const SchemaNode& node) {
  const std::string pointer = node.pointer_of("propertyNames");
  StatusOr<SchemaNode> names = SchemaNode::read(*node.find("propertyNames"), pointer);
  if (!names.ok()) return names.status();
  if (Status s =
          names->allow_only({"type", "pattern", "format", "minLength", "maxLength", "enum", "const"}, "propertyNames");
      !s.ok())
    return s;
  const bool listed = names->has("enum") || names->has("const");
  StatusOr<Body> body = listed ? values(*names, names->has("enum") ? "enum" : "const") : string(*names);
  if (!body.ok()) return body.status();
  if (listed) {
    simdjson::dom::array list;
    const bool strings = names->has("enum") && names->find("enum")->get(list) == simdjson::SUCCESS &&
                         std::all_of(list.begin(), list.end(), [](SchemaValue v) { return v.is_string(); });
    if (!strings) return schema_error(pointer, "names are strings: write an enum of strings");
  }
  const std::string key = "k" + std::to_string(extra_count_++);
  extra_rules_ += key + " ::= " + body->ebnf + "\n";
  return key;
}

// Strings without escapes that are none of these names: a tree of the names, whose branches end in "anything else". An
// escape could spell a name in another way, so there are none.
std::string SchemaCompiler::key_rule_without(const std::vector<std::string>& names) {
  struct Node {
    std::map<char32_t, size_t> next;
    bool name = false;
  };
  std::vector<Node> tree(1);
  for (const std::string& name : names) {
    size_t at = 0;
    for (size_t i = 0; i < name.size();) {
      const CodePoint c = decode_utf8(name, i);
      i += c.length;
      const auto [found, added] = tree[at].next.emplace(c.value, tree.size());
      at = found->second;
      if (added) tree.emplace_back();
    }
    tree[at].name = true;
  }
  const CharacterSet plain = plain_in_json_string();
  const std::string prefix = "k" + std::to_string(extra_count_++) + "_";
  const std::string rest = prefix + "rest";
  extra_rules_ += rest + R"( ::= "\"" | )" + plain.ebnf() + " " + rest + "\n";
  for (size_t i = 0; i < tree.size(); ++i) {
    CharacterSet taken;
    std::string ways = tree[i].name ? "" : R"("\"" | )";
    for (const auto& [c, to] : tree[i].next) {
      taken.add(c, c);
      CharacterSet one;
      one.add(c, c);
      if (plain.contains(c)) ways += one.ebnf() + " " + prefix + std::to_string(to) + " | ";
    }
    extra_rules_ += prefix + std::to_string(i) + " ::= " + ways + plain.without(taken).ebnf() + " " + rest + "\n";
  }
  const std::string key = prefix + "key";
  extra_rules_ += key + R"( ::= "\"" )" + prefix + "0\n";
  return key;
}

StatusOr<SchemaCompiler::Body> SchemaCompiler::object(const SchemaNode& node) {
  Properties all;
  if (Status s = read_properties(node, all); !s.ok()) return s;
  if (Status s = read_open_properties(node, all); !s.ok()) return s;
  if (const auto required = node.find("required")) {
    simdjson::dom::array list;
    if (required->get(list) != simdjson::SUCCESS)
      return schema_error(node.pointer_of("required"), "it must be an array of names");
    if (list.size() > kMostProperties) return schema_error(node.pointer_of("required"), "it has too many names");
    for (const SchemaValue item : list) {
      std::string_view name;
      if (item.get(name) != simdjson::SUCCESS)
        return schema_error(node.pointer_of("required"), "it must be an array of names");
      const auto found = std::find_if(all.named.begin(), all.named.end(), [&](auto& p) { return p.name == name; });
      if (found != all.named.end()) {
        found->required = true;
      } else if (!all.open || !all.key.empty() || !all.value_place) {
        return schema_error(node.pointer_of("required"),
                            "'" + std::string(name.substr(0, 60)) + "' is not among the properties");
      } else {
        all.named.push_back({std::string(name), *all.value_place, true});
      }
    }
  }
  // Names may come twice, and count once: more than one of them cannot be demanded.
  const auto required = std::count_if(all.named.begin(), all.named.end(), [](auto& p) { return p.required; });
  if (all.open && all.least > std::max<int64_t>(1, required)) {
    return schema_error(node.pointer_of("minProperties"), "with names that are free, more than 1 cannot be kept");
  }
  if (all.open && all.key.empty()) {
    std::vector<std::string> names;
    size_t bytes = 0;
    for (const auto& p : all.named) bytes += p.name.size(), names.push_back(p.name);
    if (bytes > kLongestNames)
      return schema_error(node.pointer_of("properties"),
                          "the names are too long together for additionalProperties beside them");
    all.key = names.empty() ? "string" : key_rule_without(names);
  }
  Body body{"", {{}}};
  for (const auto& p : all.named) {
    if (p.required) body.needs[0].push_back(p.place);
  }
  if (all.value_place && all.least > required) body.needs[0].push_back(*all.value_place);
  if (Status s = property_rules(node, all, body); !s.ok()) return s;
  return body;
}

Status SchemaCompiler::property_rules(const SchemaNode& node, const Properties& all, Body& body) {
  const auto n = static_cast<int64_t>(all.named.size());
  const int64_t last = std::max<int64_t>({1, all.least, all.most});  // counts from here on are alike
  if ((n + 1) * (last + 1) > kMostCounted * 4) return schema_error(node.pointer(), "too many properties to count");
  const std::string prefix = "o" + std::to_string(extra_count_++) + "_";
  const auto rule = [&](int64_t i, int64_t c) { return prefix + std::to_string(i) + "_" + std::to_string(c); };
  const auto member = [](int64_t c, const std::string& key, const std::string& value) {
    return (c > 0 ? std::string("ws \",\" ws ") : std::string("ws ")) + key + " ws \":\" ws " + value;
  };
  // ways[c]: what may follow when the properties before i are decided and c of them are there; empty: nothing can.
  std::vector<std::string> ways(static_cast<size_t>(last) + 1), after;
  const int64_t room = all.most < 0 ? INT64_MAX : all.most;
  for (int64_t c = 0; c <= last; ++c) {
    std::string& end = ways[static_cast<size_t>(c)];
    const int64_t missing = std::max<int64_t>(0, all.least - c);
    if (c > room || (missing > 0 && !all.open)) continue;
    if (!all.open || c == room) {
      if (missing == 0) end = "\"\"";
      continue;
    }
    const auto repeated = [&](int64_t used) {
      return "(" + member(1, all.key, all.value) + "){0," + (all.most < 0 ? "" : std::to_string(room - c - used)) + "}";
    };
    const std::string one = member(c, all.key, all.value) + " " + repeated(1);
    end = missing > 0 ? one : c > 0 ? repeated(0) : "(" + one + ")?";
  }
  std::string rules;
  for (int64_t i = n; i-- > 0;) {
    after.swap(ways);
    ways.assign(after.size(), "");
    for (int64_t c = 0; c <= last; ++c) {
      if (after[static_cast<size_t>(c)].empty()) continue;
      rules += rule(i + 1, c) + " ::= " + after[static_cast<size_t>(c)] + "\n";
    }
    const auto& property = all.named[static_cast<size_t>(i)];
    for (int64_t c = 0; c <= last; ++c) {
      const int64_t next = std::min(c + 1, last);
      std::string& way = ways[static_cast<size_t>(c)];
      // Counted exactly only where there is a most, which is then `last` at most.
      if (c < room && !after[static_cast<size_t>(next)].empty()) {
        way = member(c, ebnf_literal(quoted_json(property.name)), rule_of(property.place)) + " " + rule(i + 1, next);
      }
      if (!property.required && !after[static_cast<size_t>(c)].empty())
        way += (way.empty() ? "" : " | ") + rule(i + 1, c);
    }
  }
  if (ways[0].empty()) return schema_error(node.pointer(), "minProperties, maxProperties and required leave no object");
  extra_rules_ += rules;
  body.ebnf = "\"{\" (" + ways[0] + ") ws \"}\"";
  return ok_status();
}

}  // namespace inferens
