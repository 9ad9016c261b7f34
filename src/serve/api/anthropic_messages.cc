// Anthropic's messages: blocks of content become text, tool calls and tool answers, and cache points keep their places.
#include <algorithm>

#include "serve/api/anthropic_call.h"
#include "serve/api/messages.h"

namespace inferens {
namespace {

constexpr size_t kMostMessages = 100'000;
constexpr Nanos kFiveMinutes = 300 * 1'000'000'000LL;

struct Block {
  std::string type;
  std::string text;
  ToolCall call;
  std::string tool_use_id;
  std::optional<Nanos> ttl;
};
using BlockField = Field<Block>;

Refusal take_block_cache(Json value, Block& block) {
  Nanos ttl = 0;
  if (Refusal r = take_cache_control(value, ttl)) return r;
  block.ttl = ttl;
  return {};
}

// A tool's answer: a string or text blocks.
Refusal take_result_content(Json value, Block& block) {
  if (value.is_string()) {
    block.text = text_of(value);
    return {};
  }
  static constexpr BlockField kFields[] = {
      {{.name = "type", .kinds = kString, .required = true}, [](Json v, Block& b) -> Refusal { b.type = text_of(v); return {}; }},
      {{.name = "text", .kinds = kString}, [](Json v, Block& b) -> Refusal { b.text = text_of(v); return {}; }},
      {{.name = "cache_control", .kinds = kObject}, take_block_cache},
      {{.name = "citations", .treatment = Treatment::kRefuse, .harmless = "[]"}},
  };
  static constexpr std::span<const BlockField> kTables[] = {kFields};
  for (const Json item : value.get_array()) {
    simdjson::dom::object object;
    if (item.get(object) != simdjson::SUCCESS) return bad_field("", "invalid_type", "blocks of a tool_result must be objects");
    std::string_view type;
    if (object["type"].get(type) != simdjson::SUCCESS || type != "text") return unsupported_field("", "only text models are served, so a tool_result must be text");
    Block part;
    if (Refusal r = parse_fields<Block>(object, kTables, "content.", false, part)) return r;
    block.text += part.text;
    if (part.ttl) block.ttl = part.ttl;
  }
  return {};
}

Refusal take_type(Json v, Block& b) {
  b.type = text_of(v);
  return {};
}

constexpr BlockField kTextFields[] = {
    {{.name = "type", .kinds = kString, .required = true}, take_type},
    {{.name = "text", .kinds = kString, .required = true}, [](Json v, Block& b) -> Refusal { b.text = text_of(v); return {}; }},
    {{.name = "cache_control", .kinds = kObject}, take_block_cache},
    {{.name = "citations", .treatment = Treatment::kRefuse, .harmless = "[]"}},
};
constexpr BlockField kToolUseFields[] = {
    {{.name = "type", .kinds = kString, .required = true}, take_type},
    {{.name = "id", .kinds = kString, .required = true}, [](Json v, Block& b) -> Refusal { b.call.id = text_of(v); return {}; }},
    {{.name = "name", .kinds = kString, .required = true}, [](Json v, Block& b) -> Refusal { b.call.name = text_of(v); return {}; }},
    {{.name = "input", .kinds = kObject, .required = true}, [](Json v, Block& b) -> Refusal { b.call.arguments_json = simdjson::minify(v); return {}; }},
    {{.name = "cache_control", .kinds = kObject}, take_block_cache},
    {{.name = "caller", .kinds = kObject, .treatment = Treatment::kEcho}},
};
constexpr BlockField kToolResultFields[] = {
    {{.name = "type", .kinds = kString, .required = true}, take_type},
    {{.name = "tool_use_id", .kinds = kString, .required = true}, [](Json v, Block& b) -> Refusal { b.tool_use_id = text_of(v); return {}; }},
    {{.name = "content", .kinds = kString | kArray}, take_result_content},
    {{.name = "is_error", .kinds = kBoolean, .treatment = Treatment::kEcho, .note = "the text says it"}},
    {{.name = "cache_control", .kinds = kObject}, take_block_cache},
};

Refusal fields_of(std::string_view type, const std::string& role, std::span<const BlockField>& fields) {
  if (type == "text") fields = kTextFields;
  else if (type == "tool_use" && role == "assistant") fields = kToolUseFields;
  else if (type == "tool_result" && role == "user") fields = kToolResultFields;
  else if (type == "thinking" || type == "redacted_thinking") return bad_field("", "invalid_value", "Invalid `signature` in `thinking` block: this server did not write it");
  else if (type == "tool_use" || type == "tool_result") return bad_field("", "invalid_value", "a " + std::string(type) + " block cannot stand in a message of role " + role);
  else return unsupported_field("", "only text models are served: blocks of type text, tool_use and tool_result");
  return {};
}

// Turns of one role that follow each other are one turn.
ChatMessage& open_message(std::vector<ChatMessage>& messages, const std::string& role, bool new_turn) {
  if (messages.empty() || messages.back().role != role || role == "tool") return messages.emplace_back(text_message(role, ""));
  if (new_turn && !messages.back().content.empty()) messages.back().content += "\n";
  return messages.back();
}

Refusal take_block(simdjson::dom::object object, const std::string& place, const std::string& role, bool new_turn, AnthropicCall& call) {
  std::string_view type;
  if (object["type"].get(type) != simdjson::SUCCESS) return missing_field(place + ".type");
  std::span<const BlockField> fields;
  if (Refusal r = fields_of(type, role, fields)) {
    r->param = place;
    return r;
  }
  Block block;
  const std::span<const BlockField> tables[] = {fields};
  if (Refusal r = parse_fields<Block>(object, tables, place + ".", false, block)) return r;
  ChatMessage& message = open_message(call.messages, block.type == "tool_result" ? "tool" : role, new_turn);
  if (block.type == "tool_use") {
    message.has_content = !message.content.empty();
    message.tool_calls.push_back(std::move(block.call));
  } else {
    message.has_content = true;
    message.content += block.text;
  }
  message.tool_call_id = block.tool_use_id;
  if (block.ttl) call.points.push_back({call.messages.size() - 1, message.content.size(), *block.ttl});
  return {};
}

struct Turn {
  std::string role;
  std::optional<Json> content;
};
using TurnField = Field<Turn>;

Refusal take_role(Json value, Turn& turn) {
  turn.role = text_of(value);
  if (turn.role == "user" || turn.role == "assistant" || turn.role == "system") return {};
  return bad_field("", "invalid_value", "the role must be user, assistant or system");
}

constexpr TurnField kTurnFields[] = {
    {{.name = "role", .kinds = kString, .required = true}, take_role},
    {{.name = "content", .kinds = kString | kArray, .required = true}, [](Json v, Turn& t) -> Refusal { t.content = v; return {}; }},
};
constexpr std::span<const TurnField> kTurnTables[] = {kTurnFields};

Refusal take_turn(const Turn& turn, const std::string& place, AnthropicCall& call) {
  simdjson::dom::array blocks;
  if (turn.content->get(blocks) != simdjson::SUCCESS) {
    open_message(call.messages, turn.role, true).content += text_of(*turn.content);
    return {};
  }
  if (blocks.size() == 0) return bad_field(place + ".content", "invalid_value", place + ".content: at least one block is needed");
  size_t i = 0;
  for (const Json item : blocks) {
    const std::string at = place + ".content." + std::to_string(i);
    simdjson::dom::object object;
    if (item.get(object) != simdjson::SUCCESS) return bad_field(at, "invalid_type", at + ": must be an object");
    if (Refusal r = take_block(object, at, turn.role, i == 0, call)) return r;
    ++i;
  }
  return {};
}

}  // namespace

Refusal take_cache_control(Json value, Nanos& ttl) {
  struct Control {
    bool ephemeral = false;
    Nanos ttl = kFiveMinutes;
  };
  static constexpr Field<Control> kFields[] = {
      {{.name = "type", .kinds = kString, .required = true}, [](Json v, Control& c) -> Refusal { c.ephemeral = text_of(v) == "ephemeral"; return {}; }},
      {{.name = "ttl", .kinds = kString}, [](Json v, Control& c) -> Refusal {
         if (text_of(v) != "5m" && text_of(v) != "1h") return bad_field("", "invalid_value", "the ttl of cache_control must be 5m or 1h");
         c.ttl = text_of(v) == "1h" ? 12 * kFiveMinutes : kFiveMinutes;
         return {};
       }},
  };
  static constexpr std::span<const Field<Control>> kTables[] = {kFields};
  Control control;
  if (Refusal r = parse_fields<Control>(value.get_object(), kTables, "cache_control.", false, control)) return r;
  if (!control.ephemeral) return bad_field("", "invalid_value", "the type of cache_control must be ephemeral");
  ttl = control.ttl;
  return {};
}

Refusal take_anthropic_system(Json value, AnthropicCall& call) {
  call.has_system = true;
  if (value.is_string()) {
    call.system = text_of(value);
    return {};
  }
  static constexpr std::span<const BlockField> kTables[] = {kTextFields};
  size_t i = 0;
  for (const Json item : value.get_array()) {
    const std::string at = "system." + std::to_string(i++);
    simdjson::dom::object object;
    if (item.get(object) != simdjson::SUCCESS) return bad_field(at, "invalid_type", at + ": must be an object");
    Block block;
    if (Refusal r = parse_fields<Block>(object, kTables, at + ".", false, block)) return r;
    if (block.type != "text") return bad_field(at + ".type", "invalid_value", at + ".type: must be text");
    call.system += block.text;
    if (block.ttl) call.system_points.push_back({0, call.system.size(), *block.ttl});
  }
  return {};
}

Refusal take_anthropic_messages(Json value, AnthropicCall& call) {
  const simdjson::dom::array list = value.get_array();
  if (list.size() == 0) return bad_field("messages", "empty_array", "messages: at least one message is required");
  if (list.size() > kMostMessages) return bad_field("messages", "array_above_max_length", "messages: more than 100000 entries");
  size_t i = 0;
  for (const Json item : list) {
    const std::string place = "messages." + std::to_string(i++);
    simdjson::dom::object object;
    if (item.get(object) != simdjson::SUCCESS) return bad_field(place, "invalid_type", place + ": must be an object");
    Turn turn;
    if (Refusal r = parse_fields<Turn>(object, kTurnTables, place + ".", false, turn)) return r;
    if (Refusal r = take_turn(turn, place, call)) return r;
  }
  return {};
}

ChatPrompt anthropic_prompt(const std::vector<ChatMessage>& messages) {
  ChatPrompt prompt;
  prompt.messages = messages;
  // A last message of the assistant is the beginning of the answer.
  prompt.continue_final_message = !messages.empty() && messages.back().role == "assistant";
  prompt.add_generation_prompt = !prompt.continue_final_message;
  return prompt;
}

}  // namespace inferens
