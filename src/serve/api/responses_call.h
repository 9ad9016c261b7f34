// A request of OpenAI's /v1/responses, read by the field tables.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/generator.h"
#include "inferens/generation.h"
#include "serve/api/fields.h"
#include "serve/http_message.h"

namespace inferens {

struct ResponsesCall {
  std::string model;
  GenerationRequest base;
  std::vector<ChatMessage> input;
  std::string instructions;
  bool has_instructions = false;
  std::string previous_response_id;
  std::string metadata_json = "{}";
  std::string format_json = R"({"type":"text"})";  // text.format
  std::string prompt_cache_key;
  std::string safety_identifier;
  std::string user;
  bool parallel_tool_calls = true;
  bool store = true;
  bool stream = false;
  bool background = false;
  bool obfuscate = false;
  bool flex = false;
  bool seed_given = false;
  bool logprobs = false;  // include: message.output_text.logprobs
  std::optional<int32_t> top_logprobs;
};

using ResponsesField = Field<ResponsesCall>;
using ResponsesTables = std::span<const std::span<const ResponsesField>>;

ResponsesTables responses_tables();

Refusal parse_responses_call(const HttpRequest& http, bool lenient, ResponsesCall& call);
// A string, or items, in responses_input.cc.
Refusal take_responses_input(Json value, std::vector<ChatMessage>& messages);

}  // namespace inferens
