// GET /health: the process lives and answers. GET /ready: every model in memory computes a token.
#include "base/clock.h"
#include "serve/api/endpoints.h"
#include "serve/generation_run.h"
#include "serve/json_writer.h"

namespace inferens {
namespace {

// A model that needs longer for one token of the first class is not one to send requests to.
constexpr Nanos kPatience = 10'000'000'000;

HttpResponse not_ready(const std::string& why) {
  return error_response({.http = 503, .type = "server_error", .code = "not_ready", .message = why, .retry_after = 1});
}

GenerationRequest one_token(const Generator& generator) {
  GenerationRequest request;
  request.prompt = std::vector<TokenId>{generator.tokenizer().bos().value_or(0)};
  request.max_tokens = 1;
  request.ignore_eos = true;
  request.sampling.temperature = 0;
  request.scheduling_class = SchedulingClass::kVoice;
  return request;
}

// Waits for one token of each model.
class Probe final : public Answer {
 public:
  explicit Probe(std::vector<std::unique_ptr<GenerationRun>> runs) : runs_(std::move(runs)), start_(system_clock().now()) {}

  void on_news(std::function<void()> wake) override {
    for (const auto& run : runs_) run->channel().on_news(wake);
  }

  News poll() override {
    for (const auto& run : runs_) {
      for (const RunEvent& e : run->channel().take()) {
        if (e.event.kind == GenerationEvent::Kind::kError) return end(not_ready("model '" + run->model().name + "' fails: " + e.event.error.message()));
        if (e.event.kind == GenerationEvent::Kind::kDone) ++done_;
      }
    }
    const Nanos took = system_clock().now() - start_;
    if (done_ == runs_.size()) {
      HttpResponse response;
      JsonWriter json(response.body);
      json.begin_object().field("status", "ready").field("models", static_cast<int64_t>(runs_.size())).field("ms", to_ms(took)).end_object();
      return end(std::move(response));
    }
    if (took > kPatience) return end(not_ready("a model did not compute one token within 10 seconds"));
    return {};
  }

 private:
  static News end(HttpResponse response) { return {.response = std::move(response), .piece = {}, .ended = true}; }

  std::vector<std::unique_ptr<GenerationRun>> runs_;
  Nanos start_;
  size_t done_ = 0;
};

}  // namespace

void health(ApiContext&, const HttpRequest&, const Respond& respond) {
  HttpResponse response;
  response.body = R"({"status":"ok"})";
  respond(whole(std::move(response)));
}

void ready(ApiContext& api, const HttpRequest&, const Respond& respond) {
  std::vector<std::unique_ptr<GenerationRun>> runs;
  for (ModelLease& model : api.registry.loaded()) {
    const std::string name = model->name;
    GenerationRequest request = one_token(*model->generator);
    auto run = GenerationRun::start(std::move(model), {std::move(request)}, nullptr);
    if (const auto* error = std::get_if<ApiError>(&run)) return respond(whole(not_ready("model '" + name + "' takes no requests: " + error->message)));
    runs.push_back(std::get<1>(std::move(run)));
  }
  respond(std::make_unique<Probe>(std::move(runs)));
}

}  // namespace inferens
