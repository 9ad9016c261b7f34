// A team: the workers of a pool inside one job, all running the same code (single program, multiple data). Operators split
// their work by worker number and meet at barriers; a step of a model is one job, so a barrier costs a few hundred
// nanoseconds instead of a fork and a join.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/worker_pool.h"

namespace inferens {

class Barrier {
 public:
  explicit Barrier(int size, bool spin) : size_(size), spin_rounds_(spin ? 4000 : 0) {}
  void arrive_and_wait();

 private:
  int size_;
  int spin_rounds_;
  alignas(64) std::atomic<int32_t> arrived_{0};
  alignas(64) std::atomic<uint32_t> phase_{0};
};

class Team {
 public:
  Team(int worker, int size, Barrier* barrier) : worker_(worker), size_(size), barrier_(barrier) {}
  int worker() const { return worker_; }
  int size() const { return size_; }
  void barrier() const {
    if (size_ > 1) barrier_->arrive_and_wait();
  }
  // This worker's share of [0, count) in units of `grain`: contiguous, disjoint, covering, balanced to one unit.
  std::pair<int64_t, int64_t> share(int64_t count, int64_t grain = 1) const {
    int64_t units = (count + grain - 1) / grain;
    int64_t begin = units * worker_ / size_ * grain;
    int64_t end = units * (worker_ + 1) / size_ * grain;
    return {begin < count ? begin : count, end < count ? end : count};
  }

 private:
  int worker_;
  int size_;
  Barrier* barrier_;
};

// Runs fn(const Team&) on every worker of the pool.
template <class F>
void run_team(WorkerPool& pool, F&& fn) {
  Barrier barrier(pool.size(), pool.spins());
  pool.run([&](int worker) { fn(Team(worker, pool.size(), &barrier)); });
}

}  // namespace inferens
