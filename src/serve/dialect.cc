#include "serve/dialect.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "serve/query.h"

namespace inferens {
namespace {

bool is_at_or_below(std::string_view path, std::string_view base) {
  return path.starts_with(base) && (path.size() == base.size() || path[base.size()] == '/');
}

// Paths that OpenAI's, Anthropic's and Gemini's clients share.
bool is_shared(std::string_view path) {
  constexpr std::array<std::string_view, 3> kShared = {"/v1/models", "/v1/files", "/v1/batches"};
  return std::any_of(kShared.begin(), kShared.end(), [&](std::string_view base) { return is_at_or_below(path, base); });
}

}  // namespace

Dialect dialect_of(const RequestHead& head) {
  const std::string_view path = head.path;
  if (path == "/" || is_at_or_below(path, "/api")) return Dialect::kOllama;
  if (is_at_or_below(path, "/v1beta") || is_at_or_below(path, "/v1/cachedContents")) return Dialect::kGemini;
  if (is_at_or_below(path, "/v1/messages")) return Dialect::kAnthropic;
  if (!is_shared(path)) return Dialect::kOpenAi;
  // models/NAME:generateContent and its like.
  if (head.method == "POST" && is_at_or_below(path, "/v1/models")) return Dialect::kGemini;
  if (!head.x_goog_api_key.empty() || !head.x_goog_api_client.empty() || query_value(head.query, "key")) return Dialect::kGemini;
  return head.anthropic_version.empty() ? Dialect::kOpenAi : Dialect::kAnthropic;
}

}  // namespace inferens
