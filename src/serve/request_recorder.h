// Who watches the generations of one HTTP request: metrics and the timeline.
#pragma once

#include <cstdint>

#include "inferens/generation.h"
#include "inferens/status.h"

namespace inferens {

class RequestRecorder {
 public:
  virtual ~RequestRecorder() = default;
  // Before the engine gets it, on the thread that tokenizes.
  virtual void submitted(int32_t prompt, const GenerationRequest& request) = 0;
  // The engine did not take it: no events follow.
  virtual void refused(int32_t prompt, const Status& status) = 0;
  // On the engine's thread: microseconds, no waiting.
  virtual void on_event(int32_t prompt, const GenerationEvent& event) = 0;
};

}  // namespace inferens
