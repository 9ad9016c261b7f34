#include "serve/server.h"

namespace inferens {

StatusOr<std::unique_ptr<Server>> Server::start(ServerOptions options) {
  std::unique_ptr<Server> server(new Server());
  server->workers_ = std::make_shared<WorkQueue>(options.workers);
  server->registry_ = std::make_unique<ModelRegistry>(std::move(options.models), std::move(options.registry), server->workers_);
  for (const std::string& name : options.load_at_start) {
    const StatusOr<ModelLease> model = server->registry_->load(name);
    if (!model.ok()) return model.status();
  }
  server->metrics_ = std::make_unique<ServerMetrics>(*server->registry_);
  server->store_ = std::move(options.store);
  server->api_ = std::make_unique<ApiContext>(
      ApiContext{.registry = *server->registry_,
                 .metrics = *server->metrics_,
                 .timelines = server->timelines_,
                 .tasks = server->tasks_,
                 .responses = server->responses_,
                 .background = server->background_,
                 .cached_contents = server->cached_contents_,
                 .lenient = options.lenient,
                 .store = server->store_ ? &*server->store_ : nullptr});
  server->service_ = std::make_unique<ApiService>(std::move(options.service), *server->api_, server->workers_);
  options.http.on_drain = [service = server->service_.get()] { service->drain(); };
  auto http = HttpServer::start(std::move(options.http), *server->service_);
  if (!http.ok()) return http.status();
  server->http_ = std::move(*http);
  return server;
}

// Threads that may still answer end before what they answer to; answers end before the models they use.
Server::~Server() {
  if (http_) {
    http_->abort();
    http_->wait();
  }
  registry_->stop_loading();
  workers_->stop();
  http_.reset();
}

}  // namespace inferens
