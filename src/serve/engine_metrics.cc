#include "serve/engine_metrics.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/engine_stats.h"

namespace inferens {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

Labels labels_of(const LoadedModel& model) { return {{"model_name", model.name}, {"engine", "0"}}; }

// Share of the pages that running requests hold, in the fullest group; what only the prefix cache holds counts as free.
double pages_in_use(const EngineStats& stats) {
  double share = 0;
  for (const EngineStats::Pages& p : stats.pages) {
    if (p.total > 0) share = std::max(share, static_cast<double>(p.total - p.free - p.cached) / p.total);
  }
  return share;
}

struct Series {
  const char* name;
  const char* help;
  MetricType type;
  double (*value)(const EngineStats& stats);
};

constexpr Series kSeries[] = {
    {"vllm:num_requests_running", "Sequences that hold pages", MetricType::Gauge, [](const EngineStats& s) -> double { return s.running_sequences; }},
    {"vllm:num_requests_waiting", "Sequences that wait for pages", MetricType::Gauge, [](const EngineStats& s) -> double { return static_cast<double>(s.waiting_sequences); }},
    {"vllm:kv_cache_usage_perc", "Pages that running sequences hold, 0 to 1", MetricType::Gauge, pages_in_use},
    {"vllm:prefix_cache_queries_total", "Prompt tokens asked of the prefix cache", MetricType::Counter, [](const EngineStats& s) -> double { return static_cast<double>(s.prefix.queries); }},
    {"vllm:prefix_cache_hits_total", "Prompt tokens found in the prefix cache", MetricType::Counter, [](const EngineStats& s) -> double { return static_cast<double>(s.prefix.hits); }},
    {"vllm:num_preemptions_total", "Sequences that gave up their pages to others", MetricType::Counter, [](const EngineStats& s) -> double { return static_cast<double>(s.scheduler.preemptions); }},
    {"inferens:live_requests", "Requests submitted and not ended", MetricType::Gauge, [](const EngineStats& s) -> double { return s.live_requests; }},
    {"inferens:queued_tokens", "Prompt tokens of requests of which nothing ran yet", MetricType::Gauge, [](const EngineStats& s) -> double { return static_cast<double>(s.queued_tokens); }},
    {"inferens:steps_total", "Engine steps", MetricType::Counter, [](const EngineStats& s) -> double { return static_cast<double>(s.steps); }},
    {"inferens:step_seconds_total", "Time in engine steps", MetricType::Counter, [](const EngineStats& s) -> double { return s.step_ms * 1e-3; }},
    {"inferens:over_budget_steps_total", "Steps longer than 1.5 times their budget", MetricType::Counter, [](const EngineStats& s) -> double { return static_cast<double>(s.over_budget_steps); }},
    {"inferens:prefill_tokens_total", "Tokens computed in prefills", MetricType::Counter, [](const EngineStats& s) -> double { return static_cast<double>(s.prefill_tokens); }},
    {"inferens:recomputed_tokens_total", "Of them, computed again after a preemption", MetricType::Counter, [](const EngineStats& s) -> double { return static_cast<double>(s.recomputed_tokens); }},
    {"inferens:promotions_total", "Sequences that waited so long that they moved a class up", MetricType::Counter, [](const EngineStats& s) -> double { return static_cast<double>(s.scheduler.promotions); }},
    {"inferens:deferrals_total", "Chunks put off because another sequence computed the same prefix", MetricType::Counter, [](const EngineStats& s) -> double { return static_cast<double>(s.scheduler.deferrals); }},
    {"inferens:prefix_evicted_pages_total", "Pages that the prefix cache gave up for others", MetricType::Counter, [](const EngineStats& s) -> double { return static_cast<double>(s.prefix.evicted_pages); }},
};

void set(ClientMetric& metric, MetricType type, double value) {
  if (type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
}

MetricFamily cache_config(const std::vector<ModelLease>& models) {
  MetricFamily family{"vllm:cache_config_info", "How keys and values are kept", MetricType::Gauge, {}};
  for (const ModelLease& model : models) {
    const EngineStats stats = model->generator->stats();
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = labels_of(*model);
    metric.label.push_back({"block_size", std::to_string(kPageTokens)});
    metric.label.push_back({"cache_dtype", kv_type_name(model->generator->model_info().kv_type)});
    metric.label.push_back({"enable_prefix_caching", "True"});
    metric.label.push_back({"num_gpu_blocks", stats.pages.empty() ? "0" : std::to_string(stats.pages.front().total)});
    metric.gauge.value = 1;
  }
  return family;
}

MetricFamily model_memory(const ModelRegistry& registry) {
  MetricFamily family{"inferens:model_memory_bytes", "Weights and KV memory of a model in memory", MetricType::Gauge, {}};
  for (const ModelStatus& model : registry.models()) {
    if (!model.loaded) continue;
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = {{"model_name", model.name}};
    metric.gauge.value = static_cast<double>(model.bytes);
  }
  return family;
}

}  // namespace

std::vector<MetricFamily> engine_families(const ModelRegistry& registry) {
  const std::vector<ModelLease> models = registry.loaded();
  std::vector<std::pair<Labels, EngineStats>> all;
  for (const ModelLease& model : models) all.emplace_back(labels_of(*model), model->generator->stats());
  std::vector<MetricFamily> families;
  for (const Series& series : kSeries) {
    MetricFamily& family = families.emplace_back(MetricFamily{series.name, series.help, series.type, {}});
    for (const auto& [labels, stats] : all) {
      ClientMetric& metric = family.metric.emplace_back();
      metric.label = labels;
      set(metric, series.type, series.value(stats));
    }
  }
  families.push_back(cache_config(models));
  families.push_back(model_memory(registry));
  return families;
}

}  // namespace inferens
