// A schema as it is read: its members by name, checked against the keywords that are known.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inferens/status.h"

namespace inferens {

using SchemaValue = simdjson::dom::element;

// "#/a~1b/0": a pointer with one more step.
std::string pointer_to(const std::string& pointer, std::string_view step);
Status schema_error(const std::string& pointer, const std::string& what);

class SchemaNode {
 public:
  // value: a JSON object. Refuses members that are given twice, that are not known, and those that cannot be kept.
  static StatusOr<SchemaNode> read(SchemaValue value, const std::string& pointer);

  std::optional<SchemaValue> find(std::string_view keyword) const;
  bool has(std::string_view keyword) const { return find(keyword).has_value(); }
  const std::string& pointer() const { return pointer_; }
  std::string pointer_of(std::string_view keyword) const { return pointer_to(pointer_, keyword); }

  // The types that it may have by "type", or by the keywords that make sense for one type only.
  StatusOr<std::vector<std::string_view>> types() const;
  // Refuses every keyword that restricts, other than these.
  Status allow_only(std::initializer_list<std::string_view> keywords, std::string_view beside) const;

  // A count such as minLength: absent gives the fallback.
  StatusOr<int64_t> count(std::string_view keyword, int64_t fallback, int64_t most) const;

 private:
  std::string pointer_;
  std::vector<std::pair<std::string_view, SchemaValue>> members_;  // those that restrict
};

}  // namespace inferens
