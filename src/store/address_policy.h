// Where a download may connect to. The user's own address may lie anywhere; what a server redirects to, or what its name
// resolves to later (DNS rebinding), may not reach into this machine or its networks from outside of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "inferens/status.h"

struct sockaddr;

namespace inferens {

enum class AddressClass : uint8_t {
  kPublic = 0,
  kPrivate,    // 10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7
  kLoopback,   // 127/8, ::1
  kForbidden,  // link-local (cloud metadata services), unspecified, multicast, reserved
};

// IPv4 inside IPv6 (mapped, NAT64, 6to4) counts as the IPv4 address. Unknown families are forbidden.
AddressClass classify_address(const sockaddr* address);
// Of a host as written in an address; a name counts as public, except "localhost", until it is resolved.
AddressClass classify_host(std::string_view host);

// One per download, over all its redirects and tries.
class AddressPolicy {
 public:
  // Before a request: only https, or http to loopback; a redirect may not go from https to http, nor to a literal address
  // of a class that the user's own address does not have.
  Status check_url(const std::string& url, bool redirected);
  // At connect time, with the address that the name resolved to. The first request's addresses define what is allowed.
  Status check_address(const sockaddr* address, bool redirected);
  // The first request is over: once it came as far as an address, every connection counts as redirected.
  void first_request_done() { first_done_ = allowed_ != 0; }

 private:
  bool allows(AddressClass c) const { return c == AddressClass::kPublic || (allowed_ >> static_cast<int>(c) & 1) != 0; }
  uint8_t allowed_ = 0;       // bit per class seen at the first request's connection
  uint8_t literal_ = 0;       // the class of the user's own host, as written
  bool secure_ = false;       // the user's own address was https
  bool first_done_ = false;
};

// scheme, host and port equal: what a credential may be sent to.
bool is_same_origin(const std::string& a, const std::string& b);

}  // namespace inferens
