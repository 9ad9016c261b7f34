#include "serve/api_service.h"

#include <exception>

#include "base/log.h"
#include "base/utf8.h"
#include "serve/dialect.h"
#include "serve/metrics.h"
#include "serve/query.h"
#include "serve/routes.h"

namespace inferens {
namespace {

constexpr std::string_view kGroqBase = "/openai/v1/";
constexpr size_t kLongestToldPath = 128;

std::string printable_path(std::string_view path) { return repair_utf8(path.substr(0, kLongestToldPath)); }

bool is_type(std::string_view content_type, std::string_view wanted) {
  if (!content_type.starts_with(wanted)) return false;
  return content_type.size() == wanted.size() || content_type[wanted.size()] == ';' || content_type[wanted.size()] == ' ';
}

// Ollama's documentation shows curl without a type, which then sends a form's; a page that tries the same sends its origin.
bool is_json(const RequestHead& head, Dialect dialect) {
  if (head.content_type.empty() || is_type(head.content_type, "application/json")) return true;
  return dialect == Dialect::kOllama && is_type(head.content_type, "application/x-www-form-urlencoded");
}

Refusal check_body(const RequestHead& head, Dialect dialect) {
  if (!head.content_encoding.empty() && head.content_encoding != "identity") {
    return ApiError{.http = 415, .code = "unsupported_media_type", .message = "compressed bodies are not taken; send the body as it is"};
  }
  if (head.has_body && !is_json(head, dialect)) {
    return ApiError{.http = 415, .code = "unsupported_media_type", .message = "the content-type must be application/json"};
  }
  return {};
}

// The key, wherever the dialects' clients put it.
std::string secret_of(const RequestHead& head) {
  if (!head.x_api_key.empty()) return head.x_api_key;
  if (!head.x_goog_api_key.empty()) return head.x_goog_api_key;
  if (const std::string_view bearer = bearer_token(head.authorization); !bearer.empty()) return std::string(bearer);
  return query_value(head.query, "key").value_or("");
}

HttpResponse preflight(const RequestHead& head) {
  HttpResponse response;
  response.status = 204;
  response.headers.emplace_back("access-control-allow-methods", "GET, POST, DELETE");
  if (!head.requested_headers.empty()) response.headers.emplace_back("access-control-allow-headers", head.requested_headers);
  response.headers.emplace_back("access-control-max-age", "600");
  return response;
}

}  // namespace

ApiService::ApiService(ServiceOptions options, ApiContext& api, std::shared_ptr<WorkQueue> workers)
    : keys_(std::move(options.keys)),
      hosts_(std::move(options.allowed_hosts), std::move(options.cors_origins)),
      api_(api),
      workers_(std::move(workers)) {}

Refusal ApiService::check_origin(const RequestHead& head) const {
  if (!hosts_.host_allowed(head.host)) {
    return ApiError{.http = 403, .code = "host_not_allowed", .message = "this host name is not allowed here; use an address or localhost, or start the server with --allowed-host"};
  }
  if (!hosts_.origin_allowed(head.origin, head.host)) {
    return ApiError{.http = 403, .code = "origin_not_allowed", .message = "requests from pages of this origin are not allowed; start the server with --cors-origin to allow them"};
  }
  return {};
}

Refusal ApiService::check_key(const RequestHead& head, bool needs_key, bool needs_admin, Admission& admission) const {
  if (keys_.empty() || !needs_key) return {};
  const std::string secret = secret_of(head);
  const ApiKey* const key = keys_.find(secret);
  if (key == nullptr) {
    const bool none = secret.empty();
    return ApiError{.http = 401, .code = "invalid_api_key", .message = none ? "no API key was given; send 'Authorization: Bearer KEY'" : "the API key is not known here"};
  }
  admission.key_id = key->name;
  admission.admin = key->admin;
  if (needs_admin && !key->admin) return ApiError{.http = 403, .code = "permission_denied", .message = "this needs the key of an admin"};
  return {};
}

Admission ApiService::admit(const RequestHead& head) {
  Admission admission;
  admission.groq = head.path.starts_with(kGroqBase);
  admission.path = admission.groq ? head.path.substr(std::string_view("/openai").size()) : head.path;
  admission.dialect = admission.groq ? Dialect::kOpenAi : dialect_of(head);
  if (admission.dialect == Dialect::kAnthropic) admission.headers.emplace_back("request-id", head.id);
  const auto refuse_with = [&](const ApiError& error) { admission.refusal = error_response(error, {admission.dialect, head.id}); };
  if (Refusal r = check_origin(head)) {
    refuse_with(*r);
    return admission;
  }
  if (std::string origin = hosts_.cors_origin(head.origin); !origin.empty()) {
    admission.headers.emplace_back("access-control-allow-origin", std::move(origin));
    admission.headers.emplace_back("vary", "origin");
    if (head.method == "OPTIONS") {
      admission.refusal = preflight(head);
      return admission;
    }
  }
  std::string allowed;
  const Route* const route = find_route(admission.dialect, head.method, admission.path, allowed);
  if (Refusal r = check_key(head, route == nullptr || route->access != Access::kOpen, route != nullptr && route->access == Access::kAdmin, admission)) {
    refuse_with(*r);
    return admission;
  }
  if (route == nullptr) {
    if (allowed.empty()) {
      refuse_with({.http = 404, .code = "not_found", .message = "there is no endpoint '" + printable_path(head.path) + "'"});
    } else {
      refuse_with({.http = 405, .code = "method_not_allowed", .message = "this endpoint takes " + allowed});
      admission.refusal->headers.emplace_back("allow", allowed);
    }
    return admission;
  }
  if (draining_ && route->access != Access::kOpen) {
    refuse_with({.http = 503, .type = "server_error", .code = "server_is_stopping", .message = "the server is stopping; ask another one", .retry_after = 1});
    return admission;
  }
  if (Refusal r = check_body(head, admission.dialect)) refuse_with(*r);
  return admission;
}

void ApiService::handle(std::shared_ptr<const HttpRequest> request, Respond respond) {
  workers_->run([this, request = std::move(request), respond = std::move(respond)] {
    std::string allowed;
    const Route* const route = find_route(request->dialect, request->method, request->path, allowed);
    try {
      route->handler(api_, *request, respond);
    } catch (const std::exception& e) {
      spdlog::error("request {} failed: {}", request->id, e.what());
      respond(refuse({.http = 500, .type = "server_error", .code = "internal_error", .message = "the server failed at this request; its log says more"}, request->error_form()));
    }
  });
}

void ApiService::served(const std::string& method, const std::string& path, int status, Nanos took) {
  spdlog::debug("{} {} {} {:.1f} ms", method, path, status, to_ms(took));
  const std::string_view route = route_name(method, path);
  api_.metrics.http_request(route.empty() ? "none" : std::string(route), route.empty() ? "other" : method, status, took);
}

}  // namespace inferens
