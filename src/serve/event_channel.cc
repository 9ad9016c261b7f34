#include "serve/event_channel.h"

#include <iterator>
#include <utility>

namespace inferens {
namespace {

size_t bytes_of(const GenerationEvent& event) {
  size_t bytes = sizeof(RunEvent) + event.text.size() + event.tokens.size() * sizeof(TokenId);
  for (const PositionLogprobs& p : event.logprobs) {
    bytes += sizeof(PositionLogprobs) + p.top.size() * sizeof(TokenLogprob);
  }
  return bytes;
}

template <class T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

bool EventChannel::merge(int32_t prompt, GenerationEvent& event) {
  if (event.kind != GenerationEvent::Kind::kText) return false;
  for (auto it = pending_.rbegin(); it != pending_.rend(); ++it) {
    if (it->prompt != prompt || it->event.kind != GenerationEvent::Kind::kText || it->event.index != event.index) continue;
    it->event.text += event.text;
    append(it->event.tokens, event.tokens);
    append(it->event.logprobs, event.logprobs);
    return true;
  }
  return false;
}

void EventChannel::push(int32_t prompt, GenerationEvent&& event) {
  const std::lock_guard lock(mutex_);
  pending_bytes_ += bytes_of(event);
  // The prompt's own logprobs come once and whole, bounded by the context; they alone never overflow.
  if (pending_bytes_ > kMaxPendingBytes && event.kind == GenerationEvent::Kind::kText) {
    overflowed_ = true;
  } else if (!merge(prompt, event)) {
    pending_.push_back({prompt, std::move(event)});
  }
  if (!std::exchange(signalled_, true) && wake_) wake_();
}

void EventChannel::on_news(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

std::vector<RunEvent> EventChannel::take() {
  const std::lock_guard lock(mutex_);
  signalled_ = false;
  pending_bytes_ = 0;
  return std::exchange(pending_, {});
}

bool EventChannel::overflowed() const {
  const std::lock_guard lock(mutex_);
  return overflowed_;
}

}  // namespace inferens
