#include "serve/timelines.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "serve/json_writer.h"

namespace inferens {
namespace {

// Per request; far more than any ordinary one has.
constexpr size_t kMostMoments = 512;

const char* reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kCancelled: return "cancelled";
    default: return "error";
  }
}

const char* class_name(SchedulingClass c) {
  constexpr const char* kNames[] = {"voice", "chat", "agent", "batch"};
  return kNames[static_cast<size_t>(c)];
}

struct Moment {
  Nanos at = 0;
  std::string what;
  int32_t prompt = 0;
  int32_t choice = -1;  // -1: the whole prompt
  std::string detail;
};

struct OnePrompt {
  bool started = false;
  bool ended = false;
  std::vector<Nanos> last;  // [choice] output
  Nanos longest_gap = 0;
  int32_t outputs = 0;
  TokenUsage usage;
  RequestTimings timings;
};

}  // namespace

struct Timelines::Record {
  std::string id;
  std::string model;
  std::string key;
  SchedulingClass scheduling_class = SchedulingClass::kChat;
  const Clock* clock = nullptr;
  Nanos start = 0;

  mutable std::mutex mutex;  // guards the rest: the engine writes, an asker reads
  std::vector<Moment> moments;
  std::vector<OnePrompt> prompts;

  void add(std::string what, int32_t prompt, int32_t choice = -1, std::string detail = {}) {
    if (moments.size() < kMostMoments) moments.push_back({clock->now() - start, std::move(what), prompt, choice, std::move(detail)});
  }
};

namespace {

class TimelineRecorder final : public RequestRecorder {
 public:
  TimelineRecorder(std::shared_ptr<Timelines::Record> record, std::shared_ptr<RequestRecorder> next)
      : record_(std::move(record)), next_(std::move(next)) {}

  void submitted(int32_t prompt, const GenerationRequest& request) override {
    {
      const std::lock_guard lock(record_->mutex);
      record_->scheduling_class = request.scheduling_class;
      record_->prompts[static_cast<size_t>(prompt)].last.assign(static_cast<size_t>(request.n), 0);
      record_->add("submitted", prompt);
    }
    if (next_) next_->submitted(prompt, request);
  }

  void refused(int32_t prompt, const Status& status) override {
    {
      const std::lock_guard lock(record_->mutex);
      record_->add("refused", prompt, -1, status.message());
    }
    if (next_) next_->refused(prompt, status);
  }

  void on_event(int32_t prompt, const GenerationEvent& event) override {
    {
      const std::lock_guard lock(record_->mutex);
      note(record_->prompts[static_cast<size_t>(prompt)], prompt, event);
    }
    if (next_) next_->on_event(prompt, event);
  }

 private:
  void note(OnePrompt& p, int32_t prompt, const GenerationEvent& event) {
    switch (event.kind) {
      case GenerationEvent::Kind::kPrompt: record_->add("prompt_computed", prompt); break;
      case GenerationEvent::Kind::kText: note_output(p, prompt, event); break;
      case GenerationEvent::Kind::kFinished: record_->add("finished", prompt, event.index, reason_name(event.finish)); break;
      case GenerationEvent::Kind::kDone:
        p.ended = true;
        p.usage = event.usage;
        p.timings = event.timings;
        record_->add("done", prompt);
        break;
      case GenerationEvent::Kind::kError:
        p.ended = true;
        record_->add("failed", prompt, -1, event.error.message());
        break;
    }
  }

  void note_output(OnePrompt& p, int32_t prompt, const GenerationEvent& event) {
    const Nanos now = record_->clock->now();
    if (!std::exchange(p.started, true)) record_->add("first_output", prompt, event.index);
    Nanos& last = p.last[static_cast<size_t>(event.index)];
    if (last != 0) p.longest_gap = std::max(p.longest_gap, now - last);
    last = now;
    ++p.outputs;
  }

  std::shared_ptr<Timelines::Record> record_;
  std::shared_ptr<RequestRecorder> next_;
};

void write_prompt(JsonWriter& json, const OnePrompt& p) {
  json.begin_object().field("ended", p.ended).field("outputs", p.outputs).field("longest_gap_ms", to_ms(p.longest_gap));
  if (p.ended) {
    json.field("queued_ms", to_ms(p.timings.queued)).field("prefill_ms", to_ms(p.timings.prefill)).field("ttft_ms", to_ms(p.timings.ttft));
    json.field("decode_ms", to_ms(p.timings.decode)).field("total_ms", to_ms(p.timings.total));
    json.field("prompt_tokens", p.usage.prompt_tokens).field("cached_tokens", p.usage.cached_tokens);
    json.field("completion_tokens", p.usage.completion_tokens);
  }
  json.end_object();
}

}  // namespace

std::shared_ptr<RequestRecorder> Timelines::recorder(const HttpRequest& request, const std::string& model, const Clock& clock,
                                                     size_t prompts, std::shared_ptr<RequestRecorder> next) {
  auto record = std::make_shared<Record>();
  record->id = request.id;
  record->model = model;
  record->key = request.key_id;
  record->clock = &clock;
  record->start = clock.now();
  record->prompts.resize(prompts);
  {
    const std::lock_guard lock(mutex_);
    records_[request.id] = record;
    order_.push_back(request.id);
    if (order_.size() > kKept) {
      records_.erase(order_.front());
      order_.pop_front();
    }
  }
  return std::make_shared<TimelineRecorder>(std::move(record), std::move(next));
}

std::optional<std::string> Timelines::json(const std::string& id, const HttpRequest& asker) const {
  std::shared_ptr<Record> record;
  {
    const std::lock_guard lock(mutex_);
    const auto it = records_.find(id);
    if (it == records_.end()) return std::nullopt;
    record = it->second;
  }
  if (!asker.admin && record->key != asker.key_id) return std::nullopt;
  const std::lock_guard lock(record->mutex);
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("id", record->id).field("model", record->model).field("class", class_name(record->scheduling_class));
  json.key("events").begin_array();
  for (const Moment& m : record->moments) {
    json.begin_object().field("ms", to_ms(m.at)).field("event", m.what).field("prompt", m.prompt);
    if (m.choice >= 0) json.field("choice", m.choice);
    if (!m.detail.empty()) json.field("detail", m.detail);
    json.end_object();
  }
  json.end_array().key("prompts").begin_array();
  for (const OnePrompt& p : record->prompts) write_prompt(json, p);
  json.end_array().end_object();
  return out;
}

}  // namespace inferens
