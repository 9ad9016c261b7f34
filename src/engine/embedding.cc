// Runs a job's inputs some at a time and gathers what comes of them.
#include "engine/embedding.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/engine.h"

namespace inferens {
namespace {

// Inputs of one job inside the engine: enough to fill steps with short texts, few enough that a job of thousands does
// not stand before everybody else's.
constexpr size_t kInputsAtOnce = 64;

void scale_to_length_one(std::vector<float>& x) {
  double squares = 0;
  for (const float v : x) squares += double{v} * v;
  if (squares == 0) return;
  const double scale = 1 / std::sqrt(squares);
  for (float& v : x) v = static_cast<float>(v * scale);
}

}  // namespace

EmbeddingJob::EmbeddingJob(Engine& engine, std::vector<TokenizedRequest> inputs, bool normalize, EmbeddingSink sink)
    : engine_(&engine),
      inputs_(std::move(inputs)),
      normalize_(normalize),
      sink_(std::move(sink)),
      running_(inputs_.size(), 0) {
  result_.embeddings.resize(inputs_.size());
}

StatusOr<std::shared_ptr<EmbeddingJob>> EmbeddingJob::start(Engine& engine, std::vector<TokenizedRequest> inputs,
                                                            bool normalize, EmbeddingSink sink) {
  const std::shared_ptr<EmbeddingJob> job(new EmbeddingJob(engine, std::move(inputs), normalize, std::move(sink)));
  // Held until all are in: the first may end before the second is submitted.
  const std::lock_guard lock(job->mutex_);
  if (Status status = job->submit_next(); !status.ok()) return status;
  job->submit_while_room();
  return job;
}

Status EmbeddingJob::submit_next() {
  const size_t input = next_;
  EventSink events = [job = shared_from_this(), input](GenerationEvent&& event) { job->take(input, std::move(event)); };
  StatusOr<RequestId> id = input == 0 ? engine_->submit(std::move(inputs_[input]), std::move(events))
                                      : engine_->submit_more(std::move(inputs_[input]), std::move(events));
  if (!id.ok()) return id.status();
  running_[input] = *id;
  ++next_;
  ++live_;
  return ok_status();
}

void EmbeddingJob::submit_while_room() {
  while (problem_.ok() && next_ < inputs_.size() && live_ < kInputsAtOnce) {
    if (Status status = submit_next(); !status.ok()) stop(std::move(status));
  }
}

void EmbeddingJob::stop(Status why) {
  if (!problem_.ok()) return;
  problem_ = std::move(why);
  for (const RequestId id : running_) {
    if (id != 0) engine_->cancel(id);
  }
}

void EmbeddingJob::cancel() {
  const std::lock_guard lock(mutex_);
  if (engine_ != nullptr) stop(cancelled("the embedding was cancelled"));
}

void EmbeddingJob::add_up(const GenerationEvent& done) {
  result_.usage.prompt_tokens += done.usage.prompt_tokens;
  result_.usage.cached_tokens += done.usage.cached_tokens;
  RequestTimings& t = result_.timings;
  const bool first = t.total == 0;
  t.queued = first ? done.timings.queued : std::min(t.queued, done.timings.queued);
  t.ttft = first ? done.timings.ttft : std::min(t.ttft, done.timings.ttft);
  t.total = std::max(t.total, done.timings.total);
  t.prefill = t.total - t.queued;
}

void EmbeddingJob::take(size_t input, GenerationEvent&& event) {
  std::unique_lock lock(mutex_);
  std::vector<float>& embedding = result_.embeddings[input];
  if (event.kind == GenerationEvent::Kind::kFinished) embedding = std::move(event.embedding);
  const bool failed = event.kind == GenerationEvent::Kind::kError;
  if (!failed && event.kind != GenerationEvent::Kind::kDone) return;
  running_[input] = 0;
  --live_;
  if (failed) {
    stop(event.error.with_context("input " + std::to_string(input)));
  } else if (embedding.empty()) {
    stop(cancelled("the embedding was cancelled"));
  } else {
    if (normalize_) scale_to_length_one(embedding);
    add_up(event);
  }
  submit_while_room();
  if (live_ > 0) return;
  engine_ = nullptr;
  const EmbeddingSink sink = std::move(sink_);
  lock.unlock();  // nothing changes the job any more
  if (problem_.ok()) return sink(std::move(result_));
  sink(problem_);
}

}  // namespace inferens
