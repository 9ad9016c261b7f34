// The engine without its thread: requests in, steps, events out. Owns every sequence, page and tree node. One thread
// calls it (the engine's, or the simulator's); only what says so may be called from others.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "engine/cost_model.h"
#include "engine/engine_stats.h"
#include "engine/kv_cache.h"
#include "engine/request.h"
#include "engine/scheduler.h"
#include "engine/step_batch.h"
#include "inferens/generation.h"
#include "inferens/status.h"
#include "model/model.h"
#include "text/tokenizer.h"

namespace inferens {

struct EngineOptions {
  int32_t context = 0;  // longest prompt + output; 0: the model's own, as far as the pages hold it
  size_t kv_bytes = size_t{1} << 30;
  std::vector<int32_t> pages;  // [group] instead of kv_bytes
  bool prefix_cache = true;
  Nanos prefix_time_to_live = 0;  // 0: until the room is needed
  SchedulerOptions scheduler;
  const Clock* clock = nullptr;  // null: system_clock()
};

class EngineCore {
 public:
  // tokenizer may be null: then events carry tokens and no text, and only stop_token_ids end a choice. Both outlive the
  // core.
  static StatusOr<std::unique_ptr<EngineCore>> make(Model& model, const Tokenizer* tokenizer,
                                                    const EngineOptions& options);
  ~EngineCore();
  EngineCore(const EngineCore&) = delete;
  EngineCore& operator=(const EngineCore&) = delete;

  // What can be said about a request before it queues: ranges, vocabulary, context, memory. Thread safe.
  Status check(const TokenizedRequest& request) const;
  int32_t context() const { return context_; }     // thread safe
  uint64_t kv_bytes() const { return kv_bytes_; }  // thread safe
  const Scheduler& scheduler() const { return *scheduler_; }

  // A checked request. Its events begin in a later step.
  void submit(TokenizedRequest request, EventSink sink);
  // The prefix tree's root of a tenant: a key's prompts are found by that key only, and its salts part them further.
  static std::string tree_salt(const std::string& api_key_id, const std::string& cache_salt);
  // Ends a request now, if it lives: its pages are back and its last events sent when this returns.
  void cancel(RequestId id);
  void cancel_all();
  // Keeps the full pages of a prompt that was computed, until a time of the clock. Returns the tokens kept.
  int32_t pin_prefix(const std::string& salt, std::span<const TokenId> tokens, Nanos until);
  // Runs one step. False: there was nothing to run.
  bool step();

  bool idle() const { return requests_.empty(); }
  const Clock& clock() const { return clock_; }
  void fill_stats(EngineStats& stats) const;
  // Pages in use + free = pool, references match, every sequence is in the lists of its state.
  Status check_invariants() const;
  // Drops what the prefix tree holds.
  void clear_prefix_cache() { kv_->tree().clear(); }

 private:
  EngineCore(Model& model, const Tokenizer* tokenizer, const EngineOptions& options);

  void complete(size_t span);
  void note_prefill(Sequence& sequence, int32_t position, int32_t tokens);
  void take_prompt_logprobs(Sequence& sequence, size_t span);
  void first_tokens(Sequence& first, std::span<const float> logits);
  void sample(Sequence& sequence, std::span<const float> logits);
  // The tokens that the grammar and min_tokens leave to the sequence's next position; empty: all. allowed_ may hold
  // them.
  StatusOr<std::span<const uint32_t>> allowed_tokens(Sequence& sequence);
  void finish_embedding(Sequence& sequence, std::span<const float> hidden);
  void publish(Sequence& sequence);
  void finish_choice(Sequence& sequence, FinishReason reason, std::string stop_reason = {},
                     std::vector<TokenId> stop_token = {});
  void end_choice(Sequence& sequence, GenerationEvent&& finished);
  void end_request(Request& request);
  void fail(Request& request, Status status);
  void bury(Request& request);
  void send(Request& request, GenerationEvent&& event);
  void send_prompt(Request& request);
  bool ends_choice(const Request& request, TokenId token) const;
  void set_bytes(PositionLogprobs& logprobs) const;
  RequestTimings timings(const Request& request) const;

  Model& model_;
  const Tokenizer* tokenizer_;
  const Clock& clock_;
  EngineOptions options_;
  int32_t context_ = 0;
  uint64_t kv_bytes_ = 0;
  std::vector<uint32_t> allowed_;     // scratch: token mask of the sequence that is being sampled
  std::vector<uint32_t> end_tokens_;  // token mask: those that end a generation by the model's own rules
  std::unique_ptr<KvCache> kv_;
  CostModel cost_;
  std::unique_ptr<Scheduler> scheduler_;
  StepPlan plan_;
  StepBatch batch_;
  std::unordered_map<RequestId, std::unique_ptr<Request>> requests_;
  std::vector<std::unique_ptr<Request>> ended_;  // in this step; buried at its end
  std::vector<RequestId> deaf_;                  // whose sink threw
  Nanos now_ = 0;                                // of the step, for all its events
  EngineStats counters_;
};

}  // namespace inferens
