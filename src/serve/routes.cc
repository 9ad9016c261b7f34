#include "serve/routes.h"

namespace inferens {
namespace {

constexpr Route kRoutes[] = {
    {"POST", "/v1/chat/completions", Access::kKey, openai_chat},
    {"POST", "/v1/completions", Access::kKey, openai_completions},
    {"GET", "/v1/models", Access::kKey, list_models},
    {"GET", "/v1/models/*", Access::kKey, show_model},
    {"POST", "/tokenize", Access::kKey, tokenize},
    {"POST", "/detokenize", Access::kKey, detokenize},
    {"GET", "/v1/requests/*", Access::kKey, timeline},
    {"GET", "/v1/system", Access::kAdmin, system_facts},
    {"GET", "/v1/ps", Access::kAdmin, loaded_models},
    {"POST", "/v1/stop", Access::kAdmin, stop_model},
    {"GET", "/metrics", Access::kAdmin, metrics},
    {"GET", "/health", Access::kOpen, health},
    {"GET", "/ready", Access::kOpen, ready},
};

bool matches(const Route& route, std::string_view path) {
  if (!route.path.ends_with('*')) return route.path == path;
  const std::string_view start = route.path.substr(0, route.path.size() - 1);
  return path.starts_with(start) && path.size() > start.size();
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

const Route* find_route(std::string_view method, std::string_view path, std::string& allowed) {
  allowed.clear();
  for (const Route& route : kRoutes) {
    if (!matches(route, path)) continue;
    if (route.method == method || (route.method == "GET" && method == "HEAD")) return &route;
    allowed.append(allowed.empty() ? "" : ", ").append(route.method);
  }
  return nullptr;
}

}  // namespace inferens
