// From a call of any dialect to its answer: the model, the run, the translator.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/api/endpoints.h"
#include "serve/api/generation_answer.h"

namespace inferens {

// What a dialect makes of a call once its model is there.
struct Generation {
  std::vector<GenerationRequest> requests;  // one per prompt; id, model and key are filled in
  std::unique_ptr<EventTranslator> translator;
  std::string stream_type;  // content type of a stream; empty: the answer is whole
};

// Runs on a thread that may tokenize.
using PrepareGeneration = std::function<Refusal(const ModelLease& model, Generation& generation)>;

void generate(ApiContext& api, const HttpRequest& request, const std::string& model, PrepareGeneration prepare, const Respond& respond);

// For answers without a generation. An error is told in the request's dialect.
using WithModel = std::function<std::unique_ptr<Answer>(const ModelLease& model)>;
void with_model(ApiContext& api, const HttpRequest& request, const std::string& name, WithModel use, const Respond& respond);

}  // namespace inferens
