// The answer that comes from generations: fetches their events and has a dialect translate them, as a stream or as a whole.
#pragma once

#include <memory>
#include <string>

#include "serve/generation_run.h"
#include "serve/http_message.h"

namespace inferens {

// Of all prompts of a request together.
struct RunTotals {
  TokenUsage usage;
  RequestTimings timings;  // the longest of each
};

// A dialect's way from events to bytes. Used on one thread.
class EventTranslator {
 public:
  virtual ~EventTranslator() = default;
  // What a stream begins with, before anything has happened.
  virtual std::string opening() { return {}; }
  // kPrompt, kText and kFinished, in order per choice. Streams append their pieces to `out`.
  virtual void event(RunEvent&& event, std::string& out) = 0;
  // All has ended: the rest of a stream, or the whole body.
  virtual void end(const RunTotals& totals, std::string& out) = 0;
  // The end of a stream that fails in its middle.
  virtual std::string failure(const ApiError& error) const = 0;
  virtual std::string heartbeat() const = 0;
};

class GenerationAnswer final : public Answer {
 public:
  // `head` streams or not; `form` is for errors before the head is sent.
  GenerationAnswer(std::unique_ptr<GenerationRun> run, std::unique_ptr<EventTranslator> translator, HttpResponse head, ErrorForm form);

  News poll() override;
  void on_news(std::function<void()> wake) override { run_->channel().on_news(std::move(wake)); }
  std::string heartbeat() const override { return translator_->heartbeat(); }
  std::string failure(const ApiError& error) const override { return translator_->failure(error); }

 private:
  void fail(const ApiError& error, News& news);

  std::unique_ptr<GenerationRun> run_;
  std::unique_ptr<EventTranslator> translator_;
  HttpResponse head_;
  ErrorForm form_;
  bool head_sent_ = false;
  int32_t ended_ = 0;  // prompts
  RunTotals totals_;
};

}  // namespace inferens
