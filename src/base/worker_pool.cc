#include "base/worker_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/file.h"

namespace inferens {
namespace {

// About 50 µs on current machines: longer than the gap between two operators of a step, shorter than a human notices.
constexpr int kSpinRounds = 2000;

std::vector<int> affinity_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int c = 0; c < CPU_SETSIZE; ++c) {
      if (CPU_ISSET(c, &set)) cpus.push_back(c);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

double number_in(std::string_view s) {
  double v = 0;
  auto r = std::from_chars(s.data(), s.data() + s.size(), v);
  return r.ec == std::errc() ? v : 0;
}

// CPUs granted by the process's own cgroup (v2, then v1); 0 when unlimited or unknown. The tightest ancestor wins.
double cgroup_cpus() {
  auto self = read_file("/proc/self/cgroup", 1 << 16);
  if (!self.ok()) return 0;
  double best = 0;
  auto consider = [&](double cpus) {
    if (cpus > 0) best = best == 0 ? cpus : std::min(best, cpus);
  };
  std::string_view text = *self;
  if (size_t at = text.find("0::"); at != std::string_view::npos) {
    std::string path(text.substr(at + 3, text.find('\n', at) - at - 3));
    for (;;) {
      auto max = read_file("/sys/fs/cgroup" + path + "/cpu.max", 4096);
      if (max.ok()) consider(cpus_of_cpu_max(*max));
      size_t slash = path.rfind('/');
      if (path.empty() || slash == std::string::npos) break;
      path.resize(slash);
    }
  }
  auto quota = read_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", 4096);
  auto period = read_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", 4096);
  if (quota.ok() && period.ok() && number_in(*quota) > 0 && number_in(*period) > 0) consider(number_in(*quota) / number_in(*period));
  return best;
}

}  // namespace

double cpus_of_cpu_max(const std::string& text) {
  size_t space = text.find(' ');
  if (space == std::string::npos) return 0;
  double quota = number_in(std::string_view(text).substr(0, space));  // "max" parses to 0: no limit
  double period = number_in(std::string_view(text).substr(space + 1));
  return quota > 0 && period > 0 ? quota / period : 0;
}

int usable_cpus() {
  auto cpus = static_cast<int>(affinity_cpus().size());
  double quota = cgroup_cpus();
  if (quota > 0) cpus = std::min(cpus, std::max(1, static_cast<int>(std::ceil(quota))));
  return cpus;
}

bool cpu_quota_is_below_affinity() {
  double quota = cgroup_cpus();
  return quota > 0 && quota < static_cast<double>(affinity_cpus().size());
}

WorkerPool::WorkerPool(int threads) {
  auto cpus = affinity_cpus();
  size_ = std::clamp(threads > 0 ? threads : usable_cpus(), 1, 1024);
  bool crowded = size_ > static_cast<int>(cpus.size()) || cpu_quota_is_below_affinity();
  spin_rounds_ = crowded ? 0 : kSpinRounds;
  // Workers are not pinned: other programs run beside us, and a pinned worker cannot leave a CPU that one of them took.
  for (int w = 1; w < size_; ++w) threads_.emplace_back([this, w] { worker_loop(w); });
}

WorkerPool::~WorkerPool() {
  stop_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (auto& t : threads_) t.join();
}

void WorkerPool::run_job(Job job) {
  job_ = job;
  pending_.store(size_ - 1, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  job.call(job.context, 0);
  for (int round = 0;; ++round) {
    int32_t left = pending_.load(std::memory_order_acquire);
    if (left == 0) return;
    if (round < spin_rounds_) {
      pause_cpu();
    } else {
      pending_.wait(left, std::memory_order_acquire);
    }
  }
}

void WorkerPool::worker_loop(int worker) {
  pthread_setname_np(pthread_self(), "inferens-work");
  uint32_t seen = 0;
  for (;;) {
    for (int round = 0; generation_.load(std::memory_order_acquire) == seen; ++round) {
      if (round < spin_rounds_) {
        pause_cpu();
      } else {
        generation_.wait(seen, std::memory_order_acquire);
      }
    }
    ++seen;
    if (stop_.load(std::memory_order_relaxed)) return;
    job_.call(job_.context, worker);
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
  }
}

}  // namespace inferens
