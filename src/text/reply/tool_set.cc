#include "text/reply/tool_set.h"

#include <nlohmann/json.hpp>

namespace inferens {
namespace {

bool says_string(const nlohmann::json& schema) {
  const auto type = schema.is_object() ? schema.find("type") : schema.end();
  return schema.is_object() && type != schema.end() && type->is_string() && *type == "string";
}

}  // namespace

StatusOr<std::shared_ptr<const ToolSet>> ToolSet::parse(const std::string& tools_json) {
  const nlohmann::json tools = nlohmann::json::parse(tools_json, nullptr, false);
  if (!tools.is_array()) return invalid_argument("tools: a JSON array is needed");
  auto set = std::make_shared<ToolSet>();
  for (const nlohmann::json& tool : tools) {
    const auto function = tool.is_object() ? tool.find("function") : tool.end();
    if (!tool.is_object() || function == tool.end() || !function->is_object() || !function->contains("name") ||
        !(*function)["name"].is_string()) {
      return invalid_argument("tools: every entry needs a function with a name");
    }
    Parameters& parameters = set->tools_[(*function)["name"].get<std::string>()];
    const auto schema = function->find("parameters");
    if (schema == function->end() || !schema->is_object()) continue;
    const auto properties = schema->find("properties");
    if (properties == schema->end() || !properties->is_object()) continue;
    for (const auto& [name, property] : properties->items()) parameters[name] = says_string(property);
  }
  return std::shared_ptr<const ToolSet>(std::move(set));
}

bool ToolSet::is_string(std::string_view name, std::string_view parameter) const {
  const auto tool = tools_.find(name);
  if (tool == tools_.end()) return false;
  const auto found = tool->second.find(parameter);
  return found != tool->second.end() && found->second;
}

}  // namespace inferens
