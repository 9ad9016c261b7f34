// Server-sent events as OpenAI's clients read them: data lines only, never an id (it would make them see an empty event).
#pragma once

#include <string>
#include <string_view>

namespace inferens {

inline constexpr std::string_view kSseContentType = "text/event-stream; charset=utf-8";
inline constexpr std::string_view kSseDone = "data: [DONE]\n\n";
inline constexpr std::string_view kSseHeartbeat = ": ping\n\n";  // a comment

// `json` has no line breaks.
inline std::string sse_event(std::string_view json) {
  std::string event;
  event.reserve(json.size() + 8);
  return event.append("data: ").append(json).append("\n\n");
}

// With a name, for the APIs whose clients look at it.
inline std::string sse_event(std::string_view name, std::string_view json) {
  return std::string("event: ").append(name).append("\n").append(sse_event(json));
}

}  // namespace inferens
