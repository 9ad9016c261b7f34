// The field tables of OpenAI's chat and text completions. Fields after "Extensions" are those of vLLM and llama.cpp that
// clients send.
#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

#include "serve/api/openai_call.h"
#include "serve/api/output_constraint.h"

namespace inferens {
namespace {

constexpr double kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr size_t kMostStops = 4;
constexpr size_t kMostStopTokens = 128;
constexpr size_t kMostBiases = 1024;
constexpr size_t kMostPairs = 16;
constexpr size_t kLongestPairKey = 64;
constexpr size_t kLongestPairValue = 512;
constexpr size_t kLongestSalt = 128;
constexpr size_t kMostBreakers = 64;
// Zero would leave no token at all; this leaves the likeliest.
constexpr double kLeastTopP = 1e-9;

int32_t int32_of(Json value) { return static_cast<int32_t>(integer_of(value)); }

Refusal take_stop(Json value, OpenAiCall& call) {
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) {
    if (text_of(value).empty()) return bad_field("stop", "invalid_value", "'stop' is an empty string, which would stop before the first token");
    call.base.stop.assign(1, std::string(text_of(value)));
    return {};
  }
  for (const Json item : list) {
    if (!item.is_string() || text_of(item).empty()) return bad_field("stop", "invalid_type", "'stop' must be a string or an array of strings that are not empty");
    call.base.stop.emplace_back(text_of(item));
  }
  if (call.base.stop.size() > kMostStops) return bad_field("stop", "array_above_max_length", "'stop' has " + std::to_string(call.base.stop.size()) + " strings; at most 4 are taken");
  return {};
}

Refusal take_logit_bias(Json value, OpenAiCall& call) {
  simdjson::dom::object biases = value.get_object();
  if (biases.size() > kMostBiases) return bad_field("logit_bias", "invalid_value", "'logit_bias' has " + std::to_string(biases.size()) + " entries; at most 1024 are taken");
  for (const auto [key, bias] : biases) {
    TokenId token = -1;
    const auto end = std::from_chars(key.data(), key.data() + key.size(), token);
    if (end.ec != std::errc() || end.ptr != key.data() + key.size() || token < 0) return bad_field("logit_bias", "invalid_value", "'logit_bias' has a key that is not a token id");
    if (!bias.is_number() || number_of(bias) < -100 || number_of(bias) > 100) return bad_field("logit_bias", "invalid_value", "'logit_bias' of token " + std::to_string(token) + " must be a number between -100 and 100");
    call.base.sampling.logit_bias[token] = number_of(bias);
  }
  return {};
}

Refusal take_stream_options(Json value, OpenAiCall& call) {
  static constexpr OpenAiField kFields[] = {
      {{.name = "include_usage", .kinds = kBoolean}, [](Json v, OpenAiCall& c) -> Refusal { c.include_usage = boolean_of(v); return {}; }},
      {{.name = "include_obfuscation", .kinds = kBoolean}, [](Json v, OpenAiCall& c) -> Refusal { c.obfuscate = boolean_of(v); return {}; }},
      {{.name = "continuous_usage_stats", .treatment = Treatment::kRefuse, .note = "usage comes once, before [DONE]", .harmless = "false"}},
  };
  static constexpr std::span<const OpenAiField> kTables[] = {kFields};
  call.stream_options = true;
  return parse_fields<OpenAiCall>(value.get_object(), kTables, "stream_options.", false, call);
}

Refusal take_metadata(Json value, OpenAiCall&) {
  simdjson::dom::object pairs = value.get_object();
  if (pairs.size() > kMostPairs) return bad_field("metadata", "invalid_value", "'metadata' has more than 16 pairs");
  for (const auto [key, text] : pairs) {
    if (!text.is_string() || key.size() > kLongestPairKey || text_of(text).size() > kLongestPairValue) return bad_field("metadata", "invalid_value", "'metadata' must map keys of at most 64 characters to strings of at most 512");
  }
  return {};
}

Refusal take_stop_token_ids(Json value, OpenAiCall& call) {
  simdjson::dom::array ids = value.get_array();
  if (ids.size() > kMostStopTokens) return bad_field("stop_token_ids", "array_above_max_length", "'stop_token_ids' has more than 128 entries");
  for (const Json id : ids) {
    if (!id.is_int64() || integer_of(id) < 0 || integer_of(id) > std::numeric_limits<int32_t>::max()) return bad_field("stop_token_ids", "invalid_type", "'stop_token_ids' must be an array of token ids");
    call.base.stop_token_ids.push_back(int32_of(id));
  }
  return {};
}

Refusal take_cache_salt(Json value, OpenAiCall& call) {
  const std::string_view salt = text_of(value);
  const bool printable = std::all_of(salt.begin(), salt.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (salt.empty() || salt.size() > kLongestSalt || !printable) return bad_field("cache_salt", "invalid_value", "'cache_salt' must be 1 to 128 printable ASCII characters without spaces");
  call.base.cache_salt = salt;
  return {};
}

Refusal take_service_tier(Json value, OpenAiCall& call) {
  const std::string_view tier = text_of(value);
  constexpr std::string_view kTiers[] = {"auto", "default", "flex", "scale", "priority", "fast", "on_demand", "performance", "standard_only"};
  if (std::find(std::begin(kTiers), std::end(kTiers), tier) == std::end(kTiers)) return bad_field("service_tier", "invalid_value", "'service_tier' must be auto, default, flex, scale, priority or fast");
  call.flex = tier == "flex";
  return {};
}

Refusal take_class(Json value, OpenAiCall& call) {
  constexpr std::pair<std::string_view, SchedulingClass> kClasses[] = {{"voice", SchedulingClass::kVoice}, {"chat", SchedulingClass::kChat}, {"agent", SchedulingClass::kAgent}, {"batch", SchedulingClass::kBatch}};
  for (const auto& [name, c] : kClasses) {
    if (text_of(value) != name) continue;
    call.base.scheduling_class = c;
    return {};
  }
  return bad_field("scheduling_class", "invalid_value", "'scheduling_class' must be voice, chat, agent or batch");
}

Refusal take_breakers(Json value, OpenAiCall& call) {
  simdjson::dom::array list = value.get_array();
  if (list.size() > kMostBreakers) return bad_field("dry_sequence_breakers", "array_above_max_length", "'dry_sequence_breakers' has more than 64 entries");
  call.base.sampling.dry_sequence_breakers.clear();
  for (const Json item : list) {
    if (!item.is_string() || text_of(item).empty()) return bad_field("dry_sequence_breakers", "invalid_type", "'dry_sequence_breakers' must be an array of strings that are not empty");
    call.base.sampling.dry_sequence_breakers.emplace_back(text_of(item));
  }
  return {};
}

Refusal take_mirostat(Json value, OpenAiCall& call) {
  if (integer_of(value) == 1) return bad_field("mirostat", "invalid_value", "'mirostat' must be 0 (off) or 2");
  call.base.sampling.mirostat = int32_of(value);
  return {};
}

Refusal take_logprob_count(Json value, OpenAiCall& call) {
  call.base.logprobs = int32_of(value);
  return {};
}

Refusal take_token_list(simdjson::dom::array list, OpenAiCall& call) {
  std::vector<TokenId> tokens;
  tokens.reserve(list.size());
  for (const Json item : list) {
    if (!item.is_int64() || integer_of(item) < 0 || integer_of(item) > std::numeric_limits<int32_t>::max()) return bad_field("prompt", "invalid_type", "'prompt' must be a string, an array of strings, an array of token ids, or an array of such arrays");
    tokens.push_back(int32_of(item));
  }
  if (tokens.empty()) return bad_field("prompt", "invalid_value", "'prompt' has no tokens");
  call.prompts.emplace_back(std::move(tokens));
  return {};
}

// All prompts together; each becomes a request of its own.
constexpr size_t kMostPrompts = 128;

Refusal take_prompt(Json value, OpenAiCall& call) {
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) {
    call.prompts.emplace_back(std::string(text_of(value)));
    return {};
  }
  if (list.size() == 0) return bad_field("prompt", "invalid_value", "'prompt' is an empty array");
  if (list.at(0).is_number()) return take_token_list(list, call);
  if (list.size() > kMostPrompts) return bad_field("prompt", "array_above_max_length", "'prompt' has " + std::to_string(list.size()) + " prompts; at most 128 are taken");
  for (const Json item : list) {
    simdjson::dom::array tokens;
    if (item.is_string()) {
      call.prompts.emplace_back(std::string(text_of(item)));
    } else if (item.get(tokens) == simdjson::SUCCESS) {
      if (Refusal r = take_token_list(tokens, call)) return r;
    } else {
      return bad_field("prompt", "invalid_type", "'prompt' must be a string, an array of strings, an array of token ids, or an array of such arrays");
    }
  }
  return {};
}

Refusal take_reasoning_effort(Json value, OpenAiCall& call) {
  constexpr std::string_view kEfforts[] = {"none", "minimal", "low", "medium", "high", "xhigh", "max"};
  if (std::find(std::begin(kEfforts), std::end(kEfforts), text_of(value)) == std::end(kEfforts)) return bad_field("reasoning_effort", "invalid_value", "'reasoning_effort' must be none, minimal, low, medium, high, xhigh or max");
  if (text_of(value) != "none") call.reasoning_effort = text_of(value);
  return {};
}

constexpr std::string_view kMedia = "only text models are served";
constexpr std::string_view kNoTools = "tool calls are not offered yet";

constexpr OpenAiField kCommon[] = {
    {{.name = "model", .kinds = kString, .example = R"("tiny")", .note = "a name of GET /v1/models", .required = true}, [](Json v, OpenAiCall& c) -> Refusal { c.model = text_of(v); return {}; }},
    {{.name = "max_tokens", .kinds = kInteger, .example = "4", .note = "chat: same as max_completion_tokens, not both; completions: 16 when absent", .low = 0, .high = kMaxInt32}, [](Json v, OpenAiCall& c) -> Refusal { c.max_tokens = integer_of(v); return {}; }},
    {{.name = "temperature", .kinds = kNumber, .example = "0.7", .note = "0 takes the likeliest token; 1 when absent", .low = 0, .high = 2}, [](Json v, OpenAiCall& c) -> Refusal { c.base.sampling.temperature = number_of(v); return {}; }},
    {{.name = "top_p", .kinds = kNumber, .example = "0.9", .note = "1 when absent", .low = 0, .high = 1}, [](Json v, OpenAiCall& c) -> Refusal { c.base.sampling.top_p = std::max(number_of(v), kLeastTopP); return {}; }},
    {{.name = "n", .kinds = kInteger, .example = "2", .note = "answers to each prompt, which share its pages", .low = 1, .high = 128}, [](Json v, OpenAiCall& c) -> Refusal { c.base.n = int32_of(v); return {}; }},
    {{.name = "stop", .kinds = kString | kArray, .example = R"(["END"])", .note = "a string or up to 4"}, take_stop},
    {{.name = "seed", .kinds = kInteger, .example = "7", .note = "the same seed gives the same answer; drawn when absent"}, [](Json v, OpenAiCall& c) -> Refusal { c.base.sampling.seed = static_cast<uint64_t>(integer_of(v)); c.seed_given = true; return {}; }},
    {{.name = "frequency_penalty", .kinds = kNumber, .example = "0.5", .low = -2, .high = 2}, [](Json v, OpenAiCall& c) -> Refusal { c.base.sampling.frequency_penalty = number_of(v); return {}; }},
    {{.name = "presence_penalty", .kinds = kNumber, .example = "0.5", .low = -2, .high = 2}, [](Json v, OpenAiCall& c) -> Refusal { c.base.sampling.presence_penalty = number_of(v); return {}; }},
    {{.name = "logit_bias", .kinds = kObject, .example = R"({"5":-100})", .note = "token id to -100 … 100"}, take_logit_bias},
    {{.name = "stream", .kinds = kBoolean, .example = "true"}, [](Json v, OpenAiCall& c) -> Refusal { c.stream = boolean_of(v); return {}; }},
    {{.name = "stream_options", .kinds = kObject, .example = R"({"include_usage":true})", .note = "include_usage, include_obfuscation; with stream only"}, take_stream_options},
    {{.name = "user", .kinds = kString, .treatment = Treatment::kEcho, .example = R"("u")"}},
    // Extensions.
    {{.name = "top_k", .kinds = kInteger, .example = "40", .note = "0 or -1: all", .low = -1, .high = kMaxInt32}, [](Json v, OpenAiCall& c) -> Refusal { c.base.sampling.top_k = std::max(0, int32_of(v)); return {}; }},
    {{.name = "min_p", .kinds = kNumber, .example = "0.05", .low = 0, .high = 1}, [](Json v, OpenAiCall& c) -> Refusal { c.base.sampling.min_p = number_of(v); return {}; }},
    {{.name = "typical_p", .kinds = kNumber, .example = "0.9", .low = 1e-6, .high = 1}, [](Json v, OpenAiCall& c) -> Refusal { c.base.sampling.typical_p = number_of(v); return {}; }},
    {{.name = "repetition_penalty", .kinds = kNumber, .example = "1.1", .low = 0.01, .high = 100}, [](Json v, OpenAiCall& c) -> Refusal { c.base.sampling.repetition_penalty = number_of(v); return {}; }},
    {{.name = "min_tokens", .kinds = kInteger, .example = "1", .low = 0, .high = kMaxInt32}, [](Json v, OpenAiCall& c) -> Refusal { c.base.min_tokens = int32_of(v); return {}; }},
    {{.name = "ignore_eos", .kinds = kBoolean, .example = "true"}, [](Json v, OpenAiCall& c) -> Refusal { c.base.ignore_eos = boolean_of(v); return {}; }},
    {{.name = "stop_token_ids", .kinds = kArray, .example = "[2]"}, take_stop_token_ids},
    {{.name = "include_stop_str_in_output", .kinds = kBoolean, .example = "true"}, [](Json v, OpenAiCall& c) -> Refusal { c.base.include_stop_in_output = boolean_of(v); return {}; }},
    {{.name = "skip_special_tokens", .kinds = kBoolean, .example = "false"}, [](Json v, OpenAiCall& c) -> Refusal { c.base.skip_special_tokens = boolean_of(v); return {}; }},
    {{.name = "priority", .kinds = kInteger, .example = "1", .note = "smaller runs earlier inside a class", .low = -1000, .high = 1000}, [](Json v, OpenAiCall& c) -> Refusal { c.base.priority = int32_of(v); return {}; }},
    {{.name = "scheduling_class", .kinds = kString, .example = R"("agent")", .note = "voice, chat, agent or batch"}, take_class},
    {{.name = "cache_salt", .kinds = kString, .example = R"("team-a")", .note = "parts the prefix cache further; ≤ 128 printable ASCII characters"}, take_cache_salt},
    {{.name = "prompt_logprobs", .kinds = kInteger, .example = "1", .note = "of the prompt's tokens; without stream only", .low = 0, .high = 20}, [](Json v, OpenAiCall& c) -> Refusal { c.base.prompt_logprobs = int32_of(v); c.prompt_logprobs_asked = true; return {}; }},
    {{.name = "dry_multiplier", .kinds = kNumber, .example = "0.8", .low = 0, .high = 100}, [](Json v, OpenAiCall& c) -> Refusal { c.base.sampling.dry_multiplier = number_of(v); return {}; }},
    {{.name = "dry_base", .kinds = kNumber, .example = "1.75", .low = 1, .high = 100}, [](Json v, OpenAiCall& c) -> Refusal { c.base.sampling.dry_base = number_of(v); return {}; }},
    {{.name = "dry_allowed_length", .kinds = kInteger, .example = "2", .low = 1, .high = kMaxInt32}, [](Json v, OpenAiCall& c) -> Refusal { c.base.sampling.dry_allowed_length = int32_of(v); return {}; }},
    {{.name = "dry_penalty_last_n", .kinds = kInteger, .example = "-1", .low = -1, .high = kMaxInt32}, [](Json v, OpenAiCall& c) -> Refusal { c.base.sampling.dry_window = int32_of(v); return {}; }},
    {{.name = "dry_sequence_breakers", .kinds = kArray, .example = R"(["\n"])"}, take_breakers},
    {{.name = "xtc_probability", .kinds = kNumber, .example = "0.5", .low = 0, .high = 1}, [](Json v, OpenAiCall& c) -> Refusal { c.base.sampling.xtc_probability = number_of(v); return {}; }},
    {{.name = "xtc_threshold", .kinds = kNumber, .example = "0.1", .low = 0, .high = 1}, [](Json v, OpenAiCall& c) -> Refusal { c.base.sampling.xtc_threshold = number_of(v); return {}; }},
    {{.name = "mirostat", .kinds = kInteger, .example = "2", .note = "0 or 2", .low = 0, .high = 2}, take_mirostat},
    {{.name = "mirostat_tau", .kinds = kNumber, .example = "5", .low = 0, .high = 100}, [](Json v, OpenAiCall& c) -> Refusal { c.base.sampling.mirostat_tau = number_of(v); return {}; }},
    {{.name = "mirostat_eta", .kinds = kNumber, .example = "0.1", .low = 0, .high = 1}, [](Json v, OpenAiCall& c) -> Refusal { c.base.sampling.mirostat_eta = number_of(v); return {}; }},
    {{.name = "length_penalty", .treatment = Treatment::kRefuse, .note = "there is no beam search", .harmless = "1|1.0"}},
    {{.name = "use_beam_search", .treatment = Treatment::kRefuse, .note = "there is no beam search", .harmless = "false"}},
    {{.name = "spaces_between_special_tokens", .treatment = Treatment::kRefuse, .harmless = "true"}},
    {{.name = "truncate_prompt_tokens", .treatment = Treatment::kRefuse, .note = "a prompt is never cut"}},
    {{.name = "response_format", .kinds = kObject, .example = R"({"type":"json_object"})", .note = "type text, json_object or json_schema; a schema that cannot be kept to the letter is refused"}, [](Json v, OpenAiCall& c) -> Refusal { return take_response_format(v, c.base); }},
    {{.name = "structured_outputs", .kinds = kObject, .example = R"({"regex":"[0-9]+"})", .note = "one of json, json_object, regex, choice, grammar"}, [](Json v, OpenAiCall& c) -> Refusal { return take_structured_outputs(v, c.base); }},
    {{.name = "guided_json", .kinds = kObject | kString, .example = R"({"type":"integer"})", .note = "a JSON Schema"}, [](Json v, OpenAiCall& c) -> Refusal { return constrain_to_schema("guided_json", v, c.base); }},
    {{.name = "guided_regex", .kinds = kString, .example = R"("[0-9]+")", .note = "for the whole answer"}, [](Json v, OpenAiCall& c) -> Refusal { return constrain("guided_regex", {OutputConstraint::Kind::kRegex, std::string(text_of(v)), {}}, c.base); }},
    {{.name = "guided_choice", .kinds = kArray, .example = R"(["yes","no"])"}, [](Json v, OpenAiCall& c) -> Refusal { return constrain_to_choice("guided_choice", v, c.base); }},
    {{.name = "guided_grammar", .kinds = kString, .example = R"("root ::= \"a\"")", .note = "EBNF or GBNF, beginning with root"}, [](Json v, OpenAiCall& c) -> Refusal { return constrain("guided_grammar", {OutputConstraint::Kind::kGrammar, std::string(text_of(v)), {}}, c.base); }},
    {{.name = "grammar", .kinds = kString, .example = R"("root ::= \"a\"")", .note = "the same"}, [](Json v, OpenAiCall& c) -> Refusal { return constrain("grammar", {OutputConstraint::Kind::kGrammar, std::string(text_of(v)), {}}, c.base); }},
};

constexpr OpenAiField kChat[] = {
    {{.name = "messages", .kinds = kArray, .example = R"([{"role":"user","content":"Hi"}])", .note = "roles developer, system, user, assistant, tool; content a string or parts of type text or refusal", .required = true}, take_messages},
    {{.name = "max_completion_tokens", .kinds = kInteger, .example = "4", .note = "until the context is full when absent", .low = 0, .high = kMaxInt32}, [](Json v, OpenAiCall& c) -> Refusal { c.max_completion_tokens = integer_of(v); return {}; }},
    {{.name = "logprobs", .kinds = kBoolean, .example = "true"}, [](Json v, OpenAiCall& c) -> Refusal { c.logprobs = boolean_of(v); return {}; }},
    {{.name = "top_logprobs", .kinds = kInteger, .example = "2", .note = "with logprobs only", .low = 0, .high = 20}, [](Json v, OpenAiCall& c) -> Refusal { c.top_logprobs = int32_of(v); return {}; }},
    {{.name = "service_tier", .kinds = kString, .example = R"("flex")", .note = "flex runs in the batch class; every other one as default, and the reply says so"}, take_service_tier},
    {{.name = "reasoning_effort", .kinds = kString, .example = R"("none")", .note = "given to templates that know it; else only none"}, take_reasoning_effort},
    {{.name = "safety_identifier", .kinds = kString, .treatment = Treatment::kEcho, .example = R"("u")"}},
    {{.name = "prompt_cache_key", .kinds = kString, .treatment = Treatment::kEcho, .example = R"("k")", .note = "prefixes are found without it"}},
    {{.name = "prompt_cache_retention", .kinds = kString, .treatment = Treatment::kEcho, .example = R"("in_memory")"}},
    {{.name = "metadata", .kinds = kObject, .treatment = Treatment::kEcho, .example = R"({"a":"b"})", .note = "≤ 16 pairs of strings"}, take_metadata},
    {{.name = "parallel_tool_calls", .kinds = kBoolean, .treatment = Treatment::kEcho, .example = "true"}},
    {{.name = "add_generation_prompt", .kinds = kBoolean, .example = "true"}, [](Json v, OpenAiCall& c) -> Refusal { c.chat.add_generation_prompt = boolean_of(v); return {}; }},
    {{.name = "continue_final_message", .kinds = kBoolean, .example = "false", .note = "goes on with the last message; needs add_generation_prompt false"}, [](Json v, OpenAiCall& c) -> Refusal { c.chat.continue_final_message = boolean_of(v); return {}; }},
    {{.name = "tools", .treatment = Treatment::kRefuse, .note = kNoTools, .harmless = "[]"}},
    {{.name = "tool_choice", .treatment = Treatment::kRefuse, .note = kNoTools, .harmless = R"("none"|"auto")"}},
    {{.name = "functions", .treatment = Treatment::kRefuse, .note = kNoTools, .harmless = "[]"}},
    {{.name = "function_call", .treatment = Treatment::kRefuse, .note = kNoTools, .harmless = R"("none"|"auto")"}},
    {{.name = "audio", .treatment = Treatment::kRefuse, .note = kMedia}},
    {{.name = "modalities", .treatment = Treatment::kRefuse, .note = kMedia, .harmless = R"(["text"])"}},
    {{.name = "web_search_options", .treatment = Treatment::kRefuse, .note = "this server fetches nothing"}},
    {{.name = "moderation", .treatment = Treatment::kRefuse}},
    {{.name = "prediction", .treatment = Treatment::kRefuse}},
    {{.name = "prompt_cache_options", .treatment = Treatment::kRefuse, .note = "every prompt is cached as it is"}},
    {{.name = "store", .treatment = Treatment::kRefuse, .note = "answers are not kept", .harmless = "false"}},
    {{.name = "verbosity", .treatment = Treatment::kRefuse}},
    {{.name = "chat_template", .treatment = Treatment::kRefuse, .note = "templates come with the model, never with a request"}},
    {{.name = "chat_template_kwargs", .treatment = Treatment::kRefuse, .harmless = "{}"}},
    {{.name = "documents", .treatment = Treatment::kRefuse}},
    {{.name = "reasoning_format", .treatment = Treatment::kRefuse}},
    {{.name = "include_reasoning", .treatment = Treatment::kRefuse}},
    {{.name = "search_settings", .treatment = Treatment::kRefuse, .note = "this server fetches nothing"}},
    {{.name = "echo", .treatment = Treatment::kRefuse, .harmless = "false"}},
};

constexpr OpenAiField kCompletion[] = {
    {{.name = "prompt", .kinds = kString | kArray, .example = R"("Hi")", .note = "a string, strings, token ids, or lists of token ids; one that is absent or empty is BOS alone (EOS where there is no BOS)"}, take_prompt},
    {{.name = "logprobs", .kinds = kInteger, .example = "2", .low = 0, .high = 5}, take_logprob_count},
    {{.name = "echo", .kinds = kBoolean, .example = "true", .note = "the prompt in front of the answer; with logprobs, its logprobs too"}, [](Json v, OpenAiCall& c) -> Refusal { c.base.echo = boolean_of(v); return {}; }},
    {{.name = "best_of", .kinds = kInteger, .example = "2", .note = "≥ n, without stream; ranked by mean logprob per token", .low = 1, .high = 20}, [](Json v, OpenAiCall& c) -> Refusal { c.best_of = int32_of(v); return {}; }},
    {{.name = "add_special_tokens", .kinds = kBoolean, .example = "true"}, [](Json v, OpenAiCall& c) -> Refusal { c.base.add_special_tokens = boolean_of(v); return {}; }},
    {{.name = "suffix", .kinds = kString, .example = R"("")", .note = "the answer fills the gap between prompt and suffix; text prompts of models trained for it, without echo"}, [](Json v, OpenAiCall& c) -> Refusal { c.suffix = text_of(v); return {}; }},
};

constexpr std::span<const OpenAiField> kChatTables[] = {kChat, kCommon};
constexpr std::span<const OpenAiField> kCompletionTables[] = {kCompletion, kCommon};
static_assert(std::size(kChat) + std::size(kCommon) <= kMaxFields);

}  // namespace

OpenAiTables openai_chat_tables() { return kChatTables; }
OpenAiTables openai_completion_tables() { return kCompletionTables; }

}  // namespace inferens
