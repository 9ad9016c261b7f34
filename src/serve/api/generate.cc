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

std::unique_ptr<Answer> refuse_model(const std::string& name, const Status& status, ErrorForm form) {
  return refuse(status.code() == StatusCode::kNotFound ? model_not_found(name) : to_api_error(status), form);
}

// A call between its parsing and its run, while its grammar may be compiling.
struct Started {
  ApiContext& api;
  HttpRequest request;  // without its body
  ModelLease model;
  Generation generation;
  Respond respond;
};

std::unique_ptr<Answer> run(Started& started) {
  Generation& generation = started.generation;
  for (GenerationRequest& one : generation.requests) {
    one.id = started.request.id;
    one.model = started.model->name;
    one.api_key_id = started.request.key_id;
  }
  HttpResponse head = head_of(generation);
  auto recorder = started.api.timelines.recorder(started.request, started.model->name, started.model->generator->engine().clock(), generation.requests.size(),
                                                 started.api.metrics.recorder(*started.model, generation.requests.size()));
  auto run = GenerationRun::start(started.model, std::move(generation.requests), std::move(recorder));
  if (const auto* error = std::get_if<ApiError>(&run)) return refuse(*error, started.request.error_form());
  return std::make_unique<GenerationAnswer>(std::get<1>(std::move(run)), std::move(generation.translator), std::move(head), started.request.error_form());
}

// The constraint of all prompts is the same one. Its compile takes no worker's time, so that a hundred schemas at once do
// not keep others from starting.
void run_when_compiled(std::shared_ptr<Started> started) {
  const auto& requests = started->generation.requests;
  if (requests.empty() || !requests.front().constraint) return started->respond(run(*started));
  const OutputConstraint constraint = *requests.front().constraint;
  const Generator& generator = *started->model->generator;
  // What is moved out of the callback is given up on a worker: the compiling thread must not be the last to let go of the
  // model whose thread it is.
  generator.prepare(constraint, [started = std::move(started)](const Status& status) mutable {
    ModelRegistry& registry = started->api.registry;
    registry.on_worker([started = std::move(started), status]() mutable {
      if (status.ok()) {
        started->respond(run(*started));
      } else {
        ApiError error = to_api_error(status);
        error.param = started->generation.requests.front().constraint->field;
        started->respond(refuse(error, started->request.error_form()));
      }
      started.reset();
    });
  });
}

}  // namespace

void with_model(ApiContext& api, const HttpRequest& request, const std::string& name, WithModel use, const Respond& respond) {
  api.registry.with_model(name, [form = request.error_form(), name, use = std::move(use), respond](StatusOr<ModelLease> model) {
    if (model.ok()) return respond(use(*model));
    respond(refuse_model(name, model.status(), form));
  });
}

void generate(ApiContext& api, const HttpRequest& request, const std::string& model, PrepareGeneration prepare, const Respond& respond) {
  api.registry.with_model(model, [&api, request = without_body(request), name = model, prepare = std::move(prepare), respond](StatusOr<ModelLease> lease) {
    if (!lease.ok()) return respond(refuse_model(name, lease.status(), request.error_form()));
    auto started = std::make_shared<Started>(Started{api, request, *lease, {}, respond});
    if (Refusal r = prepare(*lease, started->generation)) return respond(refuse(*r, request.error_form()));
    run_when_compiled(std::move(started));
  });
}

}  // namespace inferens
