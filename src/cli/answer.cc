#include "cli/answer.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/utf8.h"

namespace inferens {
namespace {

// How long a Ctrl-C may wait to be seen; a signal handler cannot wake a condition variable.
constexpr auto kInterruptPoll = std::chrono::milliseconds(30);

// Hands events from the engine's thread to this one, so that a slow terminal never holds up a step.
class EventQueue {
 public:
  void push(GenerationEvent&& event) {
    std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    ready_.notify_one();
  }
  std::optional<GenerationEvent> pop() {
    std::unique_lock lock(mutex_);
    ready_.wait_for(lock, kInterruptPoll, [&] { return !events_.empty(); });
    if (events_.empty()) return std::nullopt;
    GenerationEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<GenerationEvent> events_;
};

const char* finish_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kCancelled: return "cancelled";
    case FinishReason::kError: return "error";
    case FinishReason::kNone: break;
  }
  return "none";
}

struct Speeds {
  double prefill = 0;  // computed prompt tokens per second between first scheduled and first token
  double output = 0;   // tokens after the first per second
};

Speeds speeds_of(const Answer& a) {
  Speeds s;
  int32_t computed = a.usage.prompt_tokens - a.usage.cached_tokens;
  if (a.timings.prefill > 0) s.prefill = computed / to_seconds(a.timings.prefill);
  if (a.timings.decode > 0 && a.usage.completion_tokens > 1) s.output = (a.usage.completion_tokens - 1) / to_seconds(a.timings.decode);
  return s;
}

// The engine says what does not fit; what to do about it depends on who asks.
Status with_remedy(const Generator& generator, const GenerationRequest& request, const Status& error) {
  if (error.code() != StatusCode::kInvalidArgument) return error;
  auto tokens = generator.prompt_tokens(request);
  const ModelInfo& info = generator.model_info();
  if (!tokens.ok() || tokens->size() < static_cast<size_t>(info.context)) return error;
  std::string remedy = info.context < info.trained_context ? "shorten it, or raise --ctx (the model can do " + std::to_string(info.trained_context) + ")" : "shorten it; the model was made for no more";
  return {error.code(), error.message() + "; " + remedy};
}

template <class... Values>
std::string formatted(const char* format, Values... values) {
  std::array<char, 96> text;
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

std::string without_control_characters(std::string_view text) {
  std::string shown;
  for (size_t i = 0; i < text.size();) {
    CodePoint c = decode_utf8(text, i);
    bool control = (c.value < 0x20 && c.value != '\n' && c.value != '\t') || (c.value >= 0x7f && c.value <= 0x9f);
    append_utf8(control ? char32_t{0xFFFD} : c.value, shown);
    i += c.length;
  }
  return shown;
}

}  // namespace

StatusOr<Answer> generate_answer(Generator& generator, const GenerationRequest& request, InterruptScope& interrupt,
                                 const std::function<Status(std::string_view)>& write) {
  auto queue = std::make_shared<EventQueue>();
  auto id = generator.generate(request, [queue](GenerationEvent&& event) { queue->push(std::move(event)); });
  if (!id.ok()) return with_remedy(generator, request, id.status());
  Answer answer;
  Status written;
  for (;;) {
    if (interrupt.take()) generator.cancel(*id);
    auto event = queue->pop();
    if (!event) continue;
    switch (event->kind) {
      case GenerationEvent::Kind::kText:
        answer.text += event->text;
        if (written.ok()) {
          written = write(event->text);
          if (!written.ok()) generator.cancel(*id);
        }
        break;
      case GenerationEvent::Kind::kPrompt: break;  // only with prompt_logprobs, which no one here asks for
      case GenerationEvent::Kind::kFinished: answer.finish = event->finish; break;
      case GenerationEvent::Kind::kError: return event->error;
      case GenerationEvent::Kind::kDone:
        answer.usage = event->usage;
        answer.timings = event->timings;
        if (!written.ok()) return written;
        return answer;
    }
  }
}

Status write_answer_text(std::string_view text, bool to_terminal) {
  std::string cleaned;
  if (to_terminal) text = cleaned = without_control_characters(text);
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return ok_status();
  return unavailable("cannot write to standard output: " + std::system_category().message(errno));
}

std::string timing_line(const Answer& a, uint64_t seed) {
  Speeds speeds = speeds_of(a);
  std::string line = formatted("prompt %d tokens", a.usage.prompt_tokens);
  if (a.usage.cached_tokens > 0) line += formatted(" (%d cached)", a.usage.cached_tokens);
  line += formatted(" · TTFT %.2f s · prefill %.1f tok/s", to_seconds(a.timings.ttft), speeds.prefill);
  line += formatted(" · output %d tokens at %.1f tok/s", a.usage.completion_tokens, speeds.output);
  line += formatted(" · total %.2f s", to_seconds(a.timings.total));
  return line + " · seed " + std::to_string(seed);
}

std::string answer_json(const Answer& a, const std::string& model, uint64_t seed) {
  Speeds speeds = speeds_of(a);
  nlohmann::ordered_json json;
  json["model"] = model;
  json["text"] = a.text;
  json["finish_reason"] = finish_name(a.finish);
  json["seed"] = seed;
  json["usage"] = {{"prompt_tokens", a.usage.prompt_tokens},
                   {"cached_tokens", a.usage.cached_tokens},
                   {"completion_tokens", a.usage.completion_tokens},
                   {"total_tokens", a.usage.prompt_tokens + a.usage.completion_tokens}};
  json["timings"] = {{"queued_ms", to_ms(a.timings.queued)},
                     {"prefill_ms", to_ms(a.timings.prefill)},
                     {"ttft_ms", to_ms(a.timings.ttft)},
                     {"decode_ms", to_ms(a.timings.decode)},
                     {"total_ms", to_ms(a.timings.total)},
                     {"prefill_tokens_per_second", speeds.prefill},
                     {"output_tokens_per_second", speeds.output}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace inferens
