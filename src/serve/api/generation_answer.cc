#include "serve/api/generation_answer.h"

#include <algorithm>

namespace inferens {
namespace {

void add(RunTotals& totals, const GenerationEvent& done) {
  totals.usage.prompt_tokens += done.usage.prompt_tokens;
  totals.usage.cached_tokens += done.usage.cached_tokens;
  totals.usage.completion_tokens += done.usage.completion_tokens;
  const auto longest = [](int64_t& to, int64_t from) { to = std::max(to, from); };
  longest(totals.timings.queued, done.timings.queued);
  longest(totals.timings.prefill, done.timings.prefill);
  longest(totals.timings.ttft, done.timings.ttft);
  longest(totals.timings.decode, done.timings.decode);
  longest(totals.timings.total, done.timings.total);
}

}  // namespace

GenerationAnswer::GenerationAnswer(std::unique_ptr<GenerationRun> run, std::unique_ptr<EventTranslator> translator, HttpResponse head, ErrorForm form)
    : run_(std::move(run)), translator_(std::move(translator)), head_(std::move(head)), form_(std::move(form)) {}

void GenerationAnswer::fail(const ApiError& error, News& news) {
  news.ended = true;
  if (head_.streams) {
    news.piece += translator_->failure(error);
    return;
  }
  news.response = error_response(error, form_);
}

Answer::News GenerationAnswer::poll() {
  News news;
  if (head_.streams && !std::exchange(head_sent_, true)) {
    news.response = head_;
    news.piece = translator_->opening();
  }
  for (RunEvent& e : run_->channel().take()) {
    switch (e.event.kind) {
      case GenerationEvent::Kind::kError: fail(to_api_error(e.event.error), news); return news;
      case GenerationEvent::Kind::kDone:
        add(totals_, e.event);
        ++ended_;
        break;
      case GenerationEvent::Kind::kFinished:
        if (e.event.finish == FinishReason::kCancelled) {
          fail(to_api_error(unavailable("the request was ended by the server")), news);
          return news;
        }
        [[fallthrough]];
      default: translator_->event(std::move(e), head_.streams ? news.piece : head_.body); break;
    }
  }
  if (run_->channel().overflowed()) {
    fail({.http = 500, .type = "server_error", .code = "client_too_slow", .message = "the stream was not read and its buffer is full"}, news);
    return news;
  }
  if (ended_ < run_->prompts()) return news;
  news.ended = true;
  translator_->end(totals_, head_.streams ? news.piece : head_.body);
  if (!head_.streams) news.response = std::move(head_);
  return news;
}

}  // namespace inferens
