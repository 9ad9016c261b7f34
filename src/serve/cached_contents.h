// Gemini's cachedContents: beginnings of prompts that clients keep, with the time that they are kept for. In memory; each is
// visible to the key that made it only.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "inferens/generation.h"
#include "inferens/status.h"

namespace inferens {

struct CachedContent {
  std::string name;  // "cachedContents/…"
  std::string key_id;
  std::string model;
  std::string display_name;
  std::string system;
  std::vector<ChatMessage> contents;
  std::vector<TokenId> tokens;  // of the beginning
  int64_t created = 0;          // Unix seconds, all three
  int64_t updated = 0;
  int64_t expires = 0;
};

// Thread safe.
class CachedContents {
 public:
  static constexpr size_t kMost = 1024;
  static constexpr size_t kMostTokens = 4'000'000;  // of all together

  // resource_exhausted when too many or too much is kept.
  Status put(CachedContent content, int64_t now);
  // What has expired is not found, and forgotten.
  std::optional<CachedContent> find(const std::string& name, const std::string& key_id, int64_t now);
  std::vector<CachedContent> list(const std::string& key_id, int64_t now);
  bool set_expiry(const std::string& name, const std::string& key_id, int64_t expires, int64_t now);
  bool erase(const std::string& name, const std::string& key_id);

 private:
  void forget_expired(int64_t now);

  std::mutex mutex_;
  std::map<std::string, CachedContent> contents_;
};

}  // namespace inferens
