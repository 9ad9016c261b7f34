#include "serve/api/openai_generation.h"

#include "base/utf8.h"
#include "engine/engine.h"
#include "serve/api/openai_reply.h"
#include "serve/metrics.h"
#include "serve/sse.h"
#include "serve/timelines.h"

namespace inferens {
namespace {

HttpResponse head_of(const OpenAiCall& call) {
  HttpResponse head;
  head.streams = call.stream;
  if (call.stream) {
    head.content_type = kSseContentType;
    head.headers.emplace_back("cache-control", "no-cache");
    head.headers.emplace_back("x-accel-buffering", "no");
  }
  return head;
}

std::unique_ptr<Answer> start(const ApiContext& api, const HttpRequest& request, OpenAiCall& call, CheckCall check,
                              MakeTranslator translator, ModelLease model) {
  if (check != nullptr) {
    if (Refusal r = check(call, *model)) return refuse(*r);
  }
  std::unique_ptr<EventTranslator> translate = translator(request, call, *model);
  std::vector<GenerationRequest> requests = engine_requests(request, call);
  auto recorder = api.timelines.recorder(request, model->name, model->generator->engine().clock(), requests.size(),
                                         api.metrics.recorder(*model, requests.size()));
  auto run = GenerationRun::start(std::move(model), std::move(requests), std::move(recorder));
  if (const auto* error = std::get_if<ApiError>(&run)) return refuse(*error);
  return std::make_unique<GenerationAnswer>(std::get<1>(std::move(run)), std::move(translate), head_of(call));
}

void write_ranked(JsonWriter& json, const TokenLogprob& token, int32_t rank) {
  json.key(std::to_string(token.token)).begin_object().field("logprob", told_logprob(token.logprob)).field("rank", rank);
  json.field("decoded_token", repair_utf8(token.bytes)).end_object();
}

}  // namespace

void generate_answer(ApiContext& api, const HttpRequest& request, std::shared_ptr<OpenAiCall> call, CheckCall check,
                     MakeTranslator translator, const Respond& respond) {
  const std::string name = call->model;
  api.registry.with_model(name, [&api, request = without_body(request), call, check, translator, respond](StatusOr<ModelLease> model) {
    if (!model.ok()) {
      const bool unknown = model.status().code() == StatusCode::kNotFound;
      return respond(refuse(unknown ? model_not_found(call->model) : to_api_error(model.status())));
    }
    respond(start(api, request, *call, check, translator, std::move(*model)));
  });
}

void write_prompt_logprobs(JsonWriter& json, const std::vector<PositionLogprobs>& positions) {
  json.begin_array();
  for (const PositionLogprobs& p : positions) {
    if (p.rank == 0) {
      json.null();
      continue;
    }
    json.begin_object();
    int32_t rank = 0;
    bool chosen_among_top = false;
    for (const TokenLogprob& t : p.top) {
      write_ranked(json, t, ++rank);
      chosen_among_top |= t.token == p.chosen.token;
    }
    if (!chosen_among_top) write_ranked(json, p.chosen, p.rank);
    json.end_object();
  }
  json.end_array();
}

}  // namespace inferens
