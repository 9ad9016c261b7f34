// The engine on its own thread. Others reach it by a queue: submissions and cancellations go in, events come out on the
// engine's thread. Between two steps it takes the queue with one short lock; inside a step there is none.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "engine/engine_core.h"
#include "engine/engine_stats.h"
#include "engine/request.h"
#include "inferens/status.h"
#include "model/model.h"
#include "text/tokenizer.h"

namespace inferens {

class Engine {
 public:
  // See EngineCore::make. The engine owns the model; the tokenizer (or null) is shared.
  static StatusOr<std::unique_ptr<Engine>> make(std::unique_ptr<Model> model,
                                                std::shared_ptr<const Tokenizer> tokenizer,
                                                const EngineOptions& options);
  // Cancels what lives; every sink has its last event when this returns.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // All below are thread safe.

  // Sets the request's id. Errors: as EngineCore::check; resource_exhausted when the queue is full (with about when to
  // come back; stats().retry_after_seconds is the number); unavailable after drain() began.
  StatusOr<RequestId> submit(TokenizedRequest request, EventSink sink);
  // The next part of work that was let in by submit(): neither a full queue nor drain() refuses it. May be called from
  // a sink.
  StatusOr<RequestId> submit_more(TokenizedRequest request, EventSink sink);
  // See EngineCore::check.
  Status check(const TokenizedRequest& request) const { return core_->check(request); }
  // Acknowledged by the request's last events. Ids that ended or never were are ignored.
  void cancel(RequestId id);
  // Keeps the full pages of a computed prompt (of this key and salt) for so long, whatever else needs room.
  void pin_prefix(const std::string& api_key_id, const std::string& cache_salt, std::vector<TokenId> tokens,
                  Nanos how_long);
  // Takes nothing new and returns when all that lives has ended.
  void drain();

  EngineStats stats() const;
  int32_t context() const { return core_->context(); }
  uint64_t kv_bytes() const { return core_->kv_bytes(); }
  const Clock& clock() const { return core_->clock(); }

 private:
  struct Submission {
    TokenizedRequest request;
    EventSink sink;
  };
  struct Cancellation {
    RequestId id;
  };
  struct Pin {
    std::string salt;
    std::vector<TokenId> tokens;
    Nanos how_long;
  };
  using Command = std::variant<Submission, Cancellation, Pin>;

  Engine(std::unique_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer, const SchedulerOptions& limits);
  // Under the lock.
  Status check_queue(int64_t tokens) const;
  RequestId enqueue(TokenizedRequest request, EventSink sink);
  void loop();
  void take(Command&& command);

  std::unique_ptr<Model> model_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  const SchedulerOptions limits_;
  std::unique_ptr<EngineCore> core_;  // the engine thread's, but for what it says is thread safe

  // Submitted and not yet counted by the scheduler.
  std::atomic<int32_t> inbox_requests_{0};
  std::atomic<int64_t> inbox_tokens_{0};

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable wake_;
  std::condition_variable drained_;
  std::vector<Command> inbox_;
  RequestId next_id_ = 1;
  bool draining_ = false;
  bool stopping_ = false;
  bool idle_ = true;
  EngineStats stats_;

  std::thread thread_;
};

}  // namespace inferens
