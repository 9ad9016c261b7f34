// Who may ask: API keys, and the checks that keep a browser on a strange page from asking in the user's name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inferens/status.h"

namespace inferens {

struct ApiKey {
  std::string name;    // shown in logs and metrics, and parts the prefix cache
  std::string digest;  // "sha256:<64 hex>"
  bool admin = false;
};

// The keys of a file: lines `NAME sha256:HEX [admin]`, empty lines and # comments. Only hashes are kept, on disk as in memory.
class ApiKeys {
 public:
  static StatusOr<ApiKeys> load(const std::string& path);
  static StatusOr<ApiKeys> parse(std::string_view text, const std::string& where);

  bool empty() const { return keys_.empty(); }
  size_t size() const { return keys_.size(); }
  // Takes the same time whichever key matches, or none.
  const ApiKey* find(std::string_view secret) const;

 private:
  std::vector<ApiKey> keys_;
};

// The token of "Bearer TOKEN"; empty when it is none.
std::string_view bearer_token(std::string_view authorization);

// DNS rebinding: a page under a name of the attacker's that resolves to this machine. A Host that is an address or
// localhost cannot be that; names must be allowed.
class HostPolicy {
 public:
  HostPolicy(std::vector<std::string> allowed_hosts, std::vector<std::string> cors_origins)
      : hosts_(std::move(allowed_hosts)), origins_(std::move(cors_origins)) {}

  bool host_allowed(std::string_view host) const;
  // An Origin is sent by browsers only. Allowed: none, the server's own, and the listed ones ("*": all).
  bool origin_allowed(std::string_view origin, std::string_view host) const;
  // What Access-Control-Allow-Origin says; empty: nothing.
  std::string cors_origin(std::string_view origin) const;

 private:
  std::vector<std::string> hosts_;
  std::vector<std::string> origins_;
};

}  // namespace inferens
