#include "serve/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "engine/engine.h"
#include "serve/engine_metrics.h"

namespace inferens {
namespace {

using prometheus::Counter;
using prometheus::Histogram;
using prometheus::Registry;
using Buckets = Histogram::BucketBoundaries;
using Labels = std::map<std::string, std::string>;

// vLLM's.
const Buckets& latency_buckets() {
  static const Buckets buckets = {0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};
  return buckets;
}
const Buckets& ttft_buckets() {
  static const Buckets buckets = {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560};
  return buckets;
}
const Buckets& token_gap_buckets() {
  static const Buckets buckets = {.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80};
  return buckets;
}
const Buckets& choice_buckets() {
  static const Buckets buckets = {1, 2, 5, 10, 20};
  return buckets;
}
// 1, 2, 5, 10, 20, 50 … up to the context.
Buckets count_buckets(int32_t most) {
  Buckets buckets;
  for (int64_t decade = 1; decade <= most; decade *= 10) {
    for (const int64_t step : {1, 2, 5}) {
      if (decade * step <= most) buckets.push_back(static_cast<double>(decade * step));
    }
  }
  return buckets;
}

constexpr std::array<const char*, 4> kClassNames = {"voice", "chat", "agent", "batch"};
constexpr std::array<const char*, 4> kReasons = {"stop", "length", "abort", "error"};
enum Reason : size_t { kStop, kLength, kAbort, kError };

Counter& counter(Registry& registry, const char* name, const char* help, const Labels& labels) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add(labels);
}

Histogram& histogram(Registry& registry, const char* name, const char* help, const Labels& labels, const Buckets& buckets) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add(labels, buckets);
}

Labels with(Labels labels, const std::string& name, const std::string& value) {
  labels[name] = value;
  return labels;
}

const char* rejection_reason(const Status& status) {
  switch (status.code()) {
    case StatusCode::kResourceExhausted: return "queue_full";
    case StatusCode::kUnavailable: return "draining";
    case StatusCode::kInvalidArgument: return "invalid";
    default: return "other";
  }
}

}  // namespace

struct ServerMetrics::ModelSeries {
  ModelSeries(std::shared_ptr<Registry> r, const std::string& model, int32_t context)
      : registry(std::move(r)),
        labels{{"model_name", model}, {"engine", "0"}},
        ttft(histogram(*registry, "vllm:time_to_first_token_seconds", "From arrival to first output", labels, ttft_buckets())),
        itl(histogram(*registry, "vllm:inter_token_latency_seconds", "Between outputs of an answer", labels, token_gap_buckets())),
        tpot(histogram(*registry, "vllm:request_time_per_output_token_seconds", "Decode time over output tokens after the first", labels, token_gap_buckets())),
        e2e(histogram(*registry, "vllm:e2e_request_latency_seconds", "From arrival to the end", labels, latency_buckets())),
        queue(histogram(*registry, "vllm:request_queue_time_seconds", "From arrival to first scheduled", labels, latency_buckets())),
        prefill(histogram(*registry, "vllm:request_prefill_time_seconds", "From first scheduled to first token", labels, latency_buckets())),
        decode(histogram(*registry, "vllm:request_decode_time_seconds", "From first token to last token", labels, latency_buckets())),
        inference(histogram(*registry, "vllm:request_inference_time_seconds", "From first scheduled to last token", labels, latency_buckets())),
        request_prompt(histogram(*registry, "vllm:request_prompt_tokens", "Prompt tokens of a request", labels, count_buckets(context))),
        request_generation(histogram(*registry, "vllm:request_generation_tokens", "Output tokens of a request", labels, count_buckets(context))),
        request_max_generation(histogram(*registry, "vllm:request_max_num_generation_tokens", "Output tokens of a request's longest answer", labels, count_buckets(context))),
        params_max_tokens(histogram(*registry, "vllm:request_params_max_tokens", "max_tokens of a request, where it gave one", labels, count_buckets(context))),
        params_n(histogram(*registry, "vllm:request_params_n", "n of a request", labels, choice_buckets())),
        kv_computed(histogram(*registry, "vllm:request_prefill_kv_computed_tokens", "Prompt tokens that were not found in the prefix cache", labels, count_buckets(context))),
        prompt_tokens(counter(*registry, "vllm:prompt_tokens_total", "Prompt tokens of ended requests", labels)),
        generation_tokens(counter(*registry, "vllm:generation_tokens_total", "Output tokens of ended requests", labels)),
        cached_tokens(counter(*registry, "vllm:prompt_tokens_cached_total", "Prompt tokens that were not computed", labels)),
        from_compute(counter(*registry, "vllm:prompt_tokens_by_source_total", "Prompt tokens by where they came from", with(labels, "source", "local_compute"))),
        from_cache(counter(*registry, "vllm:prompt_tokens_by_source_total", "Prompt tokens by where they came from", with(labels, "source", "local_cache_hit"))) {
    for (const char* reason : kReasons) ended.push_back(&counter(*registry, "vllm:request_success_total", "Requests that ended, by how", with(labels, "finished_reason", reason)));
    for (const char* name : kClassNames) {
      class_requests.push_back(&counter(*registry, "inferens:class_requests_total", "Requests by scheduling class", with(labels, "class", name)));
      class_ttft.push_back(&histogram(*registry, "inferens:class_time_to_first_token_seconds", "From arrival to first output, by scheduling class", with(labels, "class", name), ttft_buckets()));
    }
  }

  // The names of keys come from the operator's file, so their number is bounded.
  void key_tokens(const std::string& key, const TokenUsage& usage) {
    if (key.empty()) return;
    const Labels with_key = with(labels, "key", key);
    const auto add = [&](const char* kind, int32_t tokens) {
      counter(*registry, "inferens:key_tokens_total", "Tokens by API key", with(with_key, "kind", kind)).Increment(tokens);
    };
    add("prompt", usage.prompt_tokens);
    add("cached", usage.cached_tokens);
    add("generated", usage.completion_tokens);
  }

  std::shared_ptr<Registry> registry;
  Labels labels;
  Histogram &ttft, &itl, &tpot, &e2e, &queue, &prefill, &decode, &inference;
  Histogram &request_prompt, &request_generation, &request_max_generation, &params_max_tokens, &params_n, &kv_computed;
  Counter &prompt_tokens, &generation_tokens, &cached_tokens, &from_compute, &from_cache;
  std::vector<Counter*> ended;           // [Reason]
  std::vector<Counter*> class_requests;  // [SchedulingClass]
  std::vector<Histogram*> class_ttft;
};

namespace {

class MetricsRecorder final : public RequestRecorder {
 public:
  MetricsRecorder(std::shared_ptr<ServerMetrics::ModelSeries> series, const Clock& clock, size_t prompts, ServerMetrics& metrics, std::string model)
      : series_(std::move(series)), clock_(clock), prompts_(prompts), metrics_(metrics), model_(std::move(model)) {}

  void submitted(int32_t prompt, const GenerationRequest& request) override {
    OnePrompt& p = prompts_[static_cast<size_t>(prompt)];
    p.arrival = clock_.now();
    p.scheduling_class = static_cast<size_t>(request.scheduling_class);
    p.n = request.n;
    p.max_tokens = request.max_tokens;
    p.key = request.api_key_id;
    p.last.assign(static_cast<size_t>(request.n), 0);
    p.tokens.assign(static_cast<size_t>(request.n), 0);
  }

  void refused(int32_t, const Status& status) override { metrics_.rejected(model_, status); }

  void on_event(int32_t prompt, const GenerationEvent& event) override {
    OnePrompt& p = prompts_[static_cast<size_t>(prompt)];
    switch (event.kind) {
      case GenerationEvent::Kind::kPrompt: break;
      case GenerationEvent::Kind::kText: on_output(p, event); break;
      case GenerationEvent::Kind::kFinished:
        p.reason = event.finish == FinishReason::kLength ? kLength : event.finish == FinishReason::kCancelled ? kAbort : kStop;
        break;
      case GenerationEvent::Kind::kDone: on_done(p, event); break;
      case GenerationEvent::Kind::kError:
        p.reason = kError;
        on_end(p, clock_.now() - p.arrival);
        break;
    }
  }

 private:
  struct OnePrompt {
    Nanos arrival = 0;
    size_t scheduling_class = 0;
    int32_t n = 1;
    int32_t max_tokens = -1;
    std::string key;
    bool started = false;
    std::vector<Nanos> last;      // [choice] output
    std::vector<int32_t> tokens;  // [choice]
    Reason reason = kStop;
  };

  void on_output(OnePrompt& p, const GenerationEvent& event) {
    const Nanos now = clock_.now();
    if (!std::exchange(p.started, true)) {
      series_->ttft.Observe(to_seconds(now - p.arrival));
      series_->class_ttft[p.scheduling_class]->Observe(to_seconds(now - p.arrival));
    }
    Nanos& last = p.last[static_cast<size_t>(event.index)];
    if (last != 0) series_->itl.Observe(to_seconds(now - last));
    last = now;
    p.tokens[static_cast<size_t>(event.index)] += static_cast<int32_t>(event.tokens.size());
  }

  void on_end(OnePrompt& p, Nanos total) {
    series_->e2e.Observe(to_seconds(total));
    series_->ended[p.reason]->Increment();
    series_->class_requests[p.scheduling_class]->Increment();
    series_->params_n.Observe(p.n);
    if (p.max_tokens >= 0) series_->params_max_tokens.Observe(p.max_tokens);
  }

  void on_done(OnePrompt& p, const GenerationEvent& event) {
    const TokenUsage& usage = event.usage;
    const RequestTimings& t = event.timings;
    on_end(p, t.total);
    series_->queue.Observe(to_seconds(t.queued));
    if (t.ttft > 0) {
      series_->prefill.Observe(to_seconds(t.prefill));
      series_->decode.Observe(to_seconds(t.decode));
      series_->inference.Observe(to_seconds(t.prefill + t.decode));
    }
    const int32_t longest = *std::max_element(p.tokens.begin(), p.tokens.end());
    if (t.decode > 0 && longest > 1) series_->tpot.Observe(to_seconds(t.decode) / (longest - 1));
    series_->request_prompt.Observe(usage.prompt_tokens);
    series_->request_generation.Observe(usage.completion_tokens);
    series_->request_max_generation.Observe(longest);
    series_->kv_computed.Observe(usage.prompt_tokens - usage.cached_tokens);
    series_->prompt_tokens.Increment(usage.prompt_tokens);
    series_->generation_tokens.Increment(usage.completion_tokens);
    series_->cached_tokens.Increment(usage.cached_tokens);
    series_->from_cache.Increment(usage.cached_tokens);
    series_->from_compute.Increment(usage.prompt_tokens - usage.cached_tokens);
    series_->key_tokens(p.key, usage);
  }

  std::shared_ptr<ServerMetrics::ModelSeries> series_;
  const Clock& clock_;
  std::vector<OnePrompt> prompts_;
  ServerMetrics& metrics_;
  std::string model_;
};

}  // namespace

ServerMetrics::ServerMetrics(const ModelRegistry& registry) : registry_(registry), requests_(std::make_shared<Registry>(Registry::InsertBehavior::Merge)) {}
ServerMetrics::~ServerMetrics() = default;

std::shared_ptr<ServerMetrics::ModelSeries> ServerMetrics::series_of(const std::string& model) {
  const std::lock_guard lock(mutex_);
  const auto it = series_.find(model);
  return it == series_.end() ? nullptr : it->second;
}

std::shared_ptr<RequestRecorder> ServerMetrics::recorder(const LoadedModel& model, size_t prompts) {
  std::shared_ptr<ModelSeries> series = series_of(model.name);
  if (!series) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<ModelSeries>& made = series_[model.name];
    if (!made) made = std::make_shared<ModelSeries>(requests_, model.name, model.generator->model_info().context);
    series = made;
  }
  return std::make_shared<MetricsRecorder>(std::move(series), model.generator->engine().clock(), prompts, *this, model.name);
}

void ServerMetrics::http_request(const std::string& handler, const std::string& method, int status, Nanos took) {
  counter(*requests_, "http_requests_total", "HTTP requests", {{"handler", handler}, {"method", method}, {"status", std::to_string(status)}}).Increment();
  histogram(*requests_, "http_request_duration_seconds", "From the first byte of a request to the last of its answer", {{"handler", handler}, {"method", method}}, latency_buckets())
      .Observe(to_seconds(took));
}

void ServerMetrics::rejected(const std::string& model, const Status& status) {
  counter(*requests_, "vllm:admission_rejections_total", "Requests that the engine did not take", {{"model_name", model}, {"engine", "0"}, {"reason", rejection_reason(status)}}).Increment();
}

std::string ServerMetrics::text() const {
  std::vector<prometheus::MetricFamily> families = requests_->Collect();
  for (prometheus::MetricFamily& family : engine_families(registry_)) families.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace inferens
