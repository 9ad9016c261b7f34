// The field tables of OpenAI's Responses API.
#include "serve/api/responses_call.h"

#include <algorithm>
#include <limits>

#include "serve/api/output_constraint.h"
#include "serve/seed.h"

namespace inferens {
namespace {

constexpr double kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr double kMaxSeed = 9007199254740991.0;
constexpr double kLeastTopP = 1e-9;
constexpr size_t kMostPairs = 16;
constexpr size_t kLongestPairKey = 64;
constexpr size_t kLongestPairValue = 512;
constexpr std::string_view kNoTools = "tool calls are not offered yet";

int32_t int32_of(Json value) { return static_cast<int32_t>(integer_of(value)); }

Refusal take_metadata(Json value, ResponsesCall& call) {
  const simdjson::dom::object pairs = value.get_object();
  if (pairs.size() > kMostPairs) return bad_field("metadata", "invalid_value", "'metadata' has more than 16 pairs");
  for (const auto [key, text] : pairs) {
    if (!text.is_string() || key.size() > kLongestPairKey || text_of(text).size() > kLongestPairValue) return bad_field("metadata", "invalid_value", "'metadata' must map keys of at most 64 characters to strings of at most 512");
  }
  call.metadata_json = simdjson::minify(value);
  return {};
}

Refusal take_include(Json value, ResponsesCall& call) {
  for (const Json item : value.get_array()) {
    if (!item.is_string()) return bad_field("include", "invalid_type", "'include' must be an array of strings");
    if (text_of(item) != "message.output_text.logprobs" && text_of(item) != "reasoning.encrypted_content") {
      return unsupported_field("include", "only message.output_text.logprobs can be included");
    }
    call.logprobs |= text_of(item) == "message.output_text.logprobs";
  }
  return {};
}

Refusal take_text(Json value, ResponsesCall& call) {
  static constexpr ResponsesField kFields[] = {
      {{.name = "format", .kinds = kObject}, [](Json v, ResponsesCall& c) -> Refusal { c.format_json = simdjson::minify(v); return take_text_format(v, c.base); }},
      {{.name = "verbosity", .treatment = Treatment::kRefuse, .harmless = R"("medium")"}},
  };
  static constexpr std::span<const ResponsesField> kTables[] = {kFields};
  return parse_fields<ResponsesCall>(value.get_object(), kTables, "text.", false, call);
}

Refusal take_stream_options(Json value, ResponsesCall& call) {
  static constexpr ResponsesField kFields[] = {
      {{.name = "include_obfuscation", .kinds = kBoolean}, [](Json v, ResponsesCall& c) -> Refusal { c.obfuscate = boolean_of(v); return {}; }},
  };
  static constexpr std::span<const ResponsesField> kTables[] = {kFields};
  return parse_fields<ResponsesCall>(value.get_object(), kTables, "stream_options.", false, call);
}

Refusal take_service_tier(Json value, ResponsesCall& call) {
  constexpr std::string_view kTiers[] = {"auto", "default", "flex", "scale", "priority", "fast"};
  if (std::find(std::begin(kTiers), std::end(kTiers), text_of(value)) == std::end(kTiers)) return bad_field("service_tier", "invalid_value", "'service_tier' must be auto, default, flex, scale, priority or fast");
  call.flex = text_of(value) == "flex";
  return {};
}

constexpr ResponsesField kFields[] = {
    {{.name = "model", .kinds = kString, .example = R"("tiny")", .required = true}, [](Json v, ResponsesCall& c) -> Refusal { c.model = text_of(v); return {}; }},
    {{.name = "input", .kinds = kString | kArray, .example = R"("Hi")", .note = "a string, or items of type message, function_call, function_call_output", .required = true}, [](Json v, ResponsesCall& c) -> Refusal { return take_responses_input(v, c.input); }},
    {{.name = "instructions", .kinds = kString, .example = R"("Be kind.")", .note = "not taken over by later responses"}, [](Json v, ResponsesCall& c) -> Refusal { c.instructions = text_of(v); c.has_instructions = true; return {}; }},
    {{.name = "previous_response_id", .kinds = kString, .note = "of one that was stored"}, [](Json v, ResponsesCall& c) -> Refusal { c.previous_response_id = text_of(v); return {}; }},
    {{.name = "store", .kinds = kBoolean, .example = "false", .note = "default true: in memory, the last 1024"}, [](Json v, ResponsesCall& c) -> Refusal { c.store = boolean_of(v); return {}; }},
    {{.name = "stream", .kinds = kBoolean, .example = "false"}, [](Json v, ResponsesCall& c) -> Refusal { c.stream = boolean_of(v); return {}; }},
    {{.name = "stream_options", .kinds = kObject, .example = {}, .note = "include_obfuscation; with stream only"}, take_stream_options},
    {{.name = "background", .kinds = kBoolean, .example = "false", .note = "answers at once with status queued; needs store, without stream"}, [](Json v, ResponsesCall& c) -> Refusal { c.background = boolean_of(v); return {}; }},
    {{.name = "max_output_tokens", .kinds = kInteger, .example = "4", .note = "until the context is full when absent", .low = 1, .high = kMaxInt32}, [](Json v, ResponsesCall& c) -> Refusal { c.base.max_tokens = int32_of(v); return {}; }},
    {{.name = "temperature", .kinds = kNumber, .example = "0.5", .low = 0, .high = 2}, [](Json v, ResponsesCall& c) -> Refusal { c.base.sampling.temperature = number_of(v); return {}; }},
    {{.name = "top_p", .kinds = kNumber, .example = "0.9", .low = 0, .high = 1}, [](Json v, ResponsesCall& c) -> Refusal { c.base.sampling.top_p = std::max(kLeastTopP, number_of(v)); return {}; }},
    {{.name = "seed", .kinds = kInteger, .example = "7", .note = "ours: the same seed gives the same answer", .low = 0, .high = kMaxSeed}, [](Json v, ResponsesCall& c) -> Refusal { c.base.sampling.seed = static_cast<uint64_t>(integer_of(v)); c.seed_given = true; return {}; }},
    {{.name = "top_logprobs", .kinds = kInteger, .note = "with include message.output_text.logprobs", .low = 0, .high = 20}, [](Json v, ResponsesCall& c) -> Refusal { c.top_logprobs = int32_of(v); return {}; }},
    {{.name = "include", .kinds = kArray, .example = R"(["message.output_text.logprobs"])"}, take_include},
    {{.name = "text", .kinds = kObject, .example = R"({"format":{"type":"text"}})", .note = "format of type text, json_object or json_schema, kept to the letter or refused"}, take_text},
    {{.name = "metadata", .kinds = kObject, .treatment = Treatment::kEcho, .example = R"({"a":"b"})", .note = "≤ 16 pairs of strings"}, take_metadata},
    {{.name = "service_tier", .kinds = kString, .example = R"("flex")", .note = "flex runs in the batch class"}, take_service_tier},
    {{.name = "prompt_cache_key", .kinds = kString, .treatment = Treatment::kEcho, .example = R"("k")", .note = "prefixes are found without it"}, [](Json v, ResponsesCall& c) -> Refusal { c.prompt_cache_key = text_of(v); return {}; }},
    {{.name = "safety_identifier", .kinds = kString, .treatment = Treatment::kEcho, .example = R"("u")"}, [](Json v, ResponsesCall& c) -> Refusal { c.safety_identifier = text_of(v); return {}; }},
    {{.name = "user", .kinds = kString, .treatment = Treatment::kEcho, .example = R"("u")"}, [](Json v, ResponsesCall& c) -> Refusal { c.user = text_of(v); return {}; }},
    {{.name = "parallel_tool_calls", .kinds = kBoolean, .treatment = Treatment::kEcho, .example = "true"}, [](Json v, ResponsesCall& c) -> Refusal { c.parallel_tool_calls = boolean_of(v); return {}; }},
    {{.name = "truncation", .treatment = Treatment::kRefuse, .note = "a prompt is never cut", .harmless = R"("disabled")"}},
    {{.name = "reasoning", .treatment = Treatment::kRefuse, .note = "reasoning is not offered yet", .harmless = R"({}|{"effort":"none"})"}},
    {{.name = "tools", .treatment = Treatment::kRefuse, .note = kNoTools, .harmless = "[]"}},
    {{.name = "tool_choice", .treatment = Treatment::kRefuse, .note = kNoTools, .harmless = R"("none"|"auto")"}},
    {{.name = "max_tool_calls", .treatment = Treatment::kRefuse, .note = "there are no built-in tools"}},
    {{.name = "prompt", .treatment = Treatment::kRefuse, .note = "prompts are not kept here"}},
    {{.name = "conversation", .treatment = Treatment::kRefuse, .note = "use previous_response_id"}},
    {{.name = "moderation", .treatment = Treatment::kRefuse}},
    {{.name = "context_management", .treatment = Treatment::kRefuse, .note = "a prompt is never cut"}},
    {{.name = "prompt_cache_options", .treatment = Treatment::kRefuse, .note = "every prompt is cached as it is"}},
    {{.name = "prompt_cache_retention", .kinds = kString, .treatment = Treatment::kEcho, .example = R"("in_memory")"}},
};
constexpr std::span<const ResponsesField> kTables[] = {kFields};

}  // namespace

ResponsesTables responses_tables() { return kTables; }

Refusal parse_responses_call(const HttpRequest& http, bool lenient, ResponsesCall& call) {
  JsonDocument body;
  if (Refusal r = body.parse(http.body)) return r;
  if (Refusal r = parse_fields<ResponsesCall>(body.root(), kTables, "", lenient, call)) return r;
  if (call.background && !call.store) return bad_field("background", "invalid_value", "'background' needs 'store' to be true");
  if (call.background && call.stream) return unsupported_field("background", "together with stream; ask for the response by its id");
  if (call.obfuscate && !call.stream) return bad_field("stream_options", "invalid_value", "'stream_options' needs 'stream' to be true");
  if (call.top_logprobs.value_or(0) > 0 && !call.logprobs) return bad_field("top_logprobs", "invalid_value", "'top_logprobs' needs 'include' to have message.output_text.logprobs");
  if (call.logprobs) call.base.logprobs = call.top_logprobs.value_or(0);
  if (call.flex) call.base.scheduling_class = SchedulingClass::kBatch;
  if (!call.seed_given) call.base.sampling.seed = draw_seed();
  return {};
}

}  // namespace inferens
