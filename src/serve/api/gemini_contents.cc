// Gemini's contents: roles, and parts that become text, tool calls and tool answers.
#include "serve/api/gemini_call.h"
#include "serve/api/messages.h"

namespace inferens {
namespace {

constexpr size_t kMostContents = 10'000;
constexpr std::string_view kTextOnly = "only text models are served";

struct Part {
  bool has_text = false;
  bool thought = false;
  std::string text;
  ToolCall call;             // functionCall, when it has a name
  std::string response_name; // functionResponse
  std::string response_id;
  std::string response;
};
using PartField = Field<Part>;

Refusal take_function_call(Json value, Part& part) {
  static constexpr Field<ToolCall> kFields[] = {
      {{.name = "name", .kinds = kString, .required = true}, [](Json v, ToolCall& c) -> Refusal { c.name = text_of(v); return {}; }},
      {{.name = "args", .kinds = kObject}, [](Json v, ToolCall& c) -> Refusal { c.arguments_json = simdjson::minify(v); return {}; }},
      {{.name = "id", .kinds = kString}, [](Json v, ToolCall& c) -> Refusal { c.id = text_of(v); return {}; }},
  };
  static constexpr std::span<const Field<ToolCall>> kTables[] = {kFields};
  part.call.arguments_json = "{}";
  return parse_fields<ToolCall>(value.get_object(), kTables, "functionCall.", false, part.call, camel_case);
}

Refusal take_function_response(Json value, Part& part) {
  static constexpr PartField kFields[] = {
      {{.name = "name", .kinds = kString, .required = true}, [](Json v, Part& p) -> Refusal { p.response_name = text_of(v); return {}; }},
      {{.name = "response", .kinds = kObject, .required = true}, [](Json v, Part& p) -> Refusal { p.response = simdjson::minify(v); return {}; }},
      {{.name = "id", .kinds = kString}, [](Json v, Part& p) -> Refusal { p.response_id = text_of(v); return {}; }},
      {{.name = "willContinue", .treatment = Treatment::kRefuse, .harmless = "false"}},
      {{.name = "scheduling", .treatment = Treatment::kRefuse}},
      {{.name = "parts", .treatment = Treatment::kRefuse, .note = kTextOnly, .harmless = "[]"}},
  };
  static constexpr std::span<const PartField> kTables[] = {kFields};
  return parse_fields<Part>(value.get_object(), kTables, "functionResponse.", false, part, camel_case);
}

constexpr PartField kPartFields[] = {
    {{.name = "text", .kinds = kString}, [](Json v, Part& p) -> Refusal { p.text = text_of(v); p.has_text = true; return {}; }},
    {{.name = "thought", .kinds = kBoolean}, [](Json v, Part& p) -> Refusal { p.thought = boolean_of(v); return {}; }},
    {{.name = "thoughtSignature", .kinds = kString, .treatment = Treatment::kEcho}},
    {{.name = "functionCall", .kinds = kObject}, take_function_call},
    {{.name = "functionResponse", .kinds = kObject}, take_function_response},
    {{.name = "inlineData", .treatment = Treatment::kRefuse, .note = kTextOnly}},
    {{.name = "fileData", .treatment = Treatment::kRefuse, .note = kTextOnly}},
    {{.name = "executableCode", .treatment = Treatment::kRefuse, .note = "this server runs no code"}},
    {{.name = "codeExecutionResult", .treatment = Treatment::kRefuse, .note = "this server runs no code"}},
    {{.name = "videoMetadata", .treatment = Treatment::kRefuse, .note = kTextOnly}},
};
constexpr std::span<const PartField> kPartTables[] = {kPartFields};

struct Content {
  std::string role = "user";
  std::optional<Json> parts;
};
using ContentField = Field<Content>;

Refusal take_role(Json value, Content& content) {
  content.role = text_of(value);
  if (content.role == "user" || content.role == "model" || content.role == "function" || content.role == "system") return {};
  return bad_field("", "invalid_value", "Please use a valid role: user, model.");
}

constexpr ContentField kContentFields[] = {
    {{.name = "role", .kinds = kString}, take_role},
    {{.name = "parts", .kinds = kArray | kObject, .required = true}, [](Json v, Content& c) -> Refusal { c.parts = v; return {}; }},
};
constexpr std::span<const ContentField> kContentTables[] = {kContentFields};

Refusal take_parts(Json value, const std::string& place, std::vector<Part>& parts) {
  const auto take_one = [&](Json item, const std::string& at) -> Refusal {
    simdjson::dom::object object;
    if (item.get(object) != simdjson::SUCCESS) return bad_field(at, "invalid_type", "'" + at + "' must be an object");
    Part& part = parts.emplace_back();
    if (Refusal r = parse_fields<Part>(object, kPartTables, at + ".", false, part, camel_case)) return r;
    if (!part.has_text && part.call.name.empty() && part.response_name.empty()) return bad_field(at, "missing_required_parameter", "'" + at + "' has no text, functionCall or functionResponse");
    return {};
  };
  if (value.is_object()) return take_one(value, place + ".parts");
  size_t i = 0;
  for (const Json item : value.get_array()) {
    if (Refusal r = take_one(item, place + ".parts[" + std::to_string(i++) + "]")) return r;
  }
  if (parts.empty()) return bad_field(place + ".parts", "empty_array", "'" + place + ".parts' is empty; give at least one part");
  return {};
}

Refusal take_content(Json value, const std::string& place, Content& content, std::vector<Part>& parts) {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return bad_field(place, "invalid_type", "'" + place + "' must be an object");
  if (Refusal r = parse_fields<Content>(object, kContentTables, place + ".", false, content, camel_case)) return r;
  return take_parts(*content.parts, place, parts);
}

void append(const std::string& role, std::vector<Part>& parts, std::vector<ChatMessage>& messages) {
  ChatMessage message = text_message(role == "model" ? "assistant" : role == "system" ? "system" : "user", "");
  message.has_content = false;
  for (Part& part : parts) {
    if (!part.response_name.empty()) {
      ChatMessage answer = text_message("tool", std::move(part.response));
      answer.name = std::move(part.response_name);
      answer.tool_call_id = std::move(part.response_id);
      messages.push_back(std::move(answer));
    } else if (!part.call.name.empty()) {
      message.tool_calls.push_back(std::move(part.call));
    } else if (part.thought) {
      message.reasoning_content += part.text;
    } else {
      message.content += part.text;
      message.has_content = true;
    }
  }
  if (message.has_content || !message.tool_calls.empty() || !message.reasoning_content.empty()) messages.push_back(std::move(message));
}

}  // namespace

Refusal take_gemini_text(Json value, const std::string& place, std::string& text) {
  if (value.is_string()) {
    text += text_of(value);
    return {};
  }
  Content content;
  std::vector<Part> parts;
  if (Refusal r = take_content(value, place, content, parts)) return r;
  for (const Part& part : parts) {
    if (!part.has_text) return bad_field(place, "invalid_value", "'" + place + "' must be text");
    text += part.text;
  }
  return {};
}

Refusal take_gemini_contents(Json value, const std::string& place, std::vector<ChatMessage>& messages) {
  const auto take_one = [&](Json item, const std::string& at) -> Refusal {
    Content content;
    std::vector<Part> parts;
    if (Refusal r = take_content(item, at, content, parts)) return r;
    append(content.role, parts, messages);
    return {};
  };
  if (value.is_object()) return take_one(value, place);
  const simdjson::dom::array list = value.get_array();
  if (list.size() == 0) return bad_field(place, "empty_array", "'" + place + "' is empty; give at least one content");
  if (list.size() > kMostContents) return bad_field(place, "array_above_max_length", "'" + place + "' has more than 10000 entries");
  size_t i = 0;
  for (const Json item : list) {
    if (Refusal r = take_one(item, place + "[" + std::to_string(i++) + "]")) return r;
  }
  return {};
}

}  // namespace inferens
