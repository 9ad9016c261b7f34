// The endpoints behind the HTTP side: routes, who may use them, and the hand-over to the workers.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "serve/api/endpoints.h"
#include "serve/auth.h"
#include "serve/http_service.h"
#include "serve/work_queue.h"

namespace inferens {

struct ServiceOptions {
  ApiKeys keys;                            // empty: everyone may ask
  std::vector<std::string> allowed_hosts;  // names besides localhost
  std::vector<std::string> cors_origins;
};

class ApiService final : public HttpService {
 public:
  ApiService(ServiceOptions options, ApiContext& api, std::shared_ptr<WorkQueue> workers);

  Admission admit(const RequestHead& head) override;
  void handle(std::shared_ptr<const HttpRequest> request, Respond respond) override;
  void served(const std::string& method, const std::string& path, int status, Nanos took) override;

  // Answers 503 from now on.
  void drain() { draining_ = true; }

 private:
  Refusal check_origin(const RequestHead& head) const;
  Refusal check_key(const RequestHead& head, bool needs_key, bool needs_admin, Admission& admission) const;

  const ApiKeys keys_;
  const HostPolicy hosts_;
  ApiContext& api_;
  const std::shared_ptr<WorkQueue> workers_;
  std::atomic<bool> draining_{false};
};

}  // namespace inferens
