#include "serve/response_store.h"

#include <algorithm>

namespace inferens {
namespace {

size_t bytes_of(const std::vector<ChatMessage>& messages) {
  size_t bytes = 0;
  for (const ChatMessage& m : messages) bytes += sizeof(ChatMessage) + m.content.size();
  return bytes;
}

size_t bytes_of(const StoredResponse& r) {
  return sizeof(StoredResponse) + r.echo_json.size() + r.text.size() + bytes_of(r.history) + bytes_of(r.input) + r.logprobs.size() * sizeof(PositionLogprobs);
}

}  // namespace

const char* response_status_name(ResponseStatus status) {
  switch (status) {
    case ResponseStatus::kQueued: return "queued";
    case ResponseStatus::kInProgress: return "in_progress";
    case ResponseStatus::kCompleted: return "completed";
    case ResponseStatus::kIncomplete: return "incomplete";
    case ResponseStatus::kFailed: return "failed";
    case ResponseStatus::kCancelled: return "cancelled";
  }
  return "failed";
}

size_t ResponseStore::bytes_locked() const {
  size_t bytes = 0;
  for (const auto& [id, response] : responses_) bytes += bytes_of(response);
  return bytes;
}

void ResponseStore::put(StoredResponse response) {
  const std::lock_guard lock(mutex_);
  order_.push_back(response.id);
  responses_[response.id] = std::move(response);
  size_t bytes = bytes_locked();
  while (order_.size() > 1 && (order_.size() > kMostResponses || bytes > kMostBytes)) {
    const auto oldest = responses_.find(order_.front());
    bytes -= bytes_of(oldest->second);
    responses_.erase(oldest);
    order_.pop_front();
  }
}

std::optional<StoredResponse> ResponseStore::find(const std::string& id, const std::string& key_id) const {
  const std::lock_guard lock(mutex_);
  const auto it = responses_.find(id);
  if (it == responses_.end() || it->second.key_id != key_id) return {};
  return it->second;
}

void ResponseStore::change(const std::string& id, const std::function<void(StoredResponse&)>& change) {
  const std::lock_guard lock(mutex_);
  const auto it = responses_.find(id);
  if (it != responses_.end()) change(it->second);
}

bool ResponseStore::erase(const std::string& id, const std::string& key_id) {
  const std::lock_guard lock(mutex_);
  const auto it = responses_.find(id);
  if (it == responses_.end() || it->second.key_id != key_id) return false;
  responses_.erase(it);
  order_.erase(std::find(order_.begin(), order_.end(), id));
  return true;
}

}  // namespace inferens
