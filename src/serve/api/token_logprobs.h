// Log-probabilities of tokens as OpenAI writes them, which Ollama and the Responses took over.
#pragma once

#include <vector>

#include "inferens/generation.h"
#include "serve/json_writer.h"

namespace inferens {

enum class NoTopLogprobs { kEmptyArray, kLeftOut };  // how a position without alternatives is told

// An array of one object per position: token, logprob, bytes, top_logprobs.
void write_token_logprobs(JsonWriter& json, const std::vector<PositionLogprobs>& positions, NoTopLogprobs none);

}  // namespace inferens
