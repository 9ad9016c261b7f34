// The walk over a schema: one grammar rule for every place that is used, made from a work list, so that neither nesting
// nor recursive references can exhaust the stack. schema_compiler.cc has what all types share, schema_object.cc and
// schema_values.cc the types.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/grammar/schema_node.h"
#include "inferens/status.h"

namespace inferens {

class SchemaCompiler {
 public:
  explicit SchemaCompiler(SchemaValue root) : root_(root) {}
  StatusOr<std::string> compile();

 private:
  // What stands right of "::=". needs: the places without which no value is whole, one list for each alternative; a
  // place all of whose alternatives need a place that can never be whole is never whole itself.
  struct Body {
    std::string ebnf;
    std::vector<std::vector<size_t>> needs;
  };
  struct Place {
    SchemaValue schema;
    std::string pointer;
    Body body;
    bool whole = false;
  };

  size_t place(SchemaValue schema, const std::string& pointer);
  static std::string rule_of(size_t place) { return "s" + std::to_string(place); }
  StatusOr<Body> body_of(const Place& place);
  StatusOr<Body> type_body(const SchemaNode& node, std::string_view type);
  StatusOr<Body> reference(const SchemaNode& node);
  StatusOr<SchemaValue> resolve(std::string_view reference, const std::string& pointer) const;
  StatusOr<Body> values(const SchemaNode& node, std::string_view keyword);
  StatusOr<Body> alternatives(const SchemaNode& node, std::string_view keyword);
  StatusOr<Body> string(const SchemaNode& node);
  StatusOr<Body> number(const SchemaNode& node, bool integer);
  StatusOr<Body> multiples(const SchemaNode& node);
  StatusOr<Body> array(const SchemaNode& node);
  StatusOr<Body> object(const SchemaNode& node);

  struct Properties;
  Status read_properties(const SchemaNode& node, Properties& out);
  Status read_open_properties(const SchemaNode& node, Properties& out);
  StatusOr<std::string> property_names(const SchemaNode& node);
  Status property_rules(const SchemaNode& node, const Properties& properties, Body& body);
  std::string key_rule_without(const std::vector<std::string>& names);

  // Whether no value can match both. False where that is not certain. depth: of properties looked into.
  bool disjoint(SchemaValue a, SchemaValue b, int depth) const;
  std::optional<SchemaValue> follow(SchemaValue schema) const;
  Status check_whole();

  SchemaValue root_;
  std::vector<Place> places_;
  std::map<std::string, size_t, std::less<>> place_of_;
  std::string extra_rules_;
  size_t extra_count_ = 0;
};

}  // namespace inferens
