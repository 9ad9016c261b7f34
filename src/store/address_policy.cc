#include "store/address_policy.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "store/names.h"

namespace inferens {
namespace {

struct V4Range {
  uint32_t network;
  int bits;
  AddressClass address_class;
};
// IANA's special-purpose registry (RFC 6890 and updates).
constexpr std::array<V4Range, 13> kV4Ranges = {{
    {0x7f000000, 8, AddressClass::kLoopback},
    {0x0a000000, 8, AddressClass::kPrivate},
    {0xac100000, 12, AddressClass::kPrivate},
    {0xc0a80000, 16, AddressClass::kPrivate},
    {0x64400000, 10, AddressClass::kPrivate},
    {0xa9fe0000, 16, AddressClass::kForbidden},
    {0x00000000, 8, AddressClass::kForbidden},
    {0xc0000000, 24, AddressClass::kForbidden},
    {0xc0000200, 24, AddressClass::kForbidden},
    {0xc6120000, 15, AddressClass::kForbidden},
    {0xc6336400, 24, AddressClass::kForbidden},
    {0xcb007100, 24, AddressClass::kForbidden},
    {0xe0000000, 3, AddressClass::kForbidden},
}};

AddressClass classify_v4(uint32_t address) {
  for (const V4Range& r : kV4Ranges) {
    if ((address ^ r.network) >> (32 - r.bits) == 0) return r.address_class;
  }
  return AddressClass::kPublic;
}

using V6 = std::array<uint8_t, 16>;

uint32_t v4_at(const V6& a, size_t offset) {
  return uint32_t{a[offset]} << 24 | uint32_t{a[offset + 1]} << 16 | uint32_t{a[offset + 2]} << 8 | a[offset + 3];
}

bool is_zero(const V6& a, size_t from, size_t to) {
  for (size_t i = from; i < to; ++i) {
    if (a[i] != 0) return false;
  }
  return true;
}

AddressClass classify_v6(const V6& a) {
  if (is_zero(a, 0, 10) && a[10] == 0xff && a[11] == 0xff) return classify_v4(v4_at(a, 12));
  if (is_zero(a, 0, 15)) return a[15] == 1 ? AddressClass::kLoopback : AddressClass::kForbidden;
  if (is_zero(a, 0, 12)) return AddressClass::kForbidden;  // the deprecated IPv4-compatible form
  if (a[0] == 0x00 && a[1] == 0x64 && a[2] == 0xff && a[3] == 0x9b) return is_zero(a, 4, 12) ? classify_v4(v4_at(a, 12)) : AddressClass::kForbidden;
  if (a[0] == 0x20 && a[1] == 0x02) return classify_v4(v4_at(a, 2));
  if ((a[0] & 0xfe) == 0xfc) return AddressClass::kPrivate;
  // Only 2000::/3 is global unicast.
  return (a[0] & 0xe0) == 0x20 ? AddressClass::kPublic : AddressClass::kForbidden;
}

struct FreeUrl {
  void operator()(CURLU* u) const { curl_url_cleanup(u); }
};

struct UrlParts {
  std::string scheme;
  std::string host;
  std::string port;
  bool has_user = false;
};

std::optional<std::string> part_of(CURLU* url, CURLUPart part, unsigned flags) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return std::nullopt;
  std::string copy = text;
  curl_free(text);
  return copy;
}

std::optional<UrlParts> split_url(const std::string& text) {
  std::unique_ptr<CURLU, FreeUrl> url(curl_url());
  if (url == nullptr || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return std::nullopt;
  auto scheme = part_of(url.get(), CURLUPART_SCHEME, 0);
  auto host = part_of(url.get(), CURLUPART_HOST, 0);
  auto port = part_of(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  if (!scheme || !host || !port) return std::nullopt;
  bool has_user = part_of(url.get(), CURLUPART_USER, 0).has_value() || part_of(url.get(), CURLUPART_PASSWORD, 0).has_value();
  return UrlParts{ascii_lower(*scheme), ascii_lower(*host), *port, has_user};
}

}  // namespace

AddressClass classify_address(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, address, sizeof in);
    return classify_v4(ntohl(in.sin_addr.s_addr));
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, address, sizeof in);
    V6 bytes;
    std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
    return classify_v6(bytes);
  }
  return AddressClass::kForbidden;
}

AddressClass classify_host(std::string_view host) {
  std::string text(host);
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  text = text.substr(0, text.find('%'));  // a zone
  in_addr v4{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return classify_v4(ntohl(v4.s_addr));
  V6 v6;
  if (::inet_pton(AF_INET6, text.c_str(), v6.data()) == 1) return classify_v6(v6);
  return text == "localhost" || text.ends_with(".localhost") ? AddressClass::kLoopback : AddressClass::kPublic;
}

Status AddressPolicy::check_url(const std::string& text, bool redirected) {
  auto url = split_url(text);
  std::string shown = "'" + printable(text) + "'";
  if (!url) return invalid_argument(shown + " is not an address that can be fetched; give https://HOST/PATH");
  if (url->has_user) return invalid_argument("the address of host '" + printable(url->host) + "' holds a user name or password; leave them out");
  AddressClass host = classify_host(url->host);
  bool secure = url->scheme == "https";
  if (!secure && !(url->scheme == "http" && host == AddressClass::kLoopback)) {
    return invalid_argument(shown + " is not fetched: only https:// is, and http:// on this machine's own loopback interface");
  }
  if (!redirected && !first_done_) {
    secure_ = secure;
    literal_ = static_cast<uint8_t>(host);
    return ok_status();
  }
  if (secure_ && !secure) return failed_precondition("the server redirects from https to " + shown + ", which is not followed");
  if (host != AddressClass::kPublic && (host == AddressClass::kForbidden || static_cast<uint8_t>(host) != literal_)) {
    return failed_precondition("the server redirects to " + shown + ", an address inside a network, which is not followed");
  }
  return ok_status();
}

Status AddressPolicy::check_address(const sockaddr* address, bool redirected) {
  AddressClass c = classify_address(address);
  if (!redirected && !first_done_) {
    allowed_ = static_cast<uint8_t>(allowed_ | 1 << static_cast<int>(c));
    return ok_status();
  }
  if (c != AddressClass::kForbidden && allows(c)) return ok_status();
  return failed_precondition("the server's address leads inside a network that the source itself is not in, which is not followed");
}

bool is_same_origin(const std::string& a, const std::string& b) {
  auto x = split_url(a);
  auto y = split_url(b);
  return x && y && x->scheme == y->scheme && x->host == y->host && x->port == y->port;
}

}  // namespace inferens
