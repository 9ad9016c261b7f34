// Who waits, who has memory, and who gives it back. What runs in a step is in scheduler_plan.cc.
#include "engine/scheduler.h"

#include <algorithm>
#include <tuple>

namespace inferens {
namespace {

// A prompt may wait this many times its own prefill before shorter ones behind it stop passing.
constexpr double kStretch = 4;

auto rank(const Sequence* s) {
  const Request& r = *s->request;
  return std::make_tuple(r.params().scheduling_class, r.spec.arrival, r.spec.id, s->index);
}

int32_t held_pages(const KvState& kv, size_t group) {
  return static_cast<int32_t>(kv.pages[group].size() - kv.first_page[group]);
}

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options, KvCache& kv, CostModel& cost)
    : options_(options), kv_(kv), cost_(cost) {}

void Scheduler::add(Request& request, Nanos now) {
  request.account = &accounts_[request.params().api_key_id];
  ++request.account->requests;
  Sequence& first = *request.choices.front();
  first.queue_class = request.params().scheduling_class;
  const auto tokens = static_cast<int32_t>(first.tokens.size());
  first.deadline_ms = to_ms(request.spec.arrival) + target(first.queue_class).ttft_ms +
                      kStretch * cost_.added_ms(span_load(0, tokens, 1));
  enqueue(first, now);
  ++queued_requests_;
  queued_tokens_ += tokens;
}

void Scheduler::started(const Request& request) {
  --queued_requests_;
  queued_tokens_ -= static_cast<int64_t>(request.spec.prompt.size());
}

void Scheduler::remove(Request& request) {
  if (request.first_scheduled < 0) started(request);
  if (--request.account->requests == 0) accounts_.erase(request.params().api_key_id);
}

bool Scheduler::better(const Sequence* a, const Sequence* b) {
  return rank(a) < rank(b);
}

void Scheduler::enqueue(Sequence& sequence, Nanos now) {
  sequence.state = SequenceState::kWaiting;
  sequence.waiting_since = now;
  queues_[static_cast<size_t>(sequence.queue_class)].add(*sequence.request->account, sequence);
}

void Scheduler::dequeue(Sequence& sequence) {
  queues_[static_cast<size_t>(sequence.queue_class)].remove(*sequence.request->account, sequence);
}

void Scheduler::start_running(Sequence& sequence, SequenceState state) {
  sequence.state = state;
  running_.insert(std::upper_bound(running_.begin(), running_.end(), &sequence, better), &sequence);
  if (hold_ == &sequence) hold_ = nullptr;
}

void Scheduler::stop_running(Sequence& sequence) {
  running_.erase(std::find(running_.begin(), running_.end(), &sequence));
}

int64_t Scheduler::waiting() const {
  int64_t count = 0;
  for (const FairQueue& queue : queues_) {
    queue.for_each([&](const Sequence& s) { count += s.state == SequenceState::kWaiting ? 1 : 0; });
  }
  return count;
}

void Scheduler::prefill_done(Sequence& sequence) {
  dequeue(sequence);
  sequence.state = SequenceState::kDecode;
}

void Scheduler::finish(Sequence& sequence, bool keep, Nanos now) {
  if (sequence.state == SequenceState::kWaiting || sequence.state == SequenceState::kPrefill) dequeue(sequence);
  if (hold_ == &sequence) hold_ = nullptr;
  if (sequence.has_pages()) {
    stop_running(sequence);
    const std::span<const TokenId> computed(sequence.tokens.data(), static_cast<size_t>(sequence.kv.length));
    if (keep) kv_.publish(sequence.kv, sequence.request->salt, computed, now);
    kv_.release(sequence.kv, now);
  }
  sequence.state = SequenceState::kFinished;
}

void Scheduler::preempt(Sequence& sequence, Nanos now) {
  if (sequence.state == SequenceState::kPrefill) dequeue(sequence);
  stop_running(sequence);
  const std::span<const TokenId> computed(sequence.tokens.data(), static_cast<size_t>(sequence.kv.length));
  kv_.publish(sequence.kv, sequence.request->salt, computed, now);
  kv_.release(sequence.kv, now);
  ++sequence.preemptions;
  ++stats_.preemptions;
  enqueue(sequence, now);
}

void Scheduler::fork(Request& request, Nanos now) {
  const Sequence& first = *request.choices.front();
  for (size_t i = 1; i < request.choices.size(); ++i) {
    Sequence& twin = *request.choices[i];
    if (twin.state != SequenceState::kForking) continue;
    twin.queue_class = first.queue_class;
    twin.deadline_ms = first.deadline_ms;
    const bool room = static_cast<int32_t>(running_.size()) < options_.max_running;
    if (room && kv_.fork(first.kv, twin.kv, now)) {
      start_running(twin, SequenceState::kDecode);
    } else {
      enqueue(twin, now);
    }
  }
}

void Scheduler::promote_aged(Nanos now) {
  if (now < next_promotion_) return;
  next_promotion_ = now + from_ms(50);
  std::vector<Sequence*> aged;
  for (size_t c = 1; c < queues_.size(); ++c) {
    const Nanos limit = from_ms(options_.targets[c].promote_ms);
    queues_[c].for_each([&](Sequence& s) {
      if (now - s.waiting_since >= limit) aged.push_back(&s);
    });
  }
  for (Sequence* sequence : aged) {
    dequeue(*sequence);
    sequence->queue_class = static_cast<SchedulingClass>(static_cast<int>(sequence->queue_class) - 1);
    sequence->waiting_since = now;
    // In its new class it is one of many: what it waited counts, its old class's patience does not.
    sequence->deadline_ms = std::min(sequence->deadline_ms, to_ms(now) + target(sequence->queue_class).ttft_ms);
    queues_[static_cast<size_t>(sequence->queue_class)].add(*sequence->request->account, *sequence);
    ++stats_.promotions;
  }
}

// What a sequence will hold before long: its tokens and the reserve of output; for the first of n choices also the
// others' beginnings.
int32_t Scheduler::committed_pages(const Sequence& sequence, size_t group) const {
  const Request& request = *sequence.request;
  const auto tokens = static_cast<int32_t>(sequence.tokens.size());
  const int32_t reserve = std::min(options_.output_reserve, request.length_limit() - tokens);
  int32_t pages = kv_.pages_for(group, tokens + reserve);
  if (sequence.index == 0 && request.params().n > 1 && request.choices.back()->state == SequenceState::kForking) {
    const int32_t each = kv_.pages_for(group, kPageTokens + reserve);
    // All choices together may be more than the pool: then they take turns, and one must fit.
    pages = std::min(pages + each * (request.params().n - 1), std::max(pages, kv_.pool(group).size()));
  }
  return pages;
}

PrefixHit Scheduler::peek_prefix(const Sequence& sequence) const {
  // The last token is always computed: its logits are wanted.
  const size_t usable = sequence.request->needs_prompt_logits(sequence) ? 0 : sequence.tokens.size() - 1;
  return kv_.peek_prefix(sequence.request->salt, std::span(sequence.tokens.data(), usable));
}

bool Scheduler::fits(const Sequence& sequence, const PrefixHit& hit) const {
  if (static_cast<int32_t>(running_.size()) >= options_.max_running) return false;
  for (size_t g = 0; g < kv_.groups(); ++g) {
    int32_t need = committed_pages(sequence, g);
    // Pages of the hit that others hold cost nothing; those only the tree holds stop being available.
    const auto full = std::min(hit.pages[g].size(), static_cast<size_t>(hit.tokens / kPageTokens));
    for (size_t p = 0; p < full; ++p) {
      if (hit.pages[g][p] != kNoPage && kv_.pool(g).references(hit.pages[g][p]) > 1) --need;
    }
    for (const Sequence* other : running_) need += std::max(0, committed_pages(*other, g) - held_pages(other->kv, g));
    if (need > kv_.available(g)) return false;
  }
  return true;
}

bool Scheduler::admit(Sequence& sequence, Nanos now, StepPlan& plan) {
  if (hold_ != nullptr && hold_ != &sequence && !better(&sequence, hold_)) return false;
  const PrefixHit hit = peek_prefix(sequence);
  if (another_computes_its_prefix(sequence, hit.tokens, plan)) {
    ++stats_.deferrals;
    return false;
  }
  bool room = fits(sequence, hit);
  // A lower class gives way, its newest first.
  while (!room && !running_.empty() &&
         running_.back()->request->params().scheduling_class > sequence.request->params().scheduling_class) {
    plan.remove(*running_.back());
    preempt(*running_.back(), now);
    room = fits(sequence, peek_prefix(sequence));
  }
  // Alone, what was let in must be able to run: the estimate may be too careful, never a reason to wait for ever.
  if (!room && !running_.empty()) {
    const bool waited_long = now - sequence.waiting_since > from_ms(2 * target(sequence.queue_class).ttft_ms);
    if (hold_ == nullptr && waited_long) hold_ = &sequence;
    return false;
  }
  sequence.kv.reset(kv_.groups());
  sequence.looked_up = 0;
  start_running(sequence, SequenceState::kPrefill);
  if (sequence.request->first_scheduled < 0) {
    sequence.request->first_scheduled = now;
    started(*sequence.request);
  }
  return true;
}

}  // namespace inferens
