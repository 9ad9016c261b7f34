// Events of running requests on their way from the engine's thread to the I/O thread. Pushing never waits and never grows
// without bound: text that nobody has fetched yet is merged, and a reader that stays away too long loses the channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "inferens/generation.h"

namespace inferens {

// An event and the prompt it belongs to, of a request with several.
struct RunEvent {
  int32_t prompt = 0;
  GenerationEvent event;
};

class EventChannel {
 public:
  // What may wait unfetched, about; far more than a socket that is read at all leaves behind.
  static constexpr size_t kMaxPendingBytes = size_t{4} << 20;

  // Any thread.
  void push(int32_t prompt, GenerationEvent&& event);
  // `wake` is called when there is something to fetch, once until it is fetched; quick, and without calling back. After
  // this returns, an earlier one is not called any more.
  void on_news(std::function<void()> wake);
  // Everything so far, in order per choice; text of one choice comes as one event.
  std::vector<RunEvent> take();
  // True once events were dropped: the run must be ended.
  bool overflowed() const;

 private:
  bool merge(int32_t prompt, GenerationEvent& event);

  mutable std::mutex mutex_;
  std::vector<RunEvent> pending_;
  size_t pending_bytes_ = 0;
  bool overflowed_ = false;
  bool signalled_ = false;
  std::function<void()> wake_;
};

}  // namespace inferens
