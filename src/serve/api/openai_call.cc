// What the field tables cannot say: rules between fields, and the way from a call to the engine's requests.
#include "serve/api/openai_call.h"

#include "serve/seed.h"

namespace inferens {
namespace {

constexpr int32_t kCompletionTokens = 16;  // OpenAI's default of max_tokens there
constexpr int64_t kMostChoices = 128;      // prompts × n of one request

Refusal check_common(const HttpRequest& http, OpenAiCall& call) {
  if (!call.seed_given) call.base.sampling.seed = draw_seed();
  if (call.stream_options && !call.stream) return bad_field("stream_options", "invalid_value", "'stream_options' needs 'stream' to be true");
  if (call.stream && call.prompt_logprobs_asked) return bad_field("prompt_logprobs", "invalid_value", "'prompt_logprobs' needs 'stream' to be false");
  if (http.groq && call.base.n != 1) return bad_field("n", "invalid_value", "'n' must be 1 on this base");
  if (call.flex) call.base.scheduling_class = SchedulingClass::kBatch;
  const int64_t choices = static_cast<int64_t>(call.prompts.size()) * std::max(call.base.n, call.best_of.value_or(1));
  if (choices > kMostChoices) {
    return bad_field("n", "invalid_value", std::to_string(choices) + " answers are asked for, all prompts together; at most " + std::to_string(kMostChoices) + " are given");
  }
  return {};
}

}  // namespace

Refusal parse_chat_call(const HttpRequest& http, bool lenient, OpenAiCall& call) {
  JsonDocument body;
  if (Refusal r = body.parse(http.body)) return r;
  if (Refusal r = parse_fields<OpenAiCall>(body.root(), openai_chat_tables(), "", lenient, call)) return r;
  if (call.max_tokens && call.max_completion_tokens) {
    return bad_field("max_tokens", "invalid_value", "'max_tokens' and 'max_completion_tokens' say the same thing; give one of them");
  }
  const std::optional<int64_t> limit = call.max_tokens ? call.max_tokens : call.max_completion_tokens;
  if (limit && *limit < 1) {
    return bad_field(call.max_tokens ? "max_tokens" : "max_completion_tokens", "integer_below_min_value", "a chat answer needs room for at least 1 token");
  }
  if (limit) call.base.max_tokens = static_cast<int32_t>(*limit);
  if (call.top_logprobs && !call.logprobs) return bad_field("top_logprobs", "invalid_value", "'top_logprobs' needs 'logprobs' to be true");
  if (call.logprobs) call.base.logprobs = call.top_logprobs.value_or(0);
  if (call.chat.continue_final_message && call.chat.add_generation_prompt) {
    return bad_field("continue_final_message", "invalid_value", "'continue_final_message' needs 'add_generation_prompt' to be false");
  }
  call.prompts.emplace_back(std::move(call.chat));
  return check_common(http, call);
}

Refusal parse_completion_call(const HttpRequest& http, bool lenient, OpenAiCall& call) {
  JsonDocument body;
  if (Refusal r = body.parse(http.body)) return r;
  if (Refusal r = parse_fields<OpenAiCall>(body.root(), openai_completion_tables(), "", lenient, call)) return r;
  if (call.prompts.empty()) call.prompts.emplace_back(std::string());
  call.base.max_tokens = static_cast<int32_t>(call.max_tokens.value_or(kCompletionTokens));
  if (call.base.max_tokens == 0 && !call.base.echo) {
    return bad_field("max_tokens", "integer_below_min_value", "'max_tokens' 0 needs 'echo': it scores the prompt");
  }
  if (call.best_of && *call.best_of < call.base.n) return bad_field("best_of", "invalid_value", "'best_of' must be at least 'n'");
  if (call.best_of && *call.best_of > call.base.n && call.stream) {
    return bad_field("best_of", "invalid_value", "'best_of' above 'n' cannot be streamed: which answers are best is known at the end");
  }
  // The prompt's logprobs stand in front of the answer's.
  if (call.base.echo && call.base.logprobs >= 0) {
    if (call.base.prompt_logprobs < 0) call.base.prompt_logprobs = call.base.logprobs;
  }
  return check_common(http, call);
}

std::vector<GenerationRequest> engine_requests(OpenAiCall& call) {
  std::vector<GenerationRequest> requests;
  for (Prompt& prompt : call.prompts) {
    GenerationRequest& request = requests.emplace_back(call.base);
    request.prompt = std::move(prompt);
    if (!call.best_of || *call.best_of == call.base.n) continue;
    request.n = *call.best_of;
    request.logprobs = std::max(request.logprobs, 0);  // to rank by
  }
  call.prompts.clear();
  return requests;
}

}  // namespace inferens
