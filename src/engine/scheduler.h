// Decides what runs in a step and what waits. Running decodes go first; prefill fills what is left of a budget in
// milliseconds, cut into chunks. Knows memory only through KvCache and time only through what it is told, so that the
// simulator can drive it. Nothing here changes a request's output: only when it comes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/cost_model.h"
#include "engine/fair_queue.h"
#include "engine/kv_cache.h"
#include "engine/request.h"

namespace inferens {

// What a class is promised, as far as the machine can.
struct ClassTarget {
  double ttft_ms;     // time to first token of a short prompt
  double gap_ms;      // longest step while one of this class decodes
  double promote_ms;  // waiting this long moves a sequence one class up
};

struct SchedulerOptions {
  std::array<ClassTarget, kSchedulingClasses> targets = {{
      {150, 60, 1e12},          // voice: speech must not stutter
      {500, 120, 5'000},        // chat: reading speed
      {2'000, 150, 10'000},     // agent: whole answers, many turns
      {60'000, 1'000, 30'000},  // batch: throughput
  }};
  double idle_step_ms = 200;           // longest step when nothing decodes: what a new request waits at most
  double decode_share = 0.5;           // of its speed alone that a running stream keeps while no more wait than stream
  double burst_ms = 300;               // of prefill that may go beyond that share when a calm time saved it up
  int32_t max_running = 128;           // sequences with pages
  int32_t max_step_tokens = 2048;      // bounds the activations' memory
  int32_t max_prompt_logit_rows = 32;  // rows of prompt logprobs in a step: each is a vocabulary of floats
  int32_t output_reserve = 128;        // tokens of output that must have room before a sequence starts
  int32_t max_queued_requests = 1024;
  int64_t max_queued_tokens = 4'000'000;
};

struct PlannedSpan {
  Sequence* sequence = nullptr;
  int32_t tokens = 0;  // from kv.length on
};

struct StepPlan {
  std::vector<PlannedSpan> spans;  // decodes, then prefills
  size_t decodes = 0;
  StepLoad load;
  double predicted_ms = 0;
  double budget_ms = 0;

  void clear() {
    spans.clear();
    decodes = 0;
    load = {};
    predicted_ms = budget_ms = 0;
  }
  // Before its sequence is preempted.
  void remove(const Sequence& sequence);
};

struct SchedulerStats {
  int64_t preemptions = 0;
  int64_t promotions = 0;
  int64_t deferrals = 0;  // chunks put off because another sequence was computing the same prefix
};

class Scheduler {
 public:
  // kv and cost outlive it.
  Scheduler(const SchedulerOptions& options, KvCache& kv, CostModel& cost);

  // A new request: its first choice queues, the others wait for the fork.
  void add(Request& request, Nanos now);
  // Sequences of the request's other choices take over the first one's prompt pages, or queue when there is no room.
  void fork(Request& request, Nanos now);
  // Out of every list, pages released, their content offered to the tree if `keep`.
  void finish(Sequence& sequence, bool keep, Nanos now);
  // The request's record is about to go.
  void remove(Request& request);

  // What to run now. May admit, preempt and move pages. An empty plan: nothing can run.
  void plan(Nanos now, StepPlan& plan);
  // After a span ran: its sequence's prefill is complete.
  void prefill_done(Sequence& sequence);
  // Gives a sequence's pages to the tree and puts it back in the queue.
  void preempt(Sequence& sequence, Nanos now);

  const std::vector<Sequence*>& running() const { return running_; }
  int64_t waiting() const;  // sequences without pages
  // Requests of which nothing ran yet, and their prompts' tokens. Thread safe.
  int32_t queued_requests() const { return queued_requests_.load(std::memory_order_relaxed); }
  int64_t queued_tokens() const { return queued_tokens_.load(std::memory_order_relaxed); }
  const SchedulerStats& stats() const { return stats_; }

 private:
  void started(const Request& request);
  void enqueue(Sequence& sequence, Nanos now);
  void dequeue(Sequence& sequence);
  static bool better(const Sequence* a, const Sequence* b);  // in rank
  void start_running(Sequence& sequence, SequenceState state);
  void stop_running(Sequence& sequence);
  void promote_aged(Nanos now);

  void plan_decodes(Nanos now, StepPlan& plan);
  void plan_prefills(Nanos now, StepPlan& plan);
  // What is left of a step's budget for prefills.
  struct PrefillBudget {
    double turn_ms = 0;     // of the key whose turn it is
    double ms = 0;          // of all
    bool may_wait = false;  // a later step will have more
  };
  PrefillBudget prefill_budget(const StepPlan& plan);
  double decode_share(const StepPlan& plan) const;
  // Gives a chunk of prefill to a sequence; returns its cost, 0 when it can do nothing in this step.
  double give_prefill(Sequence& sequence, const PrefillBudget& budget, Nanos now, StepPlan& plan);
  void look_up_prefix(Sequence& sequence, Nanos now);
  int32_t chunk_tokens(const Sequence& sequence, int32_t position, int32_t remaining, const PrefillBudget& budget,
                       const StepPlan& plan) const;
  int32_t planned_prompt_rows(const StepPlan& plan) const;
  // Gives a waiting sequence its place in memory; lower classes may have to leave theirs, and the plan.
  bool admit(Sequence& sequence, Nanos now, StepPlan& plan);
  bool fits(const Sequence& sequence, const PrefixHit& hit) const;
  PrefixHit peek_prefix(const Sequence& sequence) const;
  int32_t committed_pages(const Sequence& sequence, size_t group) const;
  bool another_computes_its_prefix(const Sequence& sequence, int32_t have, const StepPlan& plan) const;
  bool find_room_for_decode(Sequence& sequence, Nanos now);

  const ClassTarget& target(SchedulingClass c) const { return options_.targets[static_cast<size_t>(c)]; }

  SchedulerOptions options_;
  KvCache& kv_;
  CostModel& cost_;
  std::map<std::string, KeyAccount, std::less<>> accounts_;
  std::array<FairQueue, kSchedulingClasses> queues_{FairQueue(0), FairQueue(1), FairQueue(2), FairQueue(3)};
  std::vector<Sequence*> running_;  // with pages, best rank first; the last one is preempted first
  std::vector<Sequence*> chosen_;   // scratch
  Sequence* hold_ = nullptr;        // waited so long for memory that no other of its rank may start before it
  std::atomic<int32_t> queued_requests_{0};
  std::atomic<int64_t> queued_tokens_{0};
  uint64_t step_ = 0;
  double quantum_ms_ = 1;
  double prefill_credit_ms_ = 0;  // what decodes left of their share; below 0: what they are owed
  Nanos next_promotion_ = 0;
  SchedulerStats stats_;
};

}  // namespace inferens
