#include "serve/api/embedding_answer.h"

#include <cmath>
#include <mutex>
#include <optional>

#include "engine/engine.h"
#include "serve/api/generate.h"
#include "serve/metrics.h"
#include "serve/timelines.h"

namespace inferens {
namespace {

// Where the engine leaves the result.
struct Place {
  std::mutex mutex;
  std::optional<StatusOr<EmbeddingResult>> result;
  std::function<void()> wake;
};

class EmbeddingAnswer final : public Answer {
 public:
  EmbeddingAnswer(ModelLease model, std::shared_ptr<Place> place, std::shared_ptr<EmbeddingJob> job, WriteEmbeddings write, Nanos loading, ErrorForm form)
      : model_(std::move(model)), place_(std::move(place)), job_(std::move(job)), write_(std::move(write)), loading_(loading), form_(std::move(form)) {}
  ~EmbeddingAnswer() override {
    on_news({});
    job_->cancel();
  }
  EmbeddingAnswer(const EmbeddingAnswer&) = delete;
  EmbeddingAnswer& operator=(const EmbeddingAnswer&) = delete;

  News poll() override {
    std::optional<StatusOr<EmbeddingResult>> result;
    {
      const std::lock_guard lock(place_->mutex);
      result = std::exchange(place_->result, std::nullopt);
    }
    if (!result) return {};
    if (!result->ok()) return {.response = error_response(to_api_error(result->status()), form_), .piece = {}, .ended = true};
    HttpResponse response;
    write_(**result, loading_, response.body);
    return {.response = std::move(response), .piece = {}, .ended = true};
  }
  void on_news(std::function<void()> wake) override {
    const std::lock_guard lock(place_->mutex);
    place_->wake = std::move(wake);
  }

 private:
  ModelLease model_;  // outlives the job
  std::shared_ptr<Place> place_;
  std::shared_ptr<EmbeddingJob> job_;
  WriteEmbeddings write_;
  Nanos loading_;
  ErrorForm form_;
};

// What metrics and the timeline are told, in the words of a generation that makes no token.
void record_end(RequestRecorder& recorder, const StatusOr<EmbeddingResult>& result) {
  GenerationEvent event;
  if (!result.ok() && result.status().code() != StatusCode::kCancelled) {
    event.kind = GenerationEvent::Kind::kError;
    event.error = result.status();
    return recorder.on_event(0, event);
  }
  event.kind = GenerationEvent::Kind::kFinished;
  event.finish = result.ok() ? FinishReason::kStop : FinishReason::kCancelled;
  recorder.on_event(0, event);
  event.kind = GenerationEvent::Kind::kDone;
  if (result.ok()) event.usage = result->usage;
  if (result.ok()) event.timings = result->timings;
  event.timings.ttft = 0;  // there is no first token
  recorder.on_event(0, event);
}

std::unique_ptr<Answer> start(const ApiContext& api, const HttpRequest& http, EmbeddingRequest request, const WriteEmbeddings& write, Nanos loading, const ModelLease& lease) {
  auto recorder = api.timelines.recorder(http, lease->name, lease->generator->engine().clock(), 1, api.metrics.recorder(*lease, 1));
  GenerationRequest recorded;
  recorded.api_key_id = request.api_key_id;
  recorded.scheduling_class = request.scheduling_class;
  recorder->submitted(0, recorded);
  auto place = std::make_shared<Place>();
  auto job = lease->generator->embed(std::move(request), [place, recorder](StatusOr<EmbeddingResult>&& result) {
    record_end(*recorder, result);
    const std::lock_guard lock(place->mutex);
    place->result = std::move(result);
    if (place->wake) place->wake();
  });
  if (job.ok()) return std::make_unique<EmbeddingAnswer>(lease, std::move(place), std::move(*job), write, loading, http.error_form());
  recorder->refused(0, job.status());
  return refuse(to_api_error(job.status()), http.error_form());
}

}  // namespace

void embed(ApiContext& api, const HttpRequest& http, const std::string& model, EmbeddingRequest request, CheckEmbeddings check, WriteEmbeddings write,
           const Respond& respond) {
  request.api_key_id = http.key_id;
  const Nanos asked = system_clock().now();
  with_model(api, http, model, [&api, http = without_body(http), request = std::move(request), check = std::move(check), write = std::move(write), asked](const ModelLease& lease) -> std::unique_ptr<Answer> {
    const Nanos loading = system_clock().now() - asked;
    EmbeddingRequest checked = request;
    if (Refusal r = check(*lease, checked)) return refuse(*r, http.error_form());
    return start(api, http, std::move(checked), write, loading, lease);
  }, respond);
}

void shorten_embedding(std::vector<float>& embedding, size_t dimensions) {
  if (dimensions == 0 || dimensions >= embedding.size()) return;
  embedding.resize(dimensions);
  double squares = 0;
  for (const float x : embedding) squares += double{x} * double{x};
  if (squares <= 0) return;
  const auto scale = static_cast<float>(1 / std::sqrt(squares));
  for (float& x : embedding) x *= scale;
}

Refusal check_dimensions(const LoadedModel& model, int64_t dimensions, const std::string& param) {
  const int32_t size = model.generator->model_info().hidden_size;
  if (dimensions <= size) return {};
  return bad_field(param, "invalid_value", "'" + param + "' is " + std::to_string(dimensions) + "; the model's embeddings have " + std::to_string(size) + " numbers");
}

}  // namespace inferens
