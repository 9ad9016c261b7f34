// What the dialects say about the form of an answer (response_format, guided_json, format, …), as the engine's constraint.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "inferens/generation.h"
#include "serve/api_error.h"
#include "serve/json_reader.h"

namespace inferens {

// Each refuses a second constraint beside the first; `field` names the place in errors.
Refusal constrain(std::string_view field, OutputConstraint constraint, GenerationRequest& request);
// A JSON Schema as an object, or as text of one.
Refusal constrain_to_schema(std::string_view field, Json schema, GenerationRequest& request);
Refusal constrain_to_choice(std::string_view field, Json choices, GenerationRequest& request);

// OpenAI's {"type":"text"|"json_object"|"json_schema","json_schema":{"name","description","schema","strict"}}.
Refusal take_response_format(Json value, GenerationRequest& request);
// The same of OpenAI's Responses, whose schema stands beside its type.
Refusal take_text_format(Json value, GenerationRequest& request);
// Ollama's "json" or a schema.
Refusal take_ollama_format(Json value, GenerationRequest& request);
// Anthropic's {"type":"json_schema","schema"}.
Refusal take_anthropic_format(Json value, GenerationRequest& request);

// Gemini's, which is spread over three fields; whole once all are read.
struct GeminiFormat {
  std::string mime_type;
  std::optional<Json> schema;       // responseSchema
  std::optional<Json> json_schema;  // responseJsonSchema
};
Refusal take_gemini_format(const GeminiFormat& format, GenerationRequest& request);

// VLLM's {"json","json_object","regex","choice","grammar"}, of which one is given.
Refusal take_structured_outputs(Json value, GenerationRequest& request);

}  // namespace inferens
