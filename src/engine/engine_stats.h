// What the engine tells about itself: one consistent snapshot from between two steps.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/prefix_tree.h"
#include "engine/scheduler.h"

namespace inferens {

struct EngineStats {
  // Now.
  int32_t queued_requests = 0;    // nothing of them ran yet
  int64_t queued_tokens = 0;      // of their prompts
  int32_t live_requests = 0;      // submitted and not ended, the queued included
  int64_t waiting_sequences = 0;  // without pages: queued or preempted
  int32_t running_sequences = 0;  // with pages
  struct Pages {
    int32_t total = 0;
    int32_t free = 0;
    int32_t cached = 0;  // held by the prefix tree alone: given up when needed
  };
  std::vector<Pages> pages;        // [group]
  double retry_after_seconds = 0;  // about when the queue will have been worked off

  // Since the start; they only grow.
  int64_t requests = 0;
  int64_t ended_stop = 0, ended_length = 0, ended_cancelled = 0, ended_error = 0;  // choices; errors: requests
  int64_t prompt_tokens = 0;                                                       // of ended requests
  int64_t cached_tokens = 0;                                                       // of them, not computed
  int64_t prefill_tokens = 0;     // computed in prefills, recomputed ones included
  int64_t recomputed_tokens = 0;  // computed again after a preemption
  int64_t generated_tokens = 0;
  int64_t steps = 0;
  int64_t over_budget_steps = 0;  // longer than 1.5 times their budget
  double step_ms = 0;             // all steps together
  SchedulerStats scheduler;
  PrefixTreeStats prefix;
};

}  // namespace inferens
