#include "serve/api/generate.h"

#include <utility>

#include "engine/engine.h"
#include "serve/metrics.h"
#include "serve/timelines.h"

namespace inferens {
namespace {

HttpResponse head_of(const Generation& generation) {
  HttpResponse head;
  head.streams = !generation.stream_type.empty();
  if (head.streams) {
    head.content_type = generation.stream_type;
    head.headers.emplace_back("cache-control", "no-cache");
    head.headers.emplace_back("x-accel-buffering", "no");
  }
  return head;
}

std::unique_ptr<Answer> start(const ApiContext& api, const HttpRequest& request, const PrepareGeneration& prepare, const ModelLease& model) {
  Generation generation;
  if (Refusal r = prepare(model, generation)) return refuse(*r, request.error_form());
  for (GenerationRequest& one : generation.requests) {
    one.id = request.id;
    one.model = model->name;
    one.api_key_id = request.key_id;
  }
  HttpResponse head = head_of(generation);
  auto recorder = api.timelines.recorder(request, model->name, model->generator->engine().clock(), generation.requests.size(),
                                         api.metrics.recorder(*model, generation.requests.size()));
  auto run = GenerationRun::start(model, std::move(generation.requests), std::move(recorder));
  if (const auto* error = std::get_if<ApiError>(&run)) return refuse(*error, request.error_form());
  return std::make_unique<GenerationAnswer>(std::get<1>(std::move(run)), std::move(generation.translator), std::move(head), request.error_form());
}

}  // namespace

void with_model(ApiContext& api, const HttpRequest& request, const std::string& name, WithModel use, const Respond& respond) {
  api.registry.with_model(name, [form = request.error_form(), name, use = std::move(use), respond](StatusOr<ModelLease> model) {
    if (model.ok()) return respond(use(*model));
    const bool unknown = model.status().code() == StatusCode::kNotFound;
    respond(refuse(unknown ? model_not_found(name) : to_api_error(model.status()), form));
  });
}

void generate(ApiContext& api, const HttpRequest& request, const std::string& model, PrepareGeneration prepare, const Respond& respond) {
  with_model(api, request, model,
             [&api, request = without_body(request), prepare = std::move(prepare)](const ModelLease& lease) { return start(api, request, prepare, lease); }, respond);
}

}  // namespace inferens
