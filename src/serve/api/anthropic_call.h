// A request of Anthropic's /v1/messages or /v1/messages/count_tokens, read by the field tables.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/generator.h"
#include "inferens/generation.h"
#include "serve/api/fields.h"
#include "serve/http_message.h"

namespace inferens {

// The end of a prefix that the client wants cached.
struct CachePoint {
  size_t message = 0;  // in AnthropicCall::messages; of system text 0 once it stands in front
  size_t length = 0;   // bytes of its content that belong to the prefix
  Nanos ttl = 0;
};

struct AnthropicCall {
  bool sampling_allowed = true;  // by the version; set before parsing
  std::string model;
  GenerationRequest base;
  bool has_system = false;
  std::string system;
  std::vector<CachePoint> system_points;
  std::vector<ChatMessage> messages;
  std::vector<CachePoint> points;
  std::optional<Nanos> whole_ttl;  // cache_control of the request itself
  bool stream = false;
  bool seed_given = false;
};

using AnthropicField = Field<AnthropicCall>;
using AnthropicTables = std::span<const std::span<const AnthropicField>>;

AnthropicTables anthropic_message_tables();
AnthropicTables anthropic_count_tables();

// Body to call: afterwards `messages` has the system text in front and `points` are in order of the prompt.
Refusal parse_anthropic_call(const HttpRequest& http, AnthropicTables tables, bool lenient, AnthropicCall& call);

// The messages array and the system text, in anthropic_messages.cc.
Refusal take_anthropic_messages(Json value, AnthropicCall& call);
Refusal take_anthropic_system(Json value, AnthropicCall& call);
// {"type":"ephemeral","ttl":"5m"|"1h"}
Refusal take_cache_control(Json value, Nanos& ttl);

ChatPrompt anthropic_prompt(const std::vector<ChatMessage>& messages);

}  // namespace inferens
