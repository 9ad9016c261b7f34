// The field tables of Anthropic's messages, and what concerns several fields.
#include "serve/api/anthropic_call.h"

#include <algorithm>
#include <limits>

#include "serve/api/messages.h"
#include "serve/api/output_constraint.h"
#include "serve/seed.h"

namespace inferens {
namespace {

constexpr double kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr double kMaxSeed = 9007199254740991.0;
constexpr double kLeastTopP = 1e-9;
constexpr size_t kMostCachePoints = 4;
constexpr std::string_view kNoTools = "tool calls are not offered yet";
constexpr std::string_view kFetchesNothing = "this server runs and fetches nothing";
constexpr std::string_view kOldVersion = "2023-06-01";
constexpr std::string_view kNewVersion = "2026-10-21";

int32_t int32_of(Json value) { return static_cast<int32_t>(integer_of(value)); }

// Versions after 2023-06-01 do not know these.
Refusal sampling_field(const AnthropicCall& call) { return call.sampling_allowed ? Refusal() : bad_field("", "unknown_parameter", ""); }

Refusal take_stops(Json value, AnthropicCall& call) {
  for (const Json item : value.get_array()) {
    if (!item.is_string() || text_of(item).empty()) return bad_field("stop_sequences", "invalid_type", "stop_sequences: must be an array of strings that are not empty");
    call.base.stop.emplace_back(text_of(item));
  }
  return {};
}

Refusal take_metadata(Json value, AnthropicCall&) {
  struct Metadata {};
  static constexpr Field<Metadata> kFields[] = {{{.name = "user_id", .kinds = kString, .treatment = Treatment::kEcho}}};
  static constexpr std::span<const Field<Metadata>> kTables[] = {kFields};
  Metadata ignored;
  return parse_fields<Metadata>(value.get_object(), kTables, "metadata.", false, ignored);
}

Refusal take_service_tier(Json value, AnthropicCall&) {
  if (text_of(value) == "auto" || text_of(value) == "standard_only") return {};
  return bad_field("service_tier", "invalid_value", "service_tier: must be auto or standard_only");
}

Refusal take_output_config(Json value, AnthropicCall& call) {
  static constexpr AnthropicField kFields[] = {
      {{.name = "format", .kinds = kObject}, [](Json v, AnthropicCall& c) -> Refusal { return take_anthropic_format(v, c.base); }},
      {{.name = "effort", .treatment = Treatment::kRefuse, .note = "reasoning is not offered yet"}},
  };
  static constexpr std::span<const AnthropicField> kTables[] = {kFields};
  return parse_fields<AnthropicCall>(value.get_object(), kTables, "output_config.", false, call);
}

Refusal take_whole_cache(Json value, AnthropicCall& call) {
  Nanos ttl = 0;
  if (Refusal r = take_cache_control(value, ttl)) return r;
  call.whole_ttl = ttl;
  return {};
}

// Of messages and of the count of their tokens.
constexpr AnthropicField kCommon[] = {
    {{.name = "model", .kinds = kString, .example = R"("tiny")", .required = true}, [](Json v, AnthropicCall& c) -> Refusal { c.model = text_of(v); return {}; }},
    {{.name = "messages", .kinds = kArray, .example = R"([{"role":"user","content":"Hi"}])", .note = "roles user, assistant, system; content a string or blocks of type text, tool_use, tool_result; an assistant's turn at the end is gone on with", .required = true}, take_anthropic_messages},
    {{.name = "system", .kinds = kString | kArray, .example = R"("Be kind.")", .note = "a string or text blocks"}, take_anthropic_system},
    {{.name = "cache_control", .kinds = kObject, .example = R"({"type":"ephemeral"})", .note = "keeps the whole prompt, as on blocks: ttl 5m or 1h, whole pages of 64 tokens; at most 4"}, take_whole_cache},
    {{.name = "thinking", .treatment = Treatment::kRefuse, .note = "reasoning is not offered yet", .harmless = R"({"type":"disabled"})"}},
    {{.name = "output_config", .kinds = kObject, .example = R"({"format":{"type":"json_schema","schema":{"type":"integer"}}})", .note = "format only: json_schema, kept to the letter or refused"}, take_output_config},
    {{.name = "tools", .treatment = Treatment::kRefuse, .note = kNoTools, .harmless = "[]"}},
    {{.name = "tool_choice", .treatment = Treatment::kRefuse, .note = kNoTools, .harmless = R"({"type":"none"}|{"type":"auto"})"}},
    {{.name = "mcp_servers", .treatment = Treatment::kRefuse, .note = kFetchesNothing, .harmless = "[]"}},
    {{.name = "context_management", .treatment = Treatment::kRefuse, .note = "a prompt is never cut", .harmless = "{}"}},
};

constexpr AnthropicField kMessages[] = {
    {{.name = "max_tokens", .kinds = kInteger, .example = "4", .note = "0: only computes and keeps the prompt", .low = 0, .high = kMaxInt32, .required = true}, [](Json v, AnthropicCall& c) -> Refusal { c.base.max_tokens = int32_of(v); return {}; }},
    {{.name = "stream", .kinds = kBoolean, .example = "false"}, [](Json v, AnthropicCall& c) -> Refusal { c.stream = boolean_of(v); return {}; }},
    {{.name = "stop_sequences", .kinds = kArray, .example = R"(["END"])"}, take_stops},
    {{.name = "temperature", .kinds = kNumber, .example = "0.5", .note = "version 2023-06-01 only, as top_p and top_k", .low = 0, .high = 1}, [](Json v, AnthropicCall& c) -> Refusal { c.base.sampling.temperature = number_of(v); return sampling_field(c); }},
    {{.name = "top_p", .kinds = kNumber, .example = "0.9", .low = 0, .high = 1}, [](Json v, AnthropicCall& c) -> Refusal { c.base.sampling.top_p = std::max(kLeastTopP, number_of(v)); return sampling_field(c); }},
    {{.name = "top_k", .kinds = kInteger, .example = "20", .low = 0, .high = kMaxInt32}, [](Json v, AnthropicCall& c) -> Refusal { c.base.sampling.top_k = int32_of(v); return sampling_field(c); }},
    {{.name = "seed", .kinds = kInteger, .example = "7", .note = "ours: the same seed gives the same answer", .low = 0, .high = kMaxSeed}, [](Json v, AnthropicCall& c) -> Refusal { c.base.sampling.seed = static_cast<uint64_t>(integer_of(v)); c.seed_given = true; return {}; }},
    {{.name = "metadata", .kinds = kObject, .treatment = Treatment::kEcho, .example = R"({"user_id":"u"})", .note = "user_id only"}, take_metadata},
    {{.name = "service_tier", .kinds = kString, .treatment = Treatment::kEcho, .example = R"("auto")", .note = "auto or standard_only; the reply says standard"}, take_service_tier},
    {{.name = "container", .treatment = Treatment::kRefuse, .note = kFetchesNothing}},
    {{.name = "inference_geo", .treatment = Treatment::kRefuse}},
    {{.name = "diagnostics", .treatment = Treatment::kRefuse, .harmless = "{}"}},
    {{.name = "speed", .treatment = Treatment::kRefuse, .harmless = R"("standard")"}},
};

constexpr std::span<const AnthropicField> kMessageTables[] = {kMessages, kCommon};
constexpr std::span<const AnthropicField> kCountTables[] = {kCommon};

Refusal check_version(const HttpRequest& http, AnthropicCall& call) {
  if (http.anthropic_version.empty()) return bad_field("anthropic-version", "missing_required_parameter", "anthropic-version: header is required");
  if (http.anthropic_version != kOldVersion && http.anthropic_version != kNewVersion) {
    return bad_field("anthropic-version", "invalid_value", "anthropic-version: \"" + http.anthropic_version + "\" is not a valid version; 2023-06-01 and 2026-10-21 are");
  }
  call.sampling_allowed = http.anthropic_version == kOldVersion;
  return {};
}

Refusal check_points(const AnthropicCall& call) {
  if (call.points.size() > kMostCachePoints) {
    return bad_field("cache_control", "invalid_value", "A maximum of 4 blocks with cache_control may be provided. Found " + std::to_string(call.points.size()) + ".");
  }
  const bool longest_first = std::is_sorted(call.points.begin(), call.points.end(), [](const CachePoint& a, const CachePoint& b) { return a.ttl > b.ttl; });
  if (!longest_first) return bad_field("cache_control", "invalid_value", "cache_control: a ttl of 1h must not come after one of 5m");
  return {};
}

}  // namespace

AnthropicTables anthropic_message_tables() { return kMessageTables; }
AnthropicTables anthropic_count_tables() { return kCountTables; }

Refusal parse_anthropic_call(const HttpRequest& http, AnthropicTables tables, bool lenient, AnthropicCall& call) {
  if (Refusal r = check_version(http, call)) return r;
  JsonDocument body;
  if (Refusal r = body.parse(http.body)) return r;
  if (Refusal r = parse_fields<AnthropicCall>(body.root(), tables, "", lenient, call)) return r;
  if (!call.seed_given) call.base.sampling.seed = draw_seed();
  if (call.has_system) {
    call.messages.insert(call.messages.begin(), text_message("system", call.system));
    for (CachePoint& p : call.points) ++p.message;
    call.points.insert(call.points.begin(), call.system_points.begin(), call.system_points.end());
  }
  if (call.whole_ttl) call.points.push_back({call.messages.size() - 1, call.messages.back().content.size(), *call.whole_ttl});
  return check_points(call);
}

}  // namespace inferens
