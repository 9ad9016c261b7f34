// Building and running the spans of a step.
#include "engine/step_batch.h"

#include <exception>
#include <string>

#include "base/checked.h"

namespace inferens {
namespace {

// A library's exception (no memory, above all) is a failed step, not the end of the process.
Status forward(Model& model, std::span<const TokenSpan> spans, KvPool& kv, std::span<float> logits) {
  try {
    return model.forward(spans, kv, logits);
  } catch (const std::exception& e) {
    return internal_error(std::string("the forward pass threw: ") + e.what());
  }
}

}  // namespace

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
  const bool samples = planned.tokens == s.pending() && s.request->spec.max_tokens > 0;
  if (samples) span.logit_rows.push_back(planned.tokens - 1);
}

void StepBatch::build(const StepPlan& plan, size_t groups, int32_t vocab_size) {
  count_ = plan.spans.size();
  if (spans_.size() < count_) spans_.resize(count_);
  first_row_.resize(count_);
  row_count_ = 0;
  for (size_t i = 0; i < count_; ++i) {
    build_span(plan.spans[i], groups, spans_[i]);
    first_row_[i] = row_count_;
    row_count_ += spans_[i].logit_rows.size();
  }
  vocab_size_ = static_cast<size_t>(vocab_size);
  if (logits_.size() < row_count_ * vocab_size_) logits_.resize(row_count_ * vocab_size_);
}

void StepBatch::run(Model& model, KvPool& kv) {
  const std::span<const TokenSpan> spans = std::span(spans_).first(count_);
  const Status together = forward(model, spans, kv, std::span(logits_).first(row_count_ * vocab_size_));
  statuses_.assign(count_, together);
  if (together.ok() || count_ == 1) return;
  for (size_t i = 0; i < count_; ++i) {
    const auto rows =
        std::span(logits_).subspan(first_row_[i] * vocab_size_, spans_[i].logit_rows.size() * vocab_size_);
    statuses_[i] = forward(model, spans.subspan(i, 1), kv, rows);
  }
}

std::span<const float> StepBatch::logits(size_t span, size_t i) const {
  return std::span(logits_).subspan((first_row_[span] + i) * vocab_size_, vocab_size_);
}

}  // namespace inferens
