// The input of the Responses API: items become messages, tool calls and tool answers.
#include "serve/api/messages.h"
#include "serve/api/responses_call.h"

namespace inferens {
namespace {

constexpr size_t kMostItems = 10'000;

struct Item {
  std::string type = "message";
  ChatMessage message;
  ToolCall call;
};
using ItemField = Field<Item>;

Refusal take_parts(Json value, std::string& text) {
  if (value.is_string()) {
    text = text_of(value);
    return {};
  }
  struct Part {
    std::string text;
  };
  static constexpr Field<Part> kFields[] = {
      {{.name = "type", .kinds = kString, .required = true}},
      {{.name = "text", .kinds = kString}, [](Json v, Part& p) -> Refusal { p.text = text_of(v); return {}; }},
      {{.name = "refusal", .kinds = kString}, [](Json v, Part& p) -> Refusal { p.text = text_of(v); return {}; }},
      {{.name = "annotations", .kinds = kArray, .treatment = Treatment::kEcho}},
      {{.name = "logprobs", .kinds = kArray, .treatment = Treatment::kEcho}},
      {{.name = "prompt_cache_breakpoint", .kinds = kObject, .treatment = Treatment::kEcho}},
  };
  static constexpr std::span<const Field<Part>> kTables[] = {kFields};
  for (const Json item : value.get_array()) {
    simdjson::dom::object object;
    if (item.get(object) != simdjson::SUCCESS) return bad_field("", "invalid_type", "content parts must be objects");
    std::string_view type;
    if (object["type"].get(type) == simdjson::SUCCESS && type != "input_text" && type != "output_text" && type != "refusal" && type != "text") {
      return unsupported_field("", "only text models are served, so content parts must be of type input_text, output_text or refusal");
    }
    Part part;
    if (Refusal r = parse_fields<Part>(object, kTables, "content.", false, part)) return r;
    text += part.text;
  }
  return {};
}

Refusal take_role(Json value, Item& item) {
  item.message.role = text_of(value);
  if (item.message.role == "developer") item.message.role = "system";
  if (item.message.role == "system" || item.message.role == "user" || item.message.role == "assistant") return {};
  return bad_field("", "invalid_value", "the role of an input message must be user, assistant, system or developer");
}

Refusal take_type(Json v, Item& item) {
  item.type = text_of(v);
  return {};
}

constexpr ItemField kMessageFields[] = {
    {{.name = "type", .kinds = kString}, take_type},
    {{.name = "role", .kinds = kString, .required = true}, take_role},
    {{.name = "content", .kinds = kString | kArray, .required = true}, [](Json v, Item& i) -> Refusal { return take_parts(v, i.message.content); }},
    {{.name = "id", .kinds = kString, .treatment = Treatment::kEcho}},
    {{.name = "status", .kinds = kString, .treatment = Treatment::kEcho}},
    {{.name = "phase", .kinds = kString, .treatment = Treatment::kEcho}},
};
constexpr ItemField kCallFields[] = {
    {{.name = "type", .kinds = kString, .required = true}, take_type},
    {{.name = "call_id", .kinds = kString, .required = true}, [](Json v, Item& i) -> Refusal { i.call.id = text_of(v); return {}; }},
    {{.name = "name", .kinds = kString, .required = true}, [](Json v, Item& i) -> Refusal { i.call.name = text_of(v); return {}; }},
    {{.name = "arguments", .kinds = kString, .required = true}, [](Json v, Item& i) -> Refusal { i.call.arguments_json = text_of(v); return {}; }},
    {{.name = "id", .kinds = kString, .treatment = Treatment::kEcho}},
    {{.name = "status", .kinds = kString, .treatment = Treatment::kEcho}},
};
constexpr ItemField kOutputFields[] = {
    {{.name = "type", .kinds = kString, .required = true}, take_type},
    {{.name = "call_id", .kinds = kString, .required = true}, [](Json v, Item& i) -> Refusal { i.message.tool_call_id = text_of(v); return {}; }},
    {{.name = "output", .kinds = kString | kArray, .required = true}, [](Json v, Item& i) -> Refusal { i.message.role = "tool"; return take_parts(v, i.message.content); }},
    {{.name = "id", .kinds = kString, .treatment = Treatment::kEcho}},
    {{.name = "status", .kinds = kString, .treatment = Treatment::kEcho}},
};

Refusal take_item(simdjson::dom::object object, const std::string& place, std::vector<ChatMessage>& messages) {
  std::string_view type = "message";
  if (object["type"].get(type) != simdjson::SUCCESS) type = "message";
  std::span<const ItemField> fields = kMessageFields;
  if (type == "function_call") fields = kCallFields;
  else if (type == "function_call_output") fields = kOutputFields;
  else if (type != "message") return unsupported_field(place, "input items of type message, function_call and function_call_output are");
  const std::span<const ItemField> tables[] = {fields};
  Item item;
  if (Refusal r = parse_fields<Item>(object, tables, place + ".", false, item)) return r;
  if (type != "function_call") {
    messages.push_back(std::move(item.message));
    return {};
  }
  // Calls that follow each other belong to one turn of the assistant.
  if (messages.empty() || messages.back().role != "assistant") {
    messages.push_back(text_message("assistant", ""));
    messages.back().has_content = false;
  }
  messages.back().tool_calls.push_back(std::move(item.call));
  return {};
}

}  // namespace

Refusal take_responses_input(Json value, std::vector<ChatMessage>& messages) {
  if (value.is_string()) {
    messages.push_back(text_message("user", std::string(text_of(value))));
    return {};
  }
  const simdjson::dom::array list = value.get_array();
  if (list.size() > kMostItems) return bad_field("input", "array_above_max_length", "'input' has more than 10000 items");
  size_t i = 0;
  for (const Json item : list) {
    const std::string place = "input[" + std::to_string(i++) + "]";
    simdjson::dom::object object;
    if (item.get(object) != simdjson::SUCCESS) return bad_field(place, "invalid_type", "'" + place + "' must be an object");
    if (Refusal r = take_item(object, place, messages)) return r;
  }
  return {};
}

}  // namespace inferens
