// Building and running the spans of a step.
#include "engine/step_batch.h"

#include <exception>
#include <string>

#include "base/checked.h"

namespace inferens {

void StepBatch::build_span(const PlannedSpan& planned, size_t groups, TokenSpan& span) {
  const Sequence& s = *planned.sequence;
  const auto begin = static_cast<size_t>(s.kv.length);
  const auto length = static_cast<size_t>(planned.tokens);
  span.tokens = std::span(s.tokens).subspan(begin, length);
  span.position = s.kv.length;
  span.pages.resize(groups);
  const size_t pages = div_up<size_t>(begin + length, kPageTokens);
  for (size_t g = 0; g < groups; ++g) span.pages[g] = std::span(s.kv.pages[g]).first(pages);
  span.logit_rows.clear();
  const Request& request = *s.request;
  if (request.needs_prompt_logits(s)) {
    // The row of position p tells about the prompt's token p + 1; entry 0 of prompt_logprobs has no row.
    const auto prompt = static_cast<int32_t>(request.spec.prompt.size());
    const int32_t from = std::max(0, static_cast<int32_t>(request.prompt_logprobs.size()) - 1);
    for (int32_t p = std::max(from, span.position); p < std::min(span.position + planned.tokens, prompt - 1); ++p) {
      span.logit_rows.push_back(p - span.position);
    }
  }
  const bool completes = planned.tokens == s.pending();
  if (completes && request.spec.max_tokens > 0) span.logit_rows.push_back(planned.tokens - 1);
  span.wants_hidden = completes && request.spec.embed;
}

void StepBatch::build(const StepPlan& plan, const Model& model) {
  count_ = plan.spans.size();
  if (spans_.size() < count_) spans_.resize(count_);
  before_.assign(1, {});
  for (size_t i = 0; i < count_; ++i) {
    build_span(plan.spans[i], model.kv_groups().size(), spans_[i]);
    const Output& so_far = before_.back();
    before_.push_back(
        {so_far.logit_rows + spans_[i].logit_rows.size(), so_far.hidden_rows + (spans_[i].wants_hidden ? 1 : 0)});
  }
  vocab_size_ = static_cast<size_t>(model.vocab_size());
  hidden_size_ = static_cast<size_t>(model.hidden_size());
  const Output& all = before_.back();
  if (logits_.size() < all.logit_rows * vocab_size_) logits_.resize(all.logit_rows * vocab_size_);
  if (hidden_.size() < all.hidden_rows * hidden_size_) hidden_.resize(all.hidden_rows * hidden_size_);
}

// A library's exception (no memory, above all) is a failed step, not the end of the process.
Status StepBatch::run_spans(Model& model, KvPool& kv, size_t first, size_t count) {
  const Output from = before_[first], to = before_[first + count];
  const auto logits =
      std::span(logits_).subspan(from.logit_rows * vocab_size_, (to.logit_rows - from.logit_rows) * vocab_size_);
  const auto hidden =
      std::span(hidden_).subspan(from.hidden_rows * hidden_size_, (to.hidden_rows - from.hidden_rows) * hidden_size_);
  try {
    return model.step(std::span(spans_).subspan(first, count), kv, logits, hidden);
  } catch (const std::exception& e) {
    return internal_error(std::string("the forward pass threw: ") + e.what());
  }
}

void StepBatch::run(Model& model, KvPool& kv) {
  statuses_.assign(count_, run_spans(model, kv, 0, count_));
  if (count_ == 1 || statuses_.front().ok()) return;
  for (size_t i = 0; i < count_; ++i) statuses_[i] = run_spans(model, kv, i, 1);
}

std::span<const float> StepBatch::logits(size_t span, size_t i) const {
  return std::span(logits_).subspan((before_[span].logit_rows + i) * vocab_size_, vocab_size_);
}

std::span<const float> StepBatch::hidden(size_t span) const {
  return std::span(hidden_).subspan(before_[span].hidden_rows * hidden_size_, hidden_size_);
}

}  // namespace inferens
