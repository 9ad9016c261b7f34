// The worker pool: a fixed set of threads that run one job at a time, fork-join. Made for steps of microseconds: workers
// spin briefly for the next job, then sleep. No OpenMP, no oversubscription: the size comes from affinity and cgroup quota.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace inferens {

// CPUs this process may use: affinity mask cut by the cgroup v2/v1 CPU quota (rounded up), at least 1.
int usable_cpus();
// True when the cgroup quota gives less CPU time than the affinity mask has CPUs: then spinning burns the quota.
bool cpu_quota_is_below_affinity();
// The parsing behind it: a cpu.max text ("max 100000", "150000 100000") to CPUs; 0 when there is no limit or no sense.
double cpus_of_cpu_max(const std::string& text);

// Tells the CPU that this thread is spinning.
inline void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class WorkerPool {
 public:
  // threads includes the caller; 0 means usable_cpus().
  explicit WorkerPool(int threads = 0);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int size() const { return size_; }
  bool spins() const { return spin_rounds_ > 0; }

  // Runs fn(worker) once on each of size() workers, worker 0 being the caller, and returns when all are done. fn must not
  // throw and must not call the pool. One caller at a time.
  template <class F>
  void run(F&& fn) {
    if (size_ == 1) {
      fn(0);
      return;
    }
    run_job({[](void* context, int worker) { (*static_cast<std::remove_reference_t<F>*>(context))(worker); },
             const_cast<void*>(static_cast<const void*>(&fn))});
  }

  // Runs fn(index, worker) for 0 ≤ index < count, indexes taken from a shared counter so that a slow worker takes fewer.
  // What an index computes must not depend on which worker runs it.
  template <class F>
  void for_each(int64_t count, F&& fn) {
    if (count <= 0) return;
    if (size_ == 1 || count == 1) {
      for (int64_t i = 0; i < count; ++i) fn(i, 0);
      return;
    }
    std::atomic<int64_t> next{0};
    run([&](int worker) {
      for (int64_t i = next.fetch_add(1, std::memory_order_relaxed); i < count; i = next.fetch_add(1, std::memory_order_relaxed)) fn(i, worker);
    });
  }

 private:
  struct Job {
    void (*call)(void*, int) = nullptr;
    void* context = nullptr;
  };
  void run_job(Job job);
  void worker_loop(int worker);

  int size_ = 1;
  int spin_rounds_ = 0;
  Job job_;
  // Own cache lines: the caller writes the first, the workers the second.
  alignas(64) std::atomic<uint32_t> generation_{0};
  alignas(64) std::atomic<int32_t> pending_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

}  // namespace inferens
