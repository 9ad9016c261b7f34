// HTTP GET over libcurl for the store: small texts into memory, models into an IncomingFile with resume. TLS is verified,
// redirects are followed only where AddressPolicy allows, credentials never leave the origin they are for, nothing is
// decompressed, sizes are capped, and a stalled or broken transfer is retried. Proxies are taken from the environment by
// libcurl.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inferens/status.h"
#include "store/address_policy.h"
#include "store/incoming_file.h"
#include "store/progress.h"

namespace inferens {

struct HttpOptions {
  int connect_timeout_s = 20;
  int stall_timeout_s = 30;  // no byte for so long breaks the transfer
  int attempts = 5;          // in a row without a single new byte
  int backoff_ms = 1000;     // before the second attempt; doubles
};

struct HttpGet {
  std::string url;
  std::string bearer_token;          // sent to the origin of `url` only
  std::vector<std::string> headers;  // "name: value", not secret
};

struct HttpText {
  std::string body;
  std::string link;  // the Link header: pagination
};

// A body of more than max_bytes is an error. Thread safe.
StatusOr<HttpText> http_get_text(const HttpGet& request, size_t max_bytes, const HttpOptions& options);

// Fills `file` up, going on behind the bytes that are there when the server still has the same content. expected_bytes 0:
// whatever length the server announces.
Status http_download(const HttpGet& request, uint64_t expected_bytes, const std::string& what, IncomingFile& file, const HttpOptions& options,
                     Progress& progress);

}  // namespace inferens
