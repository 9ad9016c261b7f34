#include "serve/cached_contents.h"

namespace inferens {

void CachedContents::forget_expired(int64_t now) {
  std::erase_if(contents_, [&](const auto& entry) { return entry.second.expires <= now; });
}

Status CachedContents::put(CachedContent content, int64_t now) {
  const std::lock_guard lock(mutex_);
  forget_expired(now);
  size_t tokens = content.tokens.size();
  for (const auto& [name, kept] : contents_) tokens += kept.tokens.size();
  if (contents_.size() >= kMost || tokens > kMostTokens) {
    return resource_exhausted("too much is kept already (" + std::to_string(contents_.size()) + " cachedContents); delete some, or wait until they expire");
  }
  const std::string name = content.name;
  contents_[name] = std::move(content);
  return ok_status();
}

std::optional<CachedContent> CachedContents::find(const std::string& name, const std::string& key_id, int64_t now) {
  const std::lock_guard lock(mutex_);
  forget_expired(now);
  const auto it = contents_.find(name);
  if (it == contents_.end() || it->second.key_id != key_id) return {};
  return it->second;
}

std::vector<CachedContent> CachedContents::list(const std::string& key_id, int64_t now) {
  const std::lock_guard lock(mutex_);
  forget_expired(now);
  std::vector<CachedContent> all;
  for (const auto& [name, content] : contents_) {
    if (content.key_id == key_id) all.push_back(content);
  }
  return all;
}

bool CachedContents::set_expiry(const std::string& name, const std::string& key_id, int64_t expires, int64_t now) {
  const std::lock_guard lock(mutex_);
  forget_expired(now);
  const auto it = contents_.find(name);
  if (it == contents_.end() || it->second.key_id != key_id) return false;
  it->second.expires = expires;
  it->second.updated = now;
  return true;
}

bool CachedContents::erase(const std::string& name, const std::string& key_id) {
  const std::lock_guard lock(mutex_);
  const auto it = contents_.find(name);
  if (it == contents_.end() || it->second.key_id != key_id) return false;
  contents_.erase(it);
  return true;
}

}  // namespace inferens
