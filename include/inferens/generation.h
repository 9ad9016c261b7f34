// The one canonical request and the one event. Every dialect, the command line, batch jobs and the benchmark use these.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "inferens/status.h"

namespace inferens {

using TokenId = int32_t;

// The order in which samplers apply (docs/sampling.md).
enum class SamplerOrder {
  kOpenAi,    // bias, penalties, temperature, top-k, top-p, min-p, typical … as OpenAI-style and Hugging Face servers do
  kLlamaCpp,  // bias, penalties, DRY, top-k, typical, top-p, min-p, XTC, temperature last
};

struct SamplingParams {
  double temperature = 1.0;         // ≥ 0; 0 is greedy
  int32_t top_k = 0;                // 0: all
  double top_p = 1.0;               // (0, 1]
  double min_p = 0.0;               // [0, 1]
  double typical_p = 1.0;           // (0, 1]
  double repetition_penalty = 1.0;  // > 0; multiplicative, over prompt and output
  double presence_penalty = 0.0;    // [-2, 2], over the output
  double frequency_penalty = 0.0;   // [-2, 2], over the output
  int32_t penalty_window = -1;      // last tokens that repetition_penalty looks at; -1: all
  double dry_multiplier = 0.0;      // 0: off
  double dry_base = 1.75;
  int32_t dry_allowed_length = 2;
  int32_t dry_window = -1;          // -1: all
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};
  double xtc_probability = 0.0;     // 0: off
  double xtc_threshold = 0.1;
  int32_t mirostat = 0;             // 0: off; 2: Mirostat 2.0
  double mirostat_tau = 5.0;
  double mirostat_eta = 0.1;
  std::map<TokenId, double> logit_bias;  // added to logits; ≤ -100 bans the token, ≥ 100 all but forces it
  uint64_t seed = 0;                     // always set: the front end draws one when the caller gave none
  SamplerOrder order = SamplerOrder::kOpenAi;
};

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments_json;
};

// One turn of a chat. `content` is plain text: it can never become a special token.
struct ChatMessage {
  std::string role;
  std::string content;
  bool has_content = true;  // false renders as None in templates
  std::string name;
  std::string reasoning_content;
  std::vector<ToolCall> tool_calls;
  std::string tool_call_id;
};

struct ChatPrompt {
  std::vector<ChatMessage> messages;
  std::string tools_json;            // a JSON array of tool definitions, or empty
  std::string template_kwargs_json;  // a JSON object of extra template variables, or empty
  bool add_generation_prompt = true;
  bool continue_final_message = false;
};

// What the output must be. A constraint that cannot be kept is refused when the request is made, never loosened.
struct OutputConstraint {
  enum class Kind {
    kJsonObject,  // any JSON object
    kJsonSchema,  // source: a JSON Schema
    kRegex,       // source: a regular expression for the whole output
    kChoice,      // one of choices
    kGrammar,     // source: rules in EBNF or GBNF, beginning with root
  };
  Kind kind = Kind::kJsonObject;
  std::string source;
  std::vector<std::string> choices;
  std::string field = {};  // of the request that asked for it, for errors; no part of what it means
};

enum class SchedulingClass { kVoice, kChat, kAgent, kBatch };

struct GenerationRequest {
  std::string id;
  std::string model;
  std::variant<ChatPrompt, std::string, std::vector<TokenId>> prompt;  // chat, raw text, or tokens
  bool add_special_tokens = true;  // raw text: BOS and such as the tokenizer's own rules say
  SamplingParams sampling;
  int32_t max_tokens = -1;  // -1: until the context is full
  int32_t min_tokens = 0;
  bool ignore_eos = false;
  std::vector<std::string> stop;
  std::vector<TokenId> stop_token_ids;
  bool include_stop_in_output = false;
  bool skip_special_tokens = true;
  int32_t n = 1;
  int32_t logprobs = -1;         // -1: none; k: the chosen token's and the k most likely
  int32_t prompt_logprobs = -1;  // the same for prompt tokens
  bool echo = false;
  std::optional<OutputConstraint> constraint;
  SchedulingClass scheduling_class = SchedulingClass::kChat;
  int32_t priority = 0;  // smaller runs earlier inside a class
  std::string api_key_id;
  std::string cache_salt;
};

struct TokenLogprob {
  TokenId token = 0;
  std::string bytes;  // the token's bytes, not always whole UTF-8
  float logprob = 0;
};

struct PositionLogprobs {
  TokenLogprob chosen;
  int32_t rank = 0;  // 1: the most likely
  std::vector<TokenLogprob> top;
};

enum class FinishReason { kNone, kStop, kLength, kCancelled, kError };

struct TokenUsage {
  int32_t prompt_tokens = 0;
  int32_t cached_tokens = 0;  // of the prompt, really not computed
  int32_t completion_tokens = 0;
};

// All in nanoseconds of the engine's clock.
struct RequestTimings {
  int64_t queued = 0;    // submit to first scheduled
  int64_t prefill = 0;   // first scheduled to first token
  int64_t ttft = 0;      // submit to first token
  int64_t decode = 0;    // first token to last token
  int64_t total = 0;     // submit to end
};

// What happens to a request, in order: prompt (when echo or prompt_logprobs was asked); per choice index: text…, finished;
// then once per request: done (or error, and nothing after it).
struct GenerationEvent {
  enum class Kind {
    kPrompt,    // the prompt's tokens; text when echo; one logprobs entry per token when prompt_logprobs, the first with rank 0
    kText,
    kFinished,  // tokens: the stop token that ended the choice, when one did
    kDone,
    kError,
  };
  Kind kind = Kind::kText;
  int32_t index = 0;                // choice, 0 ≤ index < n
  std::string text;                 // kText: whole UTF-8, never part of a held-back stop string
  std::vector<TokenId> tokens;      // kText: the tokens that became certain with this event
  std::vector<PositionLogprobs> logprobs;
  FinishReason finish = FinishReason::kNone;  // kFinished
  std::string stop_reason;                    // kFinished by a stop string: which
  std::vector<float> embedding;               // kFinished of an embedding (engine/embedding.h)
  TokenUsage usage;                 // kDone: whole request
  RequestTimings timings;           // kDone
  Status error;                     // kError
};

// Called on an engine-side thread in order; must be quick and must not call back into the engine.
using EventSink = std::function<void(GenerationEvent&&)>;

}  // namespace inferens
