#include "serve/api/ollama_call.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "serve/api/output_constraint.h"
#include "serve/seed.h"

namespace inferens {
namespace {

constexpr double kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr double kMaxSeed = 9007199254740991.0;  // what JSON's numbers hold exactly
constexpr double kLeastTopP = 1e-9;              // zero would leave no token at all; this leaves the likeliest
constexpr size_t kMostMessages = 10'000;
constexpr std::string_view kNoEffect = "decided when the server starts";
constexpr std::string_view kNotCut = "a prompt that does not fit is refused and never cut";
constexpr std::string_view kTextOnly = "only text models are served";

int32_t int32_of(Json value) { return static_cast<int32_t>(integer_of(value)); }

// "1h30m", "300ms", "-1s": what Go's time.ParseDuration takes. nullopt: it is none.
std::optional<Nanos> parse_go_duration(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return 0;
  if (text.empty()) return {};
  double total = 0;
  while (!text.empty()) {
    double number = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (end.ec != std::errc() || number < 0) return {};
    text.remove_prefix(static_cast<size_t>(end.ptr - text.data()));
    const size_t letters = std::min(text.find_first_of("0123456789."), text.size());
    const auto unit = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& u) { return u.first == text.substr(0, letters); });
    if (unit == std::end(kUnits)) return {};
    text.remove_prefix(letters);
    total += number * unit->second;
  }
  if (total > 9e18) return {};
  return static_cast<Nanos>(negative ? -total : total);
}

Refusal take_stop(Json value, OllamaCall& call) {
  call.base.stop.clear();
  for (const Json item : value.get_array()) {
    if (!item.is_string() || text_of(item).empty()) return bad_field("", "invalid_type", "'options.stop' must be an array of strings that are not empty");
    call.base.stop.emplace_back(text_of(item));
  }
  return {};
}

Refusal take_mirostat(Json value, OllamaCall& call) {
  if (integer_of(value) == 1) return bad_field("", "invalid_value", "'options.mirostat' must be 0 (off) or 2");
  call.base.sampling.mirostat = int32_of(value);
  return {};
}

constexpr OllamaField kOptions[] = {
    {{.name = "seed", .kinds = kInteger, .example = "7", .note = "-1: any", .low = -1, .high = kMaxSeed}, [](Json v, OllamaCall& c) -> Refusal { c.seed_given = integer_of(v) >= 0; c.base.sampling.seed = static_cast<uint64_t>(std::max<int64_t>(0, integer_of(v))); return {}; }},
    {{.name = "num_predict", .kinds = kInteger, .example = "4", .note = "0, -1 and -2: until the context is full", .low = -2, .high = kMaxInt32}, [](Json v, OllamaCall& c) -> Refusal { c.base.max_tokens = integer_of(v) > 0 ? int32_of(v) : -1; return {}; }},
    {{.name = "num_ctx", .kinds = kInteger, .example = "256", .note = "prompt and answer together; never more than the server's context", .low = 1, .high = kMaxInt32}, [](Json v, OllamaCall& c) -> Refusal { c.num_ctx = int32_of(v); return {}; }},
    {{.name = "temperature", .kinds = kNumber, .example = "0.5", .note = "default 0.8", .low = 0, .high = 100}, [](Json v, OllamaCall& c) -> Refusal { c.base.sampling.temperature = number_of(v); return {}; }},
    {{.name = "top_k", .kinds = kInteger, .example = "20", .note = "default 40; 0: all", .low = 0, .high = kMaxInt32}, [](Json v, OllamaCall& c) -> Refusal { c.base.sampling.top_k = int32_of(v); return {}; }},
    {{.name = "top_p", .kinds = kNumber, .example = "0.95", .note = "default 0.9", .low = 0, .high = 1}, [](Json v, OllamaCall& c) -> Refusal { c.base.sampling.top_p = std::max(kLeastTopP, number_of(v)); return {}; }},
    {{.name = "min_p", .kinds = kNumber, .example = "0.05", .low = 0, .high = 1}, [](Json v, OllamaCall& c) -> Refusal { c.base.sampling.min_p = number_of(v); return {}; }},
    {{.name = "typical_p", .kinds = kNumber, .example = "0.9", .low = 0, .high = 1}, [](Json v, OllamaCall& c) -> Refusal { c.base.sampling.typical_p = std::max(kLeastTopP, number_of(v)); return {}; }},
    {{.name = "repeat_penalty", .kinds = kNumber, .example = "1.2", .note = "default 1.1", .low = 0.01, .high = 100}, [](Json v, OllamaCall& c) -> Refusal { c.base.sampling.repetition_penalty = number_of(v); return {}; }},
    {{.name = "repeat_last_n", .kinds = kInteger, .example = "32", .note = "tokens that repeat_penalty looks at; default 64, 0: none, -1: all", .low = -1, .high = kMaxInt32}, [](Json v, OllamaCall& c) -> Refusal { c.repeat_last_n = int32_of(v); return {}; }},
    {{.name = "presence_penalty", .kinds = kNumber, .example = "0.5", .note = "over the answer", .low = -2, .high = 2}, [](Json v, OllamaCall& c) -> Refusal { c.base.sampling.presence_penalty = number_of(v); return {}; }},
    {{.name = "frequency_penalty", .kinds = kNumber, .example = "0.5", .note = "over the answer", .low = -2, .high = 2}, [](Json v, OllamaCall& c) -> Refusal { c.base.sampling.frequency_penalty = number_of(v); return {}; }},
    {{.name = "mirostat", .kinds = kInteger, .example = "2", .note = "0 or 2", .low = 0, .high = 2}, take_mirostat},
    {{.name = "mirostat_tau", .kinds = kNumber, .example = "5", .low = 0, .high = 100}, [](Json v, OllamaCall& c) -> Refusal { c.base.sampling.mirostat_tau = number_of(v); return {}; }},
    {{.name = "mirostat_eta", .kinds = kNumber, .example = "0.1", .low = 0, .high = 1}, [](Json v, OllamaCall& c) -> Refusal { c.base.sampling.mirostat_eta = number_of(v); return {}; }},
    {{.name = "stop", .kinds = kArray, .example = R"(["\n"])"}, take_stop},
    {{.name = "num_keep", .kinds = kInteger, .treatment = Treatment::kEcho, .example = "4", .note = kNotCut}},
    {{.name = "num_batch", .kinds = kInteger, .treatment = Treatment::kEcho, .example = "512", .note = kNoEffect}},
    {{.name = "num_gpu", .kinds = kInteger, .treatment = Treatment::kEcho, .example = "0", .note = kNoEffect}},
    {{.name = "main_gpu", .kinds = kInteger, .treatment = Treatment::kEcho, .example = "0", .note = kNoEffect}},
    {{.name = "num_thread", .kinds = kInteger, .treatment = Treatment::kEcho, .example = "2", .note = kNoEffect}},
    {{.name = "use_mmap", .kinds = kBoolean, .treatment = Treatment::kEcho, .example = "true", .note = kNoEffect}},
    {{.name = "use_mlock", .kinds = kBoolean, .treatment = Treatment::kEcho, .example = "false", .note = kNoEffect}},
    {{.name = "numa", .kinds = kBoolean, .treatment = Treatment::kEcho, .example = "false", .note = kNoEffect}},
    {{.name = "low_vram", .kinds = kBoolean, .treatment = Treatment::kEcho, .example = "false", .note = kNoEffect}},
    {{.name = "f16_kv", .kinds = kBoolean, .treatment = Treatment::kEcho, .example = "true", .note = kNoEffect}},
    {{.name = "penalize_newline", .treatment = Treatment::kRefuse, .harmless = "true"}},
    {{.name = "tfs_z", .treatment = Treatment::kRefuse, .harmless = "1|1.0"}},
    {{.name = "draft_num_predict", .treatment = Treatment::kRefuse, .harmless = "0"}},
    {{.name = "logits_all", .treatment = Treatment::kRefuse, .harmless = "false"}},
    {{.name = "vocab_only", .treatment = Treatment::kRefuse, .harmless = "false"}},
    {{.name = "embedding_only", .treatment = Treatment::kRefuse, .harmless = "false"}},
};
constexpr std::span<const OllamaField> kOptionTables[] = {kOptions};

Refusal take_options(Json value, OllamaCall& call) { return parse_fields<OllamaCall>(value.get_object(), kOptionTables, "options.", false, call); }

Refusal take_context(Json value, OllamaCall& call) {
  for (const Json item : value.get_array()) {
    if (!item.is_int64() || integer_of(item) < 0 || integer_of(item) > std::numeric_limits<int32_t>::max()) return bad_field("", "invalid_type", "'context' must be the array of token ids that an earlier answer gave");
    call.context.push_back(int32_of(item));
  }
  return {};
}

constexpr OllamaField kCommon[] = {
    {{.name = "model", .kinds = kString, .example = R"("tiny")", .required = true}, [](Json v, OllamaCall& c) -> Refusal { c.model = text_of(v); return {}; }},
    {{.name = "options", .kinds = kObject, .example = R"({"seed":1})", .note = "see below"}, take_options},
    {{.name = "stream", .kinds = kBoolean, .example = "true", .note = "default true"}, [](Json v, OllamaCall& c) -> Refusal { c.stream = boolean_of(v); return {}; }},
    {{.name = "keep_alive", .kinds = kNumber | kString, .example = R"("10m")", .note = "seconds, or a duration such as 1h30m; negative: for ever, 0: not beyond this answer"}, [](Json v, OllamaCall& c) -> Refusal { return take_keep_alive(v, c.keep_alive); }},
    {{.name = "logprobs", .kinds = kBoolean, .example = "true"}, [](Json v, OllamaCall& c) -> Refusal { c.logprobs = boolean_of(v); return {}; }},
    {{.name = "top_logprobs", .kinds = kInteger, .example = "2", .note = "with logprobs only", .low = 0, .high = 20}, [](Json v, OllamaCall& c) -> Refusal { c.top_logprobs = int32_of(v); return {}; }},
    {{.name = "think", .kinds = kBoolean | kString, .example = "false", .note = "only false"}, [](Json v, OllamaCall& c) -> Refusal { c.think = !v.is_bool() || boolean_of(v); return {}; }},
    {{.name = "truncate", .kinds = kBoolean, .treatment = Treatment::kEcho, .example = "false", .note = kNotCut}},
    {{.name = "shift", .kinds = kBoolean, .treatment = Treatment::kEcho, .example = "false", .note = "an answer ends where the context is full"}},
    {{.name = "format", .kinds = kString | kObject, .example = R"("json")", .note = "json, or a JSON Schema; kept to the letter or refused"}, [](Json v, OllamaCall& c) -> Refusal { return take_ollama_format(v, c.base); }},
};

constexpr OllamaField kGenerate[] = {
    {{.name = "prompt", .kinds = kString, .example = R"("Hi")", .note = "empty: only loads the model"}, [](Json v, OllamaCall& c) -> Refusal { c.prompt = text_of(v); return {}; }},
    {{.name = "system", .kinds = kString, .example = R"("Be kind.")"}, [](Json v, OllamaCall& c) -> Refusal { c.system = std::string(text_of(v)); return {}; }},
    {{.name = "context", .kinds = kArray, .example = "[5,6]", .note = "token ids of an earlier answer, to go on from"}, take_context},
    {{.name = "raw", .kinds = kBoolean, .example = "true", .note = "the prompt as it is, without the chat template"}, [](Json v, OllamaCall& c) -> Refusal { c.raw = boolean_of(v); return {}; }},
    {{.name = "template", .treatment = Treatment::kRefuse, .note = "templates come with the model, never with a request", .harmless = R"("")"}},
    {{.name = "suffix", .treatment = Treatment::kRefuse, .note = "fill-in-the-middle is not offered yet", .harmless = R"("")"}},
    {{.name = "images", .treatment = Treatment::kRefuse, .note = kTextOnly, .harmless = "[]"}},
    {{.name = "width", .treatment = Treatment::kRefuse, .note = kTextOnly, .harmless = "0"}},
    {{.name = "height", .treatment = Treatment::kRefuse, .note = kTextOnly, .harmless = "0"}},
    {{.name = "steps", .treatment = Treatment::kRefuse, .note = kTextOnly, .harmless = "0"}},
};

constexpr OllamaField kChat[] = {
    {{.name = "messages", .kinds = kArray, .example = R"([{"role":"user","content":"Hi"}])", .note = "roles system, user, assistant, tool; empty: only loads the model"}, [](Json v, OllamaCall& c) -> Refusal { return take_ollama_messages(v, "messages", c.messages); }},
    {{.name = "tools", .treatment = Treatment::kRefuse, .note = "tool calls are not offered yet", .harmless = "[]"}},
};

constexpr std::span<const OllamaField> kGenerateTables[] = {kGenerate, kCommon};
constexpr std::span<const OllamaField> kChatTables[] = {kChat, kCommon};

using MessageField = Field<ChatMessage>;
using ToolCallField = Field<ToolCall>;

Refusal take_function(Json value, ToolCall& call) {
  static constexpr ToolCallField kFields[] = {
      {{.name = "name", .kinds = kString, .required = true}, [](Json v, ToolCall& c) -> Refusal { c.name = text_of(v); return {}; }},
      {{.name = "arguments", .kinds = kObject, .required = true}, [](Json v, ToolCall& c) -> Refusal { c.arguments_json = simdjson::minify(v); return {}; }},
      {{.name = "index", .kinds = kInteger}},
      {{.name = "description", .kinds = kString, .treatment = Treatment::kEcho}},
  };
  static constexpr std::span<const ToolCallField> kTables[] = {kFields};
  return parse_fields<ToolCall>(value.get_object(), kTables, "function.", false, call);
}

Refusal take_tool_calls(Json value, ChatMessage& message) {
  static constexpr ToolCallField kFields[] = {
      {{.name = "id", .kinds = kString}, [](Json v, ToolCall& c) -> Refusal { c.id = text_of(v); return {}; }},
      {{.name = "type", .kinds = kString, .treatment = Treatment::kEcho}},
      {{.name = "function", .kinds = kObject, .required = true}, take_function},
  };
  static constexpr std::span<const ToolCallField> kTables[] = {kFields};
  for (const Json item : value.get_array()) {
    simdjson::dom::object object;
    if (item.get(object) != simdjson::SUCCESS) return bad_field("", "invalid_type", "tool_calls must be objects");
    if (Refusal r = parse_fields<ToolCall>(object, kTables, "tool_calls.", false, message.tool_calls.emplace_back())) return r;
  }
  return {};
}

Refusal take_role(Json value, ChatMessage& message) {
  constexpr std::array<std::string_view, 4> kRoles = {"system", "user", "assistant", "tool"};
  message.role = text_of(value);
  if (std::find(kRoles.begin(), kRoles.end(), message.role) != kRoles.end()) return {};
  return bad_field("", "invalid_value", "the role of a message must be system, user, assistant or tool");
}

constexpr MessageField kMessageFields[] = {
    {{.name = "role", .kinds = kString, .required = true}, take_role},
    {{.name = "content", .kinds = kString}, [](Json v, ChatMessage& m) -> Refusal { m.content = text_of(v); m.has_content = true; return {}; }},
    {{.name = "thinking", .kinds = kString}, [](Json v, ChatMessage& m) -> Refusal { m.reasoning_content = text_of(v); return {}; }},
    {{.name = "tool_calls", .kinds = kArray}, take_tool_calls},
    {{.name = "tool_name", .kinds = kString}, [](Json v, ChatMessage& m) -> Refusal { m.name = text_of(v); return {}; }},
    {{.name = "tool_call_id", .kinds = kString}, [](Json v, ChatMessage& m) -> Refusal { m.tool_call_id = text_of(v); return {}; }},
    {{.name = "images", .treatment = Treatment::kRefuse, .note = kTextOnly, .harmless = "[]"}},
};
constexpr std::span<const MessageField> kMessageTables[] = {kMessageFields};

Refusal take_settings(const OllamaSettings& settings, OllamaCall& call) {
  if (!settings.parameters_json.empty()) {
    JsonDocument document;
    if (Refusal r = document.parse(settings.parameters_json)) return r;
    // What a model of elsewhere was made with and nobody knows here must not keep it from answering.
    if (Refusal r = parse_fields<OllamaCall>(document.root(), kOptionTables, "the model's parameters.", true, call)) return r;
  }
  return {};
}

Refusal check_call(OllamaCall& call) {
  if (call.raw && (call.system || !call.context.empty())) return bad_field("raw", "invalid_value", "raw mode does not support template, system, or context");
  if (call.think) return bad_field("think", "invalid_value", "\"" + call.model + "\" does not support thinking");
  if (call.top_logprobs > 0 && !call.logprobs) return bad_field("top_logprobs", "invalid_value", "'top_logprobs' needs 'logprobs' to be true");
  if (call.logprobs) call.base.logprobs = call.top_logprobs;
  if (!call.seed_given) call.base.sampling.seed = draw_seed();
  call.base.sampling.penalty_window = call.repeat_last_n;
  if (call.repeat_last_n == 0) {
    call.base.sampling.penalty_window = -1;
    call.base.sampling.repetition_penalty = 1;
  }
  return {};
}

}  // namespace

// https://github.com/ollama/ollama/blob/main/docs/modelfile.md#parameter
OllamaCall::OllamaCall() {
  base.sampling.temperature = 0.8;
  base.sampling.top_k = 40;
  base.sampling.top_p = 0.9;
  base.sampling.repetition_penalty = 1.1;
  base.sampling.order = SamplerOrder::kLlamaCpp;
}

OllamaTables ollama_generate_tables() { return kGenerateTables; }
OllamaTables ollama_chat_tables() { return kChatTables; }
OllamaTables ollama_option_tables() { return kOptionTables; }

Refusal take_keep_alive(Json value, std::optional<Nanos>& keep_alive) {
  std::optional<Nanos> nanos;
  if (value.is_string()) {
    nanos = parse_go_duration(text_of(value));
  } else if (const double seconds = value.is_double() ? number_of(value) : static_cast<double>(integer_of(value)); std::abs(seconds) < 9e9) {
    nanos = static_cast<Nanos>(seconds * 1e9);
  }
  if (!nanos) return bad_field("keep_alive", "invalid_value", "'keep_alive' must be a number of seconds or a duration such as \"10m\"");
  keep_alive = std::max<Nanos>(-1, *nanos);
  return {};
}

Refusal take_ollama_messages(Json value, const std::string& place, std::vector<ChatMessage>& messages) {
  const simdjson::dom::array list = value.get_array();
  if (list.size() > kMostMessages) return bad_field(place, "array_above_max_length", "'" + place + "' has more than 10000 entries");
  size_t i = 0;
  for (const Json item : list) {
    const std::string at = place + "[" + std::to_string(i++) + "]";
    simdjson::dom::object object;
    if (item.get(object) != simdjson::SUCCESS) return bad_field(at, "invalid_type", "'" + at + "' must be an object");
    ChatMessage& message = messages.emplace_back();
    message.has_content = false;
    if (Refusal r = parse_fields<ChatMessage>(object, kMessageTables, at + ".", false, message)) return r;
    if (!message.has_content && message.tool_calls.empty()) return bad_field(at + ".content", "missing_required_parameter", "'" + at + "' has no content");
  }
  return {};
}

Refusal parse_ollama_call(const HttpRequest& http, OllamaTables tables, const OllamaSettings& settings, bool lenient, OllamaCall& call) {
  JsonDocument body;
  if (Refusal r = body.parse(http.body)) return r;
  if (Refusal r = take_settings(settings, call)) return r;
  if (Refusal r = parse_fields<OllamaCall>(body.root(), tables, "", lenient, call)) return r;
  return check_call(call);
}

}  // namespace inferens
