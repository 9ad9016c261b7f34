// What runs in a step: decodes first, then chunks of prefill for what is left of the budget.
#include <algorithm>

#include "base/checked.h"
#include "engine/scheduler.h"

namespace inferens {
namespace {

// Rows of a matrix tile: a chunk of fewer tokens costs nearly as much, and steps do not begin a tile for a few rows.
constexpr int32_t kTileRows = 16;
// A shorter common prefix is computed twice rather than waited for.
constexpr int32_t kWorthWaiting = 16;
// At least this share of a step with decodes goes to prefills, however slow the decodes are, or nobody new ever starts.
constexpr double kLeastPrefillShare = 0.25;
// Without decodes a step is long enough that reading the weights is at most a quarter of it.
constexpr double kFixedCostMultiple = 4;
// Of an idle step: once somebody's prompt ends in it, others make it no longer than this, for they would delay him.
constexpr double kFirstTokenShare = 0.5;
// Turns of keys per step.
constexpr double kTurnsPerStep = 4;

int32_t common_prefix(const std::vector<TokenId>& a, const std::vector<TokenId>& b) {
  const auto n = static_cast<ptrdiff_t>(std::min(a.size(), b.size()));
  return static_cast<int32_t>(std::mismatch(a.begin(), a.begin() + n, b.begin()).first - a.begin());
}

bool needs_prompt_logits(const Sequence& s) {
  return s.request->needs_prompt_logits(s);
}

// What the next `tokens` tokens of a sequence from `position` on cost: those that complete it are sampled from.
StepLoad prefill_load(const Sequence& s, int32_t position, int32_t tokens) {
  const bool completes = position + tokens == static_cast<int32_t>(s.tokens.size());
  return span_load(position, tokens, completes && s.request->spec.max_tokens > 0 ? 1 : 0);
}

}  // namespace

void StepPlan::remove(const Sequence& sequence) {
  for (size_t i = 0; i < spans.size(); ++i) {
    if (spans[i].sequence != &sequence) continue;
    const StepLoad gone = prefill_load(sequence, sequence.kv.length, spans[i].tokens);
    load.tokens -= gone.tokens;
    load.logit_rows -= gone.logit_rows;
    load.attended -= gone.attended;
    if (i < decodes) --decodes;
    spans.erase(spans.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
}

void Scheduler::plan(Nanos now, StepPlan& plan) {
  plan.clear();
  ++step_;
  promote_aged(now);
  plan_decodes(now, plan);
  plan_prefills(now, plan);
  // Prefills that hold all memory between them and can go no further: the last in rank gives way until one can. Pins
  // yield last: keeping a prefix is no reason to stand still.
  while (plan.spans.empty() && (running_.size() > 1 || kv_.tree().pinned())) {
    if (running_.size() > 1) {
      preempt(*running_.back(), now);
    } else {
      kv_.tree().unpin_all(now);
    }
    ++step_;
    plan_decodes(now, plan);
    plan_prefills(now, plan);
  }
  plan.predicted_ms = cost_.predict_ms(plan.load);
}

void Scheduler::plan_decodes(Nanos now, StepPlan& plan) {
  chosen_.clear();
  StepLoad all;
  double gap_ms = 1e12;
  for (Sequence* s : running_) {
    if (s->state != SequenceState::kDecode) continue;
    chosen_.push_back(s);
    all += span_load(s->kv.length, 1, 1);
    gap_ms = std::min(gap_ms, target(s->request->params().scheduling_class).gap_ms);
  }
  if (cost_.predict_ms(all) > gap_ms) {
    // Too many for the most urgent class's gap: those whose own gap allows it sit out a step, the longest due first.
    const auto due = [&](const Sequence* s) {
      return to_ms(s->last_token) + target(s->request->params().scheduling_class).gap_ms;
    };
    std::stable_sort(chosen_.begin(), chosen_.end(), [&](Sequence* a, Sequence* b) { return due(a) < due(b); });
    StepLoad load;
    size_t count = 0;
    for (; count < chosen_.size(); ++count) {
      load += span_load(chosen_[count]->kv.length, 1, 1);
      const double ms = cost_.predict_ms(load);
      if (count > 0 && ms > gap_ms && due(chosen_[count]) > to_ms(now) + ms) break;
    }
    chosen_.resize(count);
    std::sort(chosen_.begin(), chosen_.end(), better);
  }
  // Best rank first, so that whoever is preempted for a page is not in the plan yet.
  for (Sequence* s : chosen_) {
    if (s->state != SequenceState::kDecode || !find_room_for_decode(*s, now)) continue;
    plan.spans.push_back({s, 1});
    plan.load += span_load(s->kv.length, 1, 1);
  }
  plan.decodes = plan.spans.size();
}

bool Scheduler::find_room_for_decode(Sequence& sequence, Nanos now) {
  while (!kv_.reserve(sequence.kv, sequence.kv.length + 1)) {
    Sequence& last = *running_.back();
    preempt(last, now);
    if (&last == &sequence) return false;
  }
  return true;
}

// Everybody counts the same: when more wait for their first token than stream, the streams' share is their number's.
double Scheduler::decode_share(const StepPlan& plan) const {
  SchedulingClass first = SchedulingClass::kBatch;
  for (size_t i = 0; i < plan.decodes; ++i) {
    first = std::min(first, plan.spans[i].sequence->request->params().scheduling_class);
  }
  size_t waiting = 0;
  for (size_t c = 0; c <= static_cast<size_t>(first); ++c) {
    queues_[c].for_each([&](const Sequence& s) { waiting += s.request->spec.embed ? 0 : 1; });
  }
  const auto streams = static_cast<double>(plan.decodes);
  return std::min(options_.decode_share, streams / (streams + static_cast<double>(waiting)));
}

Scheduler::PrefillBudget Scheduler::prefill_budget(const StepPlan& plan) {
  if (plan.decodes == 0) {
    prefill_credit_ms_ = options_.burst_ms;
    const double ms = std::max(options_.idle_step_ms, kFixedCostMultiple * cost_.fixed_ms()) - cost_.fixed_ms();
    return {ms, ms, false};
  }
  double gap_ms = 1e12;
  for (size_t i = 0; i < plan.decodes; ++i) {
    gap_ms = std::min(gap_ms, target(plan.spans[i].sequence->request->params().scheduling_class).gap_ms);
  }
  const double decode_ms = cost_.predict_ms(plan.load);
  const double least = kLeastPrefillShare * decode_ms;
  const double most = std::max(gap_ms - decode_ms, least);
  const double earned = std::max(decode_ms / decode_share(plan) - decode_ms, least);
  prefill_credit_ms_ = std::min(prefill_credit_ms_ + earned, std::max(options_.burst_ms, most));
  const double ms = std::clamp(prefill_credit_ms_, 0.0, most);
  return {ms, ms, prefill_credit_ms_ < most};
}

void Scheduler::plan_prefills(Nanos now, StepPlan& plan) {
  PrefillBudget budget = prefill_budget(plan);
  plan.budget_ms = budget.ms + (plan.decodes == 0 ? cost_.fixed_ms() : cost_.predict_ms(plan.load));
  quantum_ms_ = std::max(budget.ms / kTurnsPerStep, cost_.added_ms(span_load(0, kTileRows, 0)));
  for (size_t i = 0; i < plan.decodes; ++i) {
    const Sequence& s = *plan.spans[i].sequence;
    FairQueue& queue = queues_[static_cast<size_t>(s.queue_class)];
    if (queue.contended()) queue.charge(*s.request->account, cost_.added_ms(span_load(s.kv.length, 1, 1)), quantum_ms_);
  }
  double all_used = 0;
  const double first_token_ms = plan.decodes == 0 ? kFirstTokenShare * plan.budget_ms - cost_.fixed_ms() : budget.ms;
  for (FairQueue& queue : queues_) {
    while (queue.size() > 0 && budget.ms > 0 && plan.load.tokens < options_.max_step_tokens) {
      const FairQueue::Turn turn = queue.next(quantum_ms_, step_);
      if (turn.sequence == nullptr) break;
      budget.turn_ms = std::min(budget.ms, std::max(turn.ms, quantum_ms_));
      const double used = give_prefill(*turn.sequence, budget, now, plan);
      if (used <= 0) {
        turn.sequence->skip_step = step_;
        continue;
      }
      queue.charge(*turn.sequence->request->account, used, quantum_ms_);
      all_used += used;
      budget.ms -= used;
      const bool ends_prompt = turn.sequence->skip_step == step_;
      if (ends_prompt) budget.ms = std::min(budget.ms, first_token_ms - all_used);
    }
  }
  if (plan.decodes > 0) prefill_credit_ms_ -= all_used;
}

int32_t Scheduler::planned_prompt_rows(const StepPlan& plan) const {
  int32_t rows = 0;
  for (const PlannedSpan& span : plan.spans) {
    if (needs_prompt_logits(*span.sequence)) rows += span.tokens;
  }
  return rows;
}

int32_t Scheduler::chunk_tokens(const Sequence& sequence, int32_t position, int32_t remaining,
                                const PrefillBudget& budget, const StepPlan& plan) const {
  const auto planned = static_cast<int32_t>(plan.load.tokens);
  int32_t limit = std::min(remaining, options_.max_step_tokens - planned);
  if (needs_prompt_logits(sequence))
    limit = std::min(limit, options_.max_prompt_logit_rows - planned_prompt_rows(plan));
  const int32_t least = std::min(limit, kTileRows);
  const int32_t affordable = std::min(limit, cost_.tokens_for(budget.ms, position));
  int32_t tokens = std::min(affordable, std::max(cost_.tokens_for(budget.turn_ms, position), least));
  if (tokens == remaining) return tokens;
  const int32_t over = (planned + tokens) % kTileRows;
  if (over < kTileRows / 2 && tokens - over >= least) tokens -= over;
  if (tokens >= least) return std::max(tokens, 0);
  // Too little time for a tile. Beside decodes it comes together over some steps, and what never does is used as it is;
  // something always moves, whatever the model of the costs believes.
  const bool nothing_yet = plan.spans.size() == plan.decodes;
  if (!nothing_yet || budget.may_wait) return 0;
  return plan.decodes == 0 ? std::max(least, 0) : std::max(std::min(tokens, limit), std::min(limit, 1));
}

// Two prompts that start alike, at the same time: one computes, the other takes over the pages a step later.
bool Scheduler::another_computes_its_prefix(const Sequence& sequence, int32_t have, const StepPlan& plan) const {
  if (needs_prompt_logits(sequence)) return false;
  for (size_t i = plan.decodes; i < plan.spans.size(); ++i) {
    const Sequence& other = *plan.spans[i].sequence;
    if (&other == &sequence || other.request->spec.embed || other.request->salt != sequence.request->salt) continue;
    const int32_t common =
        std::min(common_prefix(other.tokens, sequence.tokens), other.kv.length + plan.spans[i].tokens);
    if (common - have >= kWorthWaiting) return true;
  }
  return false;
}

// Pages that others computed since this sequence last looked.
void Scheduler::look_up_prefix(Sequence& sequence, Nanos now) {
  PrefixTree& tree = kv_.tree();
  if (sequence.looked_up == tree.version() + 1) return;
  const std::span<const TokenId> prefix(sequence.tokens.data(), sequence.tokens.size() - 1);
  const int32_t before = sequence.kv.length;
  kv_.attach_prefix(sequence.kv, sequence.request->salt, prefix, now);
  if (sequence.looked_up == 0) tree.stats().queries += static_cast<int64_t>(prefix.size());
  tree.stats().hits += sequence.kv.length - before;
  sequence.looked_up = tree.version() + 1;
}

double Scheduler::give_prefill(Sequence& sequence, const PrefillBudget& budget, Nanos now, StepPlan& plan) {
  if (sequence.state == SequenceState::kWaiting && !admit(sequence, now, plan)) return 0;
  PlannedSpan* span = nullptr;
  for (size_t i = plan.decodes; i < plan.spans.size(); ++i) {
    if (plan.spans[i].sequence == &sequence) span = &plan.spans[i];
  }
  if (span == nullptr && !needs_prompt_logits(sequence)) {
    look_up_prefix(sequence, now);
    if (another_computes_its_prefix(sequence, sequence.kv.length, plan)) {
      ++stats_.deferrals;
      return 0;
    }
  }
  const int32_t planned = span == nullptr ? 0 : span->tokens;
  const int32_t position = sequence.kv.length + planned;
  const int32_t remaining = sequence.pending() - planned;
  int32_t tokens = chunk_tokens(sequence, position, remaining, budget, plan);
  while (tokens > 0 && !kv_.reserve(sequence.kv, position + tokens)) {
    tokens = round_up(position + tokens, kPageTokens) - kPageTokens - position;  // one page less
  }
  if (tokens <= 0) return 0;
  const StepLoad load = prefill_load(sequence, position, tokens);
  if (span == nullptr) {
    plan.spans.push_back({&sequence, tokens});
  } else {
    span->tokens += tokens;
  }
  if (tokens == remaining) sequence.skip_step = step_;
  plan.load += load;
  return std::max(cost_.added_ms(load), 1e-3);
}

}  // namespace inferens
