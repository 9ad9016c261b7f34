// Times a call that all workers of a pool make together, many calls to a job, so that fork and join do not show.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/team.h"
#include "bench/statistics.h"

namespace inferens {

// call(team, i) for i = 0, 1, …; the workers meet after each call. Samples are seconds per call of at least three jobs.
template <class F>
Summary time_calls(WorkerPool& pool, double seconds, F&& call) {
  int64_t next = 0;
  auto job = [&](int64_t calls) {
    const Nanos start = system_clock().now();
    run_team(pool, [&](const Team& team) {
      for (int64_t i = 0; i < calls; ++i) {
        call(team, next + i);
        team.barrier();
      }
    });
    next += calls;
    return to_seconds(std::max<Nanos>(1, system_clock().now() - start));
  };
  job(1);  // warm-up
  const double once = job(1);
  constexpr int kJobs = 3;
  const auto calls = static_cast<int64_t>(std::clamp(seconds / kJobs / once, 1.0, 1e6));
  std::vector<double> samples;
  for (double total = 0; samples.size() < kJobs || total < seconds;) {
    const double took = job(calls);
    samples.push_back(took / static_cast<double>(calls));
    total += took;
  }
  return summarize(std::move(samples));
}

}  // namespace inferens
