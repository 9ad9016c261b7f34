#include "serve/routes.h"

#include <algorithm>

namespace inferens {
namespace {

using enum Dialect;

constexpr Route kRoutes[] = {
    {kOpenAi, "POST", "/v1/chat/completions", Access::kKey, openai_chat},
    {kOpenAi, "POST", "/v1/completions", Access::kKey, openai_completions},
    {kOpenAi, "POST", "/v1/embeddings", Access::kKey, openai_embeddings},
    {kOpenAi, "GET", "/v1/models", Access::kKey, list_models},
    {kOpenAi, "GET", "/v1/models/*", Access::kKey, show_model},
    {kOpenAi, "POST", "/tokenize", Access::kKey, tokenize},
    {kOpenAi, "POST", "/detokenize", Access::kKey, detokenize},
    {kOpenAi, "GET", "/v1/requests/*", Access::kKey, timeline},
    {kOpenAi, "GET", "/v1/system", Access::kAdmin, system_facts},
    {kOpenAi, "GET", "/v1/ps", Access::kAdmin, loaded_models},
    {kOpenAi, "POST", "/v1/stop", Access::kAdmin, stop_model},
    {kOpenAi, "GET", "/metrics", Access::kAdmin, metrics},
    {kOpenAi, "GET", "/health", Access::kOpen, health},
    {kOpenAi, "GET", "/ready", Access::kOpen, ready},
    {kOllama, "POST", "/api/generate", Access::kKey, ollama_generate},
    {kOllama, "POST", "/api/chat", Access::kKey, ollama_chat},
    {kOllama, "POST", "/api/embed", Access::kKey, ollama_embed},
    {kOllama, "POST", "/api/embeddings", Access::kKey, ollama_embeddings},
    {kOllama, "GET", "/api/tags", Access::kKey, ollama_tags},
    {kOllama, "POST", "/api/show", Access::kKey, ollama_show},
    {kOllama, "GET", "/api/ps", Access::kKey, ollama_ps},
    {kOllama, "GET", "/api/version", Access::kOpen, ollama_version},
    {kOllama, "GET", "/", Access::kOpen, ollama_greeting},
    {kOllama, "POST", "/api/copy", Access::kAdmin, ollama_copy},
    {kOllama, "DELETE", "/api/delete", Access::kAdmin, ollama_delete},
    {kOllama, "POST", "/api/pull", Access::kAdmin, ollama_pull},
    {kOllama, "POST", "/api/create", Access::kAdmin, ollama_create},
    {kAnthropic, "POST", "/v1/messages", Access::kKey, anthropic_messages},
    {kAnthropic, "POST", "/v1/messages/count_tokens", Access::kKey, anthropic_count_tokens},
    {kAnthropic, "GET", "/v1/models", Access::kKey, anthropic_list_models},
    {kAnthropic, "GET", "/v1/models/*", Access::kKey, anthropic_show_model},
    {kGemini, "POST", "/v1/models/*", Access::kKey, gemini_act},
    {kGemini, "GET", "/v1/models", Access::kKey, gemini_list_models},
    {kGemini, "GET", "/v1/models/*", Access::kKey, gemini_show_model},
    {kGemini, "POST", "/v1beta/models/*", Access::kKey, gemini_act},
    {kGemini, "GET", "/v1beta/models", Access::kKey, gemini_list_models},
    {kGemini, "GET", "/v1beta/models/*", Access::kKey, gemini_show_model},
    {kGemini, "POST", "/v1/cachedContents", Access::kKey, gemini_create_cache},
    {kGemini, "GET", "/v1/cachedContents", Access::kKey, gemini_list_caches},
    {kGemini, "GET", "/v1/cachedContents/*", Access::kKey, gemini_show_cache},
    {kGemini, "PATCH", "/v1/cachedContents/*", Access::kKey, gemini_update_cache},
    {kGemini, "DELETE", "/v1/cachedContents/*", Access::kKey, gemini_delete_cache},
    {kGemini, "POST", "/v1beta/cachedContents", Access::kKey, gemini_create_cache},
    {kGemini, "GET", "/v1beta/cachedContents", Access::kKey, gemini_list_caches},
    {kGemini, "GET", "/v1beta/cachedContents/*", Access::kKey, gemini_show_cache},
    {kGemini, "PATCH", "/v1beta/cachedContents/*", Access::kKey, gemini_update_cache},
    {kGemini, "DELETE", "/v1beta/cachedContents/*", Access::kKey, gemini_delete_cache},
    {kOpenAi, "POST", "/v1/responses", Access::kKey, create_response},
    {kOpenAi, "POST", "/v1/responses/input_tokens", Access::kKey, count_response_input},
    {kOpenAi, "GET", "/v1/responses/*", Access::kKey, show_response},
    {kOpenAi, "POST", "/v1/responses/*", Access::kKey, change_response},
    {kOpenAi, "DELETE", "/v1/responses/*", Access::kKey, forget_response},
};

bool matches(const Route& route, std::string_view path) {
  if (!route.path.ends_with('*')) return route.path == path;
  const std::string_view start = route.path.substr(0, route.path.size() - 1);
  return path.starts_with(start) && path.size() > start.size();
}

bool has_method(const Route& route, std::string_view method) {
  return route.method == method || (route.method == "GET" && method == "HEAD");
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

const Route* find_route(Dialect dialect, std::string_view method, std::string_view path, std::string& allowed) {
  allowed.clear();
  for (const Route& route : kRoutes) {
    if (route.dialect != dialect || !matches(route, path)) continue;
    if (has_method(route, method)) return &route;
    allowed.append(allowed.empty() ? "" : ", ").append(route.method);
  }
  return nullptr;
}

std::string_view route_name(std::string_view method, std::string_view path) {
  const auto route = std::find_if(std::begin(kRoutes), std::end(kRoutes), [&](const Route& r) { return matches(r, path) && has_method(r, method); });
  return route == std::end(kRoutes) ? std::string_view() : route->path;
}

}  // namespace inferens
