// A request of /v1/chat/completions or /v1/completions, read by the field tables: what both endpoints have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/generator.h"
#include "inferens/generation.h"
#include "serve/api/fields.h"
#include "serve/http_message.h"

namespace inferens {

using Prompt = std::variant<ChatPrompt, std::string, std::vector<TokenId>>;

struct OpenAiCall {
  std::string model;
  GenerationRequest base;       // of every prompt; its own prompt is not looked at
  std::vector<Prompt> prompts;
  ChatPrompt chat;
  bool seed_given = false;
  bool stream = false;
  bool stream_options = false;
  bool include_usage = false;
  bool obfuscate = false;
  bool flex = false;            // service_tier
  std::optional<int64_t> max_tokens;
  std::optional<int64_t> max_completion_tokens;
  bool prompt_logprobs_asked = false;  // by name, not through echo
  bool logprobs = false;        // chat: wanted at all
  std::optional<int32_t> top_logprobs;
  std::optional<int32_t> best_of;
  std::string suffix;           // completions: what stands behind the gap to fill; empty: nothing to fill
  std::string reasoning_effort; // chat
};

using OpenAiField = Field<OpenAiCall>;
using OpenAiTables = std::span<const std::span<const OpenAiField>>;

OpenAiTables openai_chat_tables();
OpenAiTables openai_completion_tables();

// Body to call, with what concerns several fields at once checked too.
Refusal parse_chat_call(const HttpRequest& http, bool lenient, OpenAiCall& call);
Refusal parse_completion_call(const HttpRequest& http, bool lenient, OpenAiCall& call);

// The messages array, in openai_messages.cc.
Refusal take_messages(Json value, OpenAiCall& call);
// What a model's template must be able to say for these messages.
Refusal check_messages_against(const Generator& generator, const ChatPrompt& chat);

// One request per prompt for the engine.
std::vector<GenerationRequest> engine_requests(OpenAiCall& call);

}  // namespace inferens
