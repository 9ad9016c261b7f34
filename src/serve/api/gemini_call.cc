// The field tables of Gemini's generateContent.
#include "serve/api/gemini_call.h"

#include <algorithm>
#include <limits>

#include "serve/seed.h"

namespace inferens {
namespace {

constexpr double kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr double kLeastTopP = 1e-9;
constexpr size_t kMostStops = 5;
constexpr std::string_view kNoTools = "tool calls are not offered yet";
constexpr std::string_view kTextOnly = "only text models are served";

int32_t int32_of(Json value) { return static_cast<int32_t>(integer_of(value)); }

Refusal take_stops(Json value, GeminiCall& call) {
  for (const Json item : value.get_array()) {
    if (!item.is_string() || text_of(item).empty()) return bad_field("", "invalid_type", "'stopSequences' must be an array of strings that are not empty");
    call.base.stop.emplace_back(text_of(item));
  }
  if (call.base.stop.size() > kMostStops) return bad_field("", "array_above_max_length", "'stopSequences' has more than 5 strings");
  return {};
}

Refusal take_thinking(Json value, GeminiCall& call) {
  static constexpr GeminiField kFields[] = {
      {{.name = "includeThoughts", .treatment = Treatment::kRefuse, .note = "reasoning is not offered yet", .harmless = "false"}},
      {{.name = "thinkingBudget", .treatment = Treatment::kRefuse, .note = "reasoning is not offered yet", .harmless = "0|-1"}},
      {{.name = "thinkingLevel", .treatment = Treatment::kRefuse, .note = "reasoning is not offered yet"}},
  };
  static constexpr std::span<const GeminiField> kTables[] = {kFields};
  return parse_fields<GeminiCall>(value.get_object(), kTables, "generationConfig.thinkingConfig.", false, call, camel_case);
}

constexpr GeminiField kConfig[] = {
    {{.name = "temperature", .kinds = kNumber, .example = "0.5", .low = 0, .high = 2}, [](Json v, GeminiCall& c) -> Refusal { c.base.sampling.temperature = number_of(v); return {}; }},
    {{.name = "topP", .kinds = kNumber, .example = "0.9", .low = 0, .high = 1}, [](Json v, GeminiCall& c) -> Refusal { c.base.sampling.top_p = std::max(kLeastTopP, number_of(v)); return {}; }},
    {{.name = "topK", .kinds = kNumber, .example = "20", .note = "0: all", .low = 0, .high = kMaxInt32}, [](Json v, GeminiCall& c) -> Refusal { c.base.sampling.top_k = v.is_double() ? static_cast<int32_t>(number_of(v)) : int32_of(v); return {}; }},
    {{.name = "candidateCount", .kinds = kInteger, .example = "2", .low = 1, .high = 8}, [](Json v, GeminiCall& c) -> Refusal { c.base.n = int32_of(v); return {}; }},
    {{.name = "maxOutputTokens", .kinds = kInteger, .example = "4", .note = "until the context is full when absent", .low = 1, .high = kMaxInt32}, [](Json v, GeminiCall& c) -> Refusal { c.base.max_tokens = int32_of(v); return {}; }},
    {{.name = "stopSequences", .kinds = kArray, .example = R"(["END"])"}, take_stops},
    {{.name = "seed", .kinds = kInteger, .example = "7", .low = 0, .high = kMaxInt32}, [](Json v, GeminiCall& c) -> Refusal { c.base.sampling.seed = static_cast<uint64_t>(integer_of(v)); c.seed_given = true; return {}; }},
    {{.name = "presencePenalty", .kinds = kNumber, .example = "0.5", .low = -2, .high = 2}, [](Json v, GeminiCall& c) -> Refusal { c.base.sampling.presence_penalty = number_of(v); return {}; }},
    {{.name = "frequencyPenalty", .kinds = kNumber, .example = "0.5", .low = -2, .high = 2}, [](Json v, GeminiCall& c) -> Refusal { c.base.sampling.frequency_penalty = number_of(v); return {}; }},
    {{.name = "responseLogprobs", .kinds = kBoolean, .example = "true"}, [](Json v, GeminiCall& c) -> Refusal { c.logprobs = boolean_of(v); return {}; }},
    {{.name = "logprobs", .kinds = kInteger, .example = "2", .note = "with responseLogprobs only", .low = 0, .high = 20}, [](Json v, GeminiCall& c) -> Refusal { c.top_logprobs = int32_of(v); return {}; }},
    {{.name = "thinkingConfig", .kinds = kObject, .example = R"({"thinkingBudget":0})", .note = "only without thoughts"}, take_thinking},
    {{.name = "responseMimeType", .kinds = kString, .example = R"("application/json")", .note = "text/plain, application/json, text/x.enum"}, [](Json v, GeminiCall& c) -> Refusal { c.format.mime_type = text_of(v); return {}; }},
    {{.name = "responseSchema", .kinds = kObject, .example = R"({"type":"STRING"})", .note = "Gemini's Schema, with responseMimeType application/json, or text/x.enum for one of its enum; kept to the letter or refused"}, [](Json v, GeminiCall& c) -> Refusal { c.format.schema = v; return {}; }},
    {{.name = "responseJsonSchema", .kinds = kObject, .example = R"({"type":"string"})", .note = "a JSON Schema in its place"}, [](Json v, GeminiCall& c) -> Refusal { c.format.json_schema = v; return {}; }},
    {{.name = "responseModalities", .treatment = Treatment::kRefuse, .note = kTextOnly, .harmless = R"(["TEXT"]|[])"}},
    {{.name = "speechConfig", .treatment = Treatment::kRefuse, .note = kTextOnly}},
    {{.name = "imageConfig", .treatment = Treatment::kRefuse, .note = kTextOnly}},
    {{.name = "mediaResolution", .treatment = Treatment::kRefuse, .note = kTextOnly}},
    {{.name = "audioTimestamp", .treatment = Treatment::kRefuse, .note = kTextOnly, .harmless = "false"}},
    {{.name = "enableEnhancedCivicAnswers", .treatment = Treatment::kRefuse, .harmless = "false"}},
    {{.name = "routingConfig", .treatment = Treatment::kRefuse}},
    {{.name = "modelSelectionConfig", .treatment = Treatment::kRefuse}},
};
constexpr std::span<const GeminiField> kConfigTables[] = {kConfig};

Refusal take_config(Json value, GeminiCall& call) { return parse_fields<GeminiCall>(value.get_object(), kConfigTables, "generationConfig.", false, call, camel_case); }

constexpr GeminiField kGenerate[] = {
    {{.name = "contents", .kinds = kArray | kObject, .example = R"([{"role":"user","parts":[{"text":"Hi"}]}])", .note = "roles user and model; parts text, functionCall, functionResponse", .required = true}, [](Json v, GeminiCall& c) -> Refusal { return take_gemini_contents(v, "contents", c.contents); }},
    {{.name = "systemInstruction", .kinds = kObject | kString, .example = R"({"parts":[{"text":"Be kind."}]})"}, [](Json v, GeminiCall& c) -> Refusal { return take_gemini_text(v, "systemInstruction", c.system); }},
    {{.name = "generationConfig", .kinds = kObject, .example = R"({"seed":1})", .note = "see below"}, take_config},
    {{.name = "cachedContent", .kinds = kString, .note = "the name of a cachedContents object; without systemInstruction"}, [](Json v, GeminiCall& c) -> Refusal { c.cached_content = text_of(v); return {}; }},
    {{.name = "safetySettings", .kinds = kArray, .treatment = Treatment::kEcho, .example = "[]", .note = "nothing is rated"}},
    {{.name = "labels", .kinds = kObject, .treatment = Treatment::kEcho, .example = "{}"}},
    {{.name = "serviceTier", .kinds = kString, .treatment = Treatment::kEcho, .example = R"("standard")"}},
    {{.name = "store", .kinds = kBoolean, .treatment = Treatment::kEcho, .example = "false"}},
    {{.name = "model", .kinds = kString, .treatment = Treatment::kEcho, .example = R"("models/tiny")", .note = "the path says it"}},
    {{.name = "tools", .treatment = Treatment::kRefuse, .note = kNoTools, .harmless = "[]"}},
    {{.name = "toolConfig", .treatment = Treatment::kRefuse, .note = kNoTools, .harmless = "{}"}},
};
constexpr std::span<const GeminiField> kGenerateTables[] = {kGenerate};

}  // namespace

GeminiTables gemini_generate_tables() { return kGenerateTables; }
GeminiTables gemini_config_tables() { return kConfigTables; }

Refusal parse_gemini_fields(simdjson::dom::object object, bool lenient, const std::string& prefix, GeminiCall& call) {
  if (Refusal r = parse_fields<GeminiCall>(object, kGenerateTables, prefix, lenient, call, camel_case)) return r;
  if (call.top_logprobs > 0 && !call.logprobs) return bad_field("generationConfig.logprobs", "invalid_value", "'logprobs' needs 'responseLogprobs' to be true");
  if (call.logprobs) call.base.logprobs = call.top_logprobs;
  if (Refusal r = take_gemini_format(call.format, call.base)) return r;
  if (!call.cached_content.empty() && !call.system.empty()) return bad_field("systemInstruction", "invalid_value", "'systemInstruction' cannot stand next to 'cachedContent', which has its own");
  if (!call.seed_given) call.base.sampling.seed = draw_seed();
  return {};
}

Refusal parse_gemini_call(std::string_view body, bool lenient, GeminiCall& call) {
  JsonDocument document;
  if (Refusal r = document.parse(body)) return r;
  return parse_gemini_fields(document.root(), lenient, "", call);
}

}  // namespace inferens
