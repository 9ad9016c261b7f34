// A request of Gemini's generateContent, streamGenerateContent or countTokens, read by the field tables. Names may be
// written in camelCase or snake_case, as in the JSON form of every protocol buffer.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/generator.h"
#include "inferens/generation.h"
#include "serve/api/fields.h"
#include "serve/api/output_constraint.h"
#include "serve/http_message.h"

namespace inferens {

struct GeminiCall {
  GenerationRequest base;
  std::string system;
  std::vector<ChatMessage> contents;
  bool seed_given = false;
  bool logprobs = false;  // responseLogprobs
  int32_t top_logprobs = 0;
  std::string cached_content;
  GeminiFormat format;  // while the body is read
};

using GeminiField = Field<GeminiCall>;
using GeminiTables = std::span<const std::span<const GeminiField>>;

GeminiTables gemini_generate_tables();
GeminiTables gemini_config_tables();  // of generationConfig

Refusal parse_gemini_call(std::string_view body, bool lenient, GeminiCall& call);
// The same of an object that is parsed already.
Refusal parse_gemini_fields(simdjson::dom::object object, bool lenient, const std::string& prefix, GeminiCall& call);

// The text parts of one Content object.
Refusal take_gemini_text(Json content, const std::string& place, std::string& text);
// A list of Content objects, or one.
Refusal take_gemini_contents(Json value, const std::string& place, std::vector<ChatMessage>& messages);

}  // namespace inferens
