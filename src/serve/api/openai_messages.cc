// The messages of a chat: roles, content as text or parts, and what earlier turns said about tools.
#include <algorithm>
#include <array>

#include "serve/api/openai_call.h"

namespace inferens {
namespace {

constexpr size_t kMostMessages = 10'000;

using MessageField = Field<ChatMessage>;
using ToolCallField = Field<ToolCall>;
using Part = std::pair<std::string, std::string>;  // type, text
using PartField = Field<Part>;

Refusal take_role(Json value, ChatMessage& message) {
  constexpr std::array<std::string_view, 4> kRoles = {"system", "user", "assistant", "tool"};
  message.role = text_of(value);
  if (message.role == "developer") message.role = "system";  // what templates call it
  if (std::find(kRoles.begin(), kRoles.end(), message.role) != kRoles.end()) return {};
  return bad_field("", "invalid_value", "the role must be developer, system, user, assistant or tool");
}

Refusal take_content(Json value, ChatMessage& message) {
  message.has_content = true;
  simdjson::dom::array parts;
  if (value.get(parts) != simdjson::SUCCESS) {
    message.content = text_of(value);
    return {};
  }
  static constexpr PartField kFields[] = {
      {{.name = "type", .kinds = kString, .required = true}, [](Json v, Part& p) -> Refusal {
         p.first = text_of(v);
         if (p.first == "text" || p.first == "refusal") return {};
         return unsupported_field("", "only text models are served, so content parts must be of type text or refusal");
       }},
      {{.name = "text", .kinds = kString}, [](Json v, Part& p) -> Refusal { p.second = text_of(v); return {}; }},
      {{.name = "refusal", .kinds = kString}, [](Json v, Part& p) -> Refusal { p.second = text_of(v); return {}; }},
  };
  static constexpr std::span<const PartField> kTables[] = {kFields};
  for (const Json item : parts) {
    simdjson::dom::object object;
    if (item.get(object) != simdjson::SUCCESS) return bad_field("", "invalid_type", "content parts must be objects");
    std::string_view type;
    if (object["type"].get(type) == simdjson::SUCCESS && type != "text" && type != "refusal") {
      return unsupported_field("", "only text models are served, so content parts must be of type text or refusal");
    }
    Part part;
    if (Refusal r = parse_fields<Part>(object, kTables, "content.", false, part)) return r;
    message.content += part.second;
  }
  return {};
}

Refusal take_function(Json value, ToolCall& call) {
  static constexpr ToolCallField kFields[] = {
      {{.name = "name", .kinds = kString, .required = true}, [](Json v, ToolCall& c) -> Refusal { c.name = text_of(v); return {}; }},
      {{.name = "arguments", .kinds = kString, .required = true}, [](Json v, ToolCall& c) -> Refusal { c.arguments_json = text_of(v); return {}; }},
  };
  static constexpr std::span<const ToolCallField> kTables[] = {kFields};
  return parse_fields<ToolCall>(value.get_object(), kTables, "function.", false, call);
}

Refusal take_tool_calls(Json value, ChatMessage& message) {
  static constexpr ToolCallField kFields[] = {
      {{.name = "id", .kinds = kString, .required = true}, [](Json v, ToolCall& c) -> Refusal { c.id = text_of(v); return {}; }},
      {{.name = "type", .kinds = kString}, [](Json v, ToolCall&) -> Refusal {
         if (text_of(v) == "function") return {};
         return unsupported_field("", "tool calls must be of type function");
       }},
      {{.name = "function", .kinds = kObject, .required = true}, take_function},
      {{.name = "index", .kinds = kInteger}},
  };
  static constexpr std::span<const ToolCallField> kTables[] = {kFields};
  for (const Json item : value.get_array()) {
    simdjson::dom::object object;
    if (item.get(object) != simdjson::SUCCESS) return bad_field("", "invalid_type", "tool_calls must be objects");
    if (Refusal r = parse_fields<ToolCall>(object, kTables, "tool_calls.", false, message.tool_calls.emplace_back())) return r;
  }
  return {};
}

constexpr MessageField kMessageFields[] = {
    {{.name = "role", .kinds = kString, .required = true}, take_role},
    {{.name = "content", .kinds = kString | kArray}, take_content},
    {{.name = "name", .kinds = kString}, [](Json v, ChatMessage& m) -> Refusal { m.name = text_of(v); return {}; }},
    {{.name = "refusal", .kinds = kString}, [](Json v, ChatMessage& m) -> Refusal { if (!m.has_content) m.content = text_of(v); m.has_content = true; return {}; }},
    {{.name = "reasoning_content", .kinds = kString}, [](Json v, ChatMessage& m) -> Refusal { m.reasoning_content = text_of(v); return {}; }},
    {{.name = "tool_calls", .kinds = kArray}, take_tool_calls},
    {{.name = "tool_call_id", .kinds = kString}, [](Json v, ChatMessage& m) -> Refusal { m.tool_call_id = text_of(v); return {}; }},
    {{.name = "annotations", .kinds = kArray, .treatment = Treatment::kEcho}},
    {{.name = "audio", .treatment = Treatment::kRefuse}},
    {{.name = "function_call", .treatment = Treatment::kRefuse, .note = "use tool_calls"}},
};
constexpr std::span<const MessageField> kMessageTables[] = {kMessageFields};

}  // namespace

Refusal take_messages(Json value, OpenAiCall& call) {
  const simdjson::dom::array list = value.get_array();
  if (list.size() == 0) return bad_field("messages", "empty_array", "'messages' is empty; give at least one message");
  if (list.size() > kMostMessages) return bad_field("messages", "array_above_max_length", "'messages' has more than 10000 entries");
  size_t i = 0;
  for (const Json item : list) {
    const std::string place = "messages[" + std::to_string(i++) + "]";
    simdjson::dom::object object;
    if (item.get(object) != simdjson::SUCCESS) return bad_field(place, "invalid_type", "'" + place + "' must be an object");
    ChatMessage& message = call.chat.messages.emplace_back();
    message.has_content = false;
    if (Refusal r = parse_fields<ChatMessage>(object, kMessageTables, place + ".", false, message)) return r;
    if (!message.has_content && message.tool_calls.empty()) {
      return bad_field(place + ".content", "missing_required_parameter", "'" + place + "' has no content");
    }
    if (message.role == "tool" && message.tool_call_id.empty()) {
      return bad_field(place + ".tool_call_id", "missing_required_parameter", "'" + place + "' is a tool's answer and names no tool_call_id");
    }
  }
  return {};
}

Refusal check_messages_against(const Generator& generator, const ChatPrompt& chat) {
  const ChatTemplate* const chat_template = generator.chat_template();
  if (chat_template == nullptr) return {};  // the generator says why
  const bool knows_tools = chat_template->source().find("tool") != std::string::npos;
  for (size_t i = 0; i < chat.messages.size() && !knows_tools; ++i) {
    const ChatMessage& message = chat.messages[i];
    if (message.role != "tool" && message.tool_calls.empty()) continue;
    return unsupported_field("messages[" + std::to_string(i) + "]", "this model's chat template does not know tools, so the message would be lost");
  }
  return {};
}

}  // namespace inferens
