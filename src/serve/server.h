// The whole server as one thing: models, endpoints and the listening side, started and ended in the right order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inferens/status.h"
#include "serve/api_service.h"
#include "serve/background_runs.h"
#include "serve/cached_contents.h"
#include "serve/http_server.h"
#include "serve/metrics.h"
#include "serve/model_registry.h"
#include "serve/response_store.h"
#include "serve/store_access.h"
#include "serve/task_threads.h"
#include "serve/timelines.h"

namespace inferens {

struct ServerOptions {
  HttpServerOptions http;
  ServiceOptions service;
  RegistryOptions registry;
  std::vector<ModelSpec> models;
  std::vector<std::string> load_at_start;  // names; an error of these ends start()
  std::optional<StoreAccess> store;        // for what lists and changes it
  bool lenient = false;                    // unknown request fields are ignored
  int workers = 2;                         // threads for parsing and tokenizing
};

class Server {
 public:
  static StatusOr<std::unique_ptr<Server>> start(ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  HttpServer& http() { return *http_; }
  ModelRegistry& registry() { return *registry_; }
  // Waits for the end; see HttpServer::wait.
  bool wait() { return http_->wait(); }

 private:
  Server() = default;

  std::shared_ptr<WorkQueue> workers_;
  std::unique_ptr<ServerMetrics> metrics_;  // engines report to it until they end
  std::unique_ptr<ModelRegistry> registry_;
  Timelines timelines_;
  std::optional<StoreAccess> store_;
  ResponseStore responses_;
  CachedContents cached_contents_;
  std::unique_ptr<ApiContext> api_;
  TaskThreads tasks_;
  BackgroundRuns background_;
  std::unique_ptr<ApiService> service_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace inferens
