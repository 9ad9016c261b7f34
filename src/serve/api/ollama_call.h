// A request of Ollama's /api/generate or /api/chat, read by the field tables.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "engine/generator.h"
#include "inferens/generation.h"
#include "serve/api/fields.h"
#include "serve/http_message.h"

namespace inferens {

// What a model was created with (parameters, system text, first messages); each empty when there is none.
struct OllamaSettings {
  std::string parameters_json;  // an object of options
  std::string system;
  std::string messages_json;  // an array of messages
};

struct OllamaCall {
  OllamaCall();

  std::string model;
  GenerationRequest base;  // with Ollama's defaults of sampling
  std::string prompt;      // generate
  std::optional<std::string> system;
  std::vector<TokenId> context;
  bool raw = false;
  std::vector<ChatMessage> messages;  // chat
  bool stream = true;
  bool seed_given = false;
  bool think = false;
  bool logprobs = false;
  int32_t top_logprobs = 0;
  int32_t repeat_last_n = 64;
  std::optional<int32_t> num_ctx;
  std::optional<Nanos> keep_alive;  // -1: for ever
};

using OllamaField = Field<OllamaCall>;
using OllamaTables = std::span<const std::span<const OllamaField>>;

OllamaTables ollama_generate_tables();
OllamaTables ollama_chat_tables();
OllamaTables ollama_option_tables();  // of `options`

// The settings come first, so that what the request says itself wins.
Refusal parse_ollama_call(const HttpRequest& http, OllamaTables tables, const OllamaSettings& settings, bool lenient, OllamaCall& call);
// Adds to `messages`; `place` opens the names in errors.
Refusal take_ollama_messages(Json value, const std::string& place, std::vector<ChatMessage>& messages);
Refusal take_keep_alive(Json value, std::optional<Nanos>& keep_alive);

}  // namespace inferens
