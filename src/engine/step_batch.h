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
  void build(const StepPlan& plan, size_t groups, int32_t vocab_size);
  // Runs all spans together; when the model fails, each alone, so that only those at fault are lost.
  void run(Model& model, KvPool& kv);

  const Status& status(size_t span) const { return statuses_[span]; }
  // Logits of the span's i-th wanted row: [vocab_size] f32.
  std::span<const float> logits(size_t span, size_t i) const;
  int32_t rows(size_t span) const { return static_cast<int32_t>(spans_[span].logit_rows.size()); }
  int32_t first_row_offset(size_t span) const { return spans_[span].logit_rows.front(); }

 private:
  void build_span(const PlannedSpan& planned, size_t groups, TokenSpan& span);

  std::vector<TokenSpan> spans_;  // only the first count_ belong to this step
  size_t count_ = 0;
  std::vector<size_t> first_row_;  // [span]
  std::vector<float> logits_;      // [rows, vocab_size]
  size_t row_count_ = 0;
  size_t vocab_size_ = 0;
  std::vector<Status> statuses_;
};

}  // namespace inferens
