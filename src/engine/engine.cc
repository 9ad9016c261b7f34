// The engine's thread and its queue.
#include "engine/engine.h"

#include <cmath>
#include <utility>

namespace inferens {

StatusOr<std::unique_ptr<Engine>> Engine::make(std::unique_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer,
                                               const EngineOptions& options) {
  std::unique_ptr<Engine> engine(new Engine(std::move(model), std::move(tokenizer), options.scheduler));
  StatusOr<std::unique_ptr<EngineCore>> core = EngineCore::make(*engine->model_, engine->tokenizer_.get(), options);
  if (!core.ok()) return core.status();
  engine->core_ = std::move(*core);
  engine->core_->fill_stats(engine->stats_);
  engine->thread_ = std::thread([e = engine.get()] { e->loop(); });
  return engine;
}

Engine::Engine(std::unique_ptr<Model> model, std::shared_ptr<const Tokenizer> tokenizer, const SchedulerOptions& limits)
    : model_(std::move(model)), tokenizer_(std::move(tokenizer)), limits_(limits) {}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Status Engine::check_queue(int64_t tokens) const {
  const int32_t queued = core_->scheduler().queued_requests() + inbox_requests_;
  const int64_t queued_tokens = core_->scheduler().queued_tokens() + inbox_tokens_;
  const bool full =
      queued >= limits_.max_queued_requests || (queued > 0 && queued_tokens + tokens > limits_.max_queued_tokens);
  if (!full) return ok_status();
  return resource_exhausted("the queue is full: " + std::to_string(queued) + " requests with " +
                            std::to_string(queued_tokens) + " prompt tokens wait (limits " +
                            std::to_string(limits_.max_queued_requests) + " and " +
                            std::to_string(limits_.max_queued_tokens) + "); retry in about " +
                            std::to_string(std::lround(std::ceil(stats_.retry_after_seconds))) + " s");
}

RequestId Engine::enqueue(TokenizedRequest request, EventSink sink) {
  const RequestId id = request.id = next_id_++;
  ++inbox_requests_;
  inbox_tokens_ += static_cast<int64_t>(request.prompt.size());
  inbox_.emplace_back(Submission{std::move(request), std::move(sink)});
  wake_.notify_one();
  return id;
}

StatusOr<RequestId> Engine::submit(TokenizedRequest request, EventSink sink) {
  if (Status status = core_->check(request); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (draining_ || stopping_) return unavailable("the engine is shutting down and takes no new requests");
  if (Status full = check_queue(static_cast<int64_t>(request.prompt.size())); !full.ok()) return full;
  return enqueue(std::move(request), std::move(sink));
}

StatusOr<RequestId> Engine::submit_more(TokenizedRequest request, EventSink sink) {
  if (Status status = core_->check(request); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (stopping_) return unavailable("the engine is shutting down");
  return enqueue(std::move(request), std::move(sink));
}

void Engine::cancel(RequestId id) {
  const std::lock_guard lock(mutex_);
  inbox_.emplace_back(Cancellation{id});
  wake_.notify_one();
}

void Engine::pin_prefix(const std::string& api_key_id, const std::string& cache_salt, std::vector<TokenId> tokens,
                        Nanos how_long) {
  const std::lock_guard lock(mutex_);
  inbox_.emplace_back(Pin{EngineCore::tree_salt(api_key_id, cache_salt), std::move(tokens), how_long});
  wake_.notify_one();
}

void Engine::drain() {
  std::unique_lock lock(mutex_);
  draining_ = true;
  drained_.wait(lock, [&] { return idle_ && inbox_.empty(); });
}

EngineStats Engine::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void Engine::take(Command&& command) {
  if (auto* submission = std::get_if<Submission>(&command)) {
    const auto tokens = static_cast<int64_t>(submission->request.prompt.size());
    core_->submit(std::move(submission->request), std::move(submission->sink));
    --inbox_requests_;
    inbox_tokens_ -= tokens;
  } else if (const auto* cancellation = std::get_if<Cancellation>(&command)) {
    core_->cancel(cancellation->id);
  } else if (const auto* pin = std::get_if<Pin>(&command)) {
    core_->pin_prefix(pin->salt, pin->tokens, core_->clock().now() + pin->how_long);
  }
}

void Engine::loop() {
  std::vector<Command> commands;
  EngineStats stats;
  bool ran = false;
  while (true) {
    core_->fill_stats(stats);
    {
      std::unique_lock lock(mutex_);
      std::swap(stats_, stats);
      idle_ = core_->idle();
      if (idle_) drained_.notify_all();
      if (!ran) wake_.wait(lock, [&] { return stopping_ || !inbox_.empty(); });
      if (stopping_) break;
      commands.swap(inbox_);
      idle_ = idle_ && commands.empty();
    }
    for (Command& command : commands) take(std::move(command));
    commands.clear();
    ran = core_->step();
  }
  // What is in the queue still gets its events, too. Sinks may cancel meanwhile: that is in vain and harmless.
  {
    const std::lock_guard lock(mutex_);
    commands.swap(inbox_);
  }
  for (Command& command : commands) take(std::move(command));
  core_->cancel_all();
}

}  // namespace inferens
