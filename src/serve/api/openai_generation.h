// From a parsed call to its answer, for both completion endpoints: the model, the run, the translator.
#pragma once

#include <memory>
#include <vector>

#include "serve/api/endpoints.h"
#include "serve/api/generation_answer.h"
#include "serve/api/openai_call.h"
#include "serve/json_writer.h"

namespace inferens {

// What can be said only once the model is known.
using CheckCall = Refusal (*)(OpenAiCall& call, const LoadedModel& model);
using MakeTranslator = std::unique_ptr<EventTranslator> (*)(const HttpRequest& http, const OpenAiCall& call, const LoadedModel& model);

void generate_answer(ApiContext& api, const HttpRequest& request, std::shared_ptr<OpenAiCall> call, CheckCall check,
                     MakeTranslator translator, const Respond& respond);

// vLLM's form: null, then one object per token from token id to {logprob, rank, decoded_token}.
void write_prompt_logprobs(JsonWriter& json, const std::vector<PositionLogprobs>& positions);

}  // namespace inferens
