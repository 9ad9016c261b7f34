// Responses that clients may come back to: in memory, so many and so much, each visible to the key that made it only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "inferens/generation.h"
#include "serve/api_error.h"

namespace inferens {

enum class ResponseStatus { kQueued, kInProgress, kCompleted, kIncomplete, kFailed, kCancelled };
const char* response_status_name(ResponseStatus status);

// One response of the Responses API: what was asked, and what came of it.
struct StoredResponse {
  std::string id;
  std::string key_id;
  std::string model;
  std::string echo_json;               // members of the object that repeat the request, without braces
  std::vector<ChatMessage> history;    // of the responses before it, without their instructions
  std::vector<ChatMessage> input;
  int64_t created = 0;
  int64_t completed = 0;
  bool background = false;
  ResponseStatus status = ResponseStatus::kInProgress;
  std::string text;
  std::vector<PositionLogprobs> logprobs;
  bool tells_logprobs = false;
  TokenUsage usage;
  ApiError error;  // kFailed

  bool is_over() const { return status != ResponseStatus::kQueued && status != ResponseStatus::kInProgress; }
};

// Thread safe.
class ResponseStore {
 public:
  static constexpr size_t kMostResponses = 1024;
  static constexpr size_t kMostBytes = size_t{64} << 20;

  // The oldest leave when there are too many.
  void put(StoredResponse response);
  // nullopt: unknown, forgotten, or of another key.
  std::optional<StoredResponse> find(const std::string& id, const std::string& key_id) const;
  // Changes one that is still there.
  void change(const std::string& id, const std::function<void(StoredResponse&)>& change);
  bool erase(const std::string& id, const std::string& key_id);

 private:
  size_t bytes_locked() const;

  mutable std::mutex mutex_;
  std::map<std::string, StoredResponse> responses_;
  std::deque<std::string> order_;
};

}  // namespace inferens
