// The batch of one step: from a plan to the model's token spans, the run, and where each span's logits are. Keeps its
// buffers from step to step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/kv_cache.h"
#include "engine/scheduler.h"
#include "inferens/status.h"
#include "model/model.h"

namespace inferens {

class StepBatch {
 public:
  // The plan's sequences must not change until run() has returned.
  void build(const StepPlan& plan, const Model& model);
  // Runs all spans together; when the model fails, each alone, so that only those at fault are lost.
  void run(Model& model, KvPool& kv);

  const Status& status(size_t span) const { return statuses_[span]; }
  // Logits of the span's i-th wanted row: [vocab_size] f32.
  std::span<const float> logits(size_t span, size_t i) const;
  // [hidden_size] f32, of a span that completes an embedding.
  std::span<const float> hidden(size_t span) const;
  int32_t rows(size_t span) const { return static_cast<int32_t>(spans_[span].logit_rows.size()); }
  int32_t first_row_offset(size_t span) const { return spans_[span].logit_rows.front(); }

 private:
  struct Output {
    size_t logit_rows = 0;
    size_t hidden_rows = 0;
  };
  void build_span(const PlannedSpan& planned, size_t groups, TokenSpan& span);
  Status run_spans(Model& model, KvPool& kv, size_t first, size_t count);

  std::vector<TokenSpan> spans_;  // only the first count_ belong to this step
  size_t count_ = 0;
  std::vector<Output> before_;  // [span]: rows of the spans before it; one more entry for all
  std::vector<float> logits_;   // [logit rows, vocab_size]
  std::vector<float> hidden_;   // [hidden rows, hidden_size]
  size_t vocab_size_ = 0;
  size_t hidden_size_ = 0;
  std::vector<Status> statuses_;
};

}  // namespace inferens
