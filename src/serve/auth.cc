#include "serve/auth.h"

#include <arpa/inet.h>
#include <openssl/crypto.h>

#include <algorithm>

#include "base/file.h"
#include "store/sha256.h"

namespace inferens {
namespace {

constexpr size_t kMaxKeyFile = size_t{4} << 20;
constexpr size_t kLongestName = 64;
constexpr std::string_view kDigestPrefix = "sha256:";
constexpr size_t kDigestLength = kDigestPrefix.size() + 64;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; });
}

bool is_digest(std::string_view text) {
  return text.size() == kDigestLength && text.starts_with(kDigestPrefix) &&
         std::all_of(text.begin() + kDigestPrefix.size(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t i = 0; i < line.size();) {
    const size_t start = line.find_first_not_of(" \t\r", i);
    if (start == std::string_view::npos) break;
    i = std::min(line.find_first_of(" \t\r", start), line.size());
    words.push_back(line.substr(start, i - start));
  }
  return words;
}

// "[::1]:8080" → "::1", "localhost:8080" → "localhost".
std::string host_name(std::string_view host) {
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    return end == std::string_view::npos ? std::string() : std::string(host.substr(1, end - 1));
  }
  std::string name(host.substr(0, host.rfind(':')));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  return name;
}

bool is_address(const std::string& text) {
  in6_addr address;
  return inet_pton(AF_INET, text.c_str(), &address) == 1 || inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

}  // namespace

StatusOr<ApiKeys> ApiKeys::load(const std::string& path) {
  const StatusOr<std::string> text = read_file(path, kMaxKeyFile);
  if (!text.ok()) return text.status();
  return parse(*text, path);
}

StatusOr<ApiKeys> ApiKeys::parse(std::string_view text, const std::string& where) {
  ApiKeys keys;
  int line_number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (words.empty() || words[0].starts_with('#')) continue;
    const bool admin = words.size() == 3 && words[2] == "admin";
    if (!is_name(words[0]) || words.size() < 2 || !is_digest(words[1]) || (words.size() > 2 && !admin)) {
      return invalid_argument(where + ":" + std::to_string(line_number) +
                              ": a line is 'NAME sha256:HEX [admin]'; make HEX with: printf %s KEY | sha256sum");
    }
    for (const ApiKey& key : keys.keys_) {
      if (key.name == words[0]) return invalid_argument(where + ":" + std::to_string(line_number) + ": the name '" + key.name + "' is there twice");
    }
    keys.keys_.push_back({std::string(words[0]), std::string(words[1]), admin});
  }
  if (keys.empty()) return invalid_argument(where + ": holds no key; nobody could ask");
  return keys;
}

const ApiKey* ApiKeys::find(std::string_view secret) const {
  const std::string digest = sha256_digest(secret);
  const ApiKey* found = nullptr;
  for (const ApiKey& key : keys_) {
    if (CRYPTO_memcmp(digest.data(), key.digest.data(), kDigestLength) == 0) found = &key;
  }
  return found;
}

std::string_view bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return {};
  for (size_t i = 0; i < kScheme.size(); ++i) {
    const char c = authorization[i];
    if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != kScheme[i]) return {};
  }
  authorization.remove_prefix(kScheme.size());
  authorization.remove_prefix(std::min(authorization.find_first_not_of(' '), authorization.size()));
  return authorization;
}

bool HostPolicy::host_allowed(std::string_view host) const {
  const std::string name = host_name(host);
  return name == "localhost" || is_address(name) || std::find(hosts_.begin(), hosts_.end(), name) != hosts_.end();
}

bool HostPolicy::origin_allowed(std::string_view origin, std::string_view host) const {
  if (origin.empty() || !cors_origin(origin).empty()) return true;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme) && origin.substr(scheme.size()) == host) return true;
  }
  return false;
}

std::string HostPolicy::cors_origin(std::string_view origin) const {
  for (const std::string& allowed : origins_) {
    if (allowed == "*") return "*";
    if (!origin.empty() && allowed == origin) return allowed;
  }
  return {};
}

}  // namespace inferens
