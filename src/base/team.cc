#include "base/team.h"

namespace inferens {

void Barrier::arrive_and_wait() {
  uint32_t phase = phase_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
    arrived_.store(0, std::memory_order_relaxed);
    phase_.store(phase + 1, std::memory_order_release);
    phase_.notify_all();
    return;
  }
  for (int round = 0; phase_.load(std::memory_order_acquire) == phase; ++round) {
    if (round < spin_rounds_) {
      pause_cpu();
    } else {
      phase_.wait(phase, std::memory_order_acquire);
    }
  }
}

}  // namespace inferens
