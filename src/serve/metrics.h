// What /metrics tells: vLLM's names with its types, labels and buckets, so that its dashboards work here, and our own
// "inferens:" series for what it has no names for. Engine counters are read at the time of the scrape.
#pragma once

#include <prometheus/registry.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "serve/model_registry.h"
#include "serve/request_recorder.h"

namespace inferens {

class ServerMetrics {
 public:
  explicit ServerMetrics(const ModelRegistry& registry);
  ~ServerMetrics();
  ServerMetrics(const ServerMetrics&) = delete;
  ServerMetrics& operator=(const ServerMetrics&) = delete;

  // Watches the generations of one HTTP request for this many prompts.
  std::shared_ptr<RequestRecorder> recorder(const LoadedModel& model, size_t prompts);
  // One HTTP request. `handler` is a route, so that clients cannot make up series.
  void http_request(const std::string& handler, const std::string& method, int status, Nanos took);
  // A request that the engine did not take.
  void rejected(const std::string& model, const Status& status);

  // The text of /metrics.
  std::string text() const;

  // The series of one model; stays while the server lives.
  struct ModelSeries;

 private:
  std::shared_ptr<ModelSeries> series_of(const std::string& model);

  const ModelRegistry& registry_;
  std::shared_ptr<prometheus::Registry> requests_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<ModelSeries>> series_;
};

}  // namespace inferens
