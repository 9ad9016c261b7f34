// The tools of a request, as far as reading calls of them needs it: names, and which parameters are strings.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "inferens/status.h"

namespace inferens {

class ToolSet {
 public:
  // tools_json: an array of {"type":"function","function":{"name","parameters":a JSON Schema}}.
  static StatusOr<std::shared_ptr<const ToolSet>> parse(const std::string& tools_json);

  bool knows(std::string_view name) const { return tools_.find(name) != tools_.end(); }
  // Formats without quotes cannot tell "5" from 5; the schema can. False where it does not say.
  bool is_string(std::string_view name, std::string_view parameter) const;

 private:
  using Parameters = std::map<std::string, bool, std::less<>>;  // is it a string?
  std::map<std::string, Parameters, std::less<>> tools_;
};

}  // namespace inferens
