// One HTTP request's generations: one per prompt, their events in one channel. Ends everything when it goes.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "inferens/generation.h"
#include "serve/api_error.h"
#include "serve/event_channel.h"
#include "serve/model_registry.h"

namespace inferens {

class RequestRecorder;

class GenerationRun {
 public:
  // Queues all requests or none. Tokenizes, so not for the I/O thread. `recorder` sees the events on the engine's thread;
  // may be null.
  static std::variant<ApiError, std::unique_ptr<GenerationRun>> start(ModelLease model, std::vector<GenerationRequest> requests,
                                                                      std::shared_ptr<RequestRecorder> recorder);
  ~GenerationRun();  // cancels what still runs
  GenerationRun(const GenerationRun&) = delete;
  GenerationRun& operator=(const GenerationRun&) = delete;

  EventChannel& channel() { return *channel_; }
  const LoadedModel& model() const { return *model_; }
  int32_t prompts() const { return prompts_; }

 private:
  explicit GenerationRun(ModelLease model) : model_(std::move(model)), channel_(std::make_shared<EventChannel>()) {}

  ModelLease model_;
  std::shared_ptr<EventChannel> channel_;
  std::vector<RequestId> ids_;
  int32_t prompts_ = 0;
};

}  // namespace inferens
