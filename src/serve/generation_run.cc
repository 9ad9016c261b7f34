#include "serve/generation_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/engine_stats.h"
#include "serve/request_recorder.h"

namespace inferens {
namespace {

// Clients that are told to come back later than this would rather be told that it is hopeless.
constexpr double kLongestRetry = 60;

// Only on the way of an error: was it the context? Clients look at the code and shorten the history.
bool exceeds_context(const Generator& generator, const GenerationRequest& request) {
  const StatusOr<std::vector<TokenId>> tokens = generator.prompt_tokens(request);
  if (!tokens.ok()) return false;
  const auto needed = static_cast<int64_t>(tokens->size()) + (request.max_tokens < 0 ? 1 : request.max_tokens);
  return needed > generator.model_info().context;
}

ApiError to_refusal(const Generator& generator, const GenerationRequest& request, const Status& status) {
  const double wait = std::clamp(std::ceil(generator.stats().retry_after_seconds), 1.0, kLongestRetry);
  ApiError error = to_api_error(status, static_cast<int>(wait));
  if (status.code() == StatusCode::kInvalidArgument && exceeds_context(generator, request)) {
    error.code = "context_length_exceeded";
    error.param = std::holds_alternative<ChatPrompt>(request.prompt) ? "messages" : "prompt";
  }
  return error;
}

}  // namespace

std::variant<ApiError, std::unique_ptr<GenerationRun>> GenerationRun::start(ModelLease model, std::vector<GenerationRequest> requests,
                                                                            std::shared_ptr<RequestRecorder> recorder) {
  std::unique_ptr<GenerationRun> run(new GenerationRun(std::move(model)));
  Generator& generator = *run->model_->generator;
  for (const GenerationRequest& request : requests) {
    const int32_t prompt = run->prompts_++;
    EventSink sink = [channel = run->channel_, recorder, prompt](GenerationEvent&& event) {
      if (recorder) recorder->on_event(prompt, event);
      channel->push(prompt, std::move(event));
    };
    if (recorder) recorder->submitted(prompt, request);
    const StatusOr<RequestId> id = generator.generate(request, std::move(sink));
    if (!id.ok()) {
      if (recorder) recorder->refused(prompt, id.status());
      return to_refusal(generator, request, id.status());
    }
    run->ids_.push_back(*id);
  }
  return run;
}

GenerationRun::~GenerationRun() {
  channel_->on_news({});
  for (const RequestId id : ids_) model_->generator->cancel(id);
}

}  // namespace inferens
