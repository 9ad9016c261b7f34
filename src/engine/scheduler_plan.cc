// What runs in a step: decodes first, then chunks of prefill for what is left of the budget.
#include <algorithm>

#include "base/checked.h"
#include "engine/scheduler.h"

namespace inferens {
namespace {

// Chunks are multiples of this but for the last: matrix tiles are that high.
constexpr int32_t kChunkStep = 16;
// A shorter common prefix is computed twice rather than waited for.
constexpr int32_t kWorthWaiting = 16;
// Under this, chunks are so small that their fixed costs rule.
constexpr double kSmallestBudgetMs = 8;
// At least this share of a step with decodes goes to prefills, however slow the decodes are, or nobody new ever starts.
constexpr double kLeastPrefillShare = 0.25;
// Without decodes a step is long enough that reading the weights is at most a quarter of it.
constexpr double kFixedCostMultiple = 4;
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

double Scheduler::prefill_budget(const StepPlan& plan) const {
  if (plan.decodes == 0)
    return std::max(options_.idle_step_ms, kFixedCostMultiple * cost_.fixed_ms()) - cost_.fixed_ms();
  double gap_ms = 1e12;
  for (size_t i = 0; i < plan.decodes; ++i) {
    gap_ms = std::min(gap_ms, target(plan.spans[i].sequence->request->params().scheduling_class).gap_ms);
  }
  const double decode_ms = cost_.predict_ms(plan.load);
  const double step_ms = std::min(std::max(decode_ms / options_.decode_share, kSmallestBudgetMs), gap_ms);
  return std::max(step_ms - decode_ms, kLeastPrefillShare * decode_ms);
}

void Scheduler::plan_prefills(Nanos now, StepPlan& plan) {
  double ms = prefill_budget(plan);
  plan.budget_ms = ms + (plan.decodes == 0 ? cost_.fixed_ms() : cost_.predict_ms(plan.load));
  quantum_ms_ = std::max(ms / kTurnsPerStep, cost_.added_ms(span_load(0, kChunkStep, 0)));
  for (size_t i = 0; i < plan.decodes; ++i) {
    const Sequence& s = *plan.spans[i].sequence;
    FairQueue& queue = queues_[static_cast<size_t>(s.queue_class)];
    if (queue.contended()) queue.charge(*s.request->account, cost_.added_ms(span_load(s.kv.length, 1, 1)), quantum_ms_);
  }
  for (FairQueue& queue : queues_) {
    while (queue.size() > 0 && ms > 0 && plan.load.tokens < options_.max_step_tokens) {
      const FairQueue::Turn turn = queue.next(quantum_ms_, step_);
      if (turn.sequence == nullptr) break;
      const double used = give_prefill(*turn.sequence, std::min(ms, std::max(turn.ms, quantum_ms_)), now, plan);
      if (used <= 0) {
        turn.sequence->skip_step = step_;
        continue;
      }
      queue.charge(*turn.sequence->request->account, used, quantum_ms_);
      ms -= used;
    }
  }
}

int32_t Scheduler::planned_prompt_rows(const StepPlan& plan) const {
  int32_t rows = 0;
  for (const PlannedSpan& span : plan.spans) {
    if (needs_prompt_logits(*span.sequence)) rows += span.tokens;
  }
  return rows;
}

int32_t Scheduler::chunk_tokens(const Sequence& sequence, int32_t position, int32_t remaining, double ms,
                                const StepPlan& plan) const {
  int32_t limit = std::min(remaining, options_.max_step_tokens - static_cast<int32_t>(plan.load.tokens));
  if (needs_prompt_logits(sequence))
    limit = std::min(limit, options_.max_prompt_logit_rows - planned_prompt_rows(plan));
  int32_t tokens = std::min(limit, cost_.tokens_for(ms, position));
  if (tokens < remaining) tokens -= tokens % kChunkStep;
  // Something always moves, whatever the model of the costs believes.
  const bool nothing_yet = plan.spans.size() == plan.decodes;
  if (tokens == 0 && nothing_yet) tokens = std::min(limit, kChunkStep);
  return std::max(tokens, 0);
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

double Scheduler::give_prefill(Sequence& sequence, double ms, Nanos now, StepPlan& plan) {
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
  int32_t tokens = chunk_tokens(sequence, position, remaining, ms, plan);
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
