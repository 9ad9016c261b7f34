// One HTTP GET with its redirects over libcurl. Inside the store only: http.h is what others use.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "store/http.h"

namespace inferens {

struct HttpHead {
  int status = 0;
  std::optional<uint64_t> content_length;
  std::optional<uint64_t> range_start;  // of Content-Range
  std::optional<uint64_t> range_total;
  std::optional<int> retry_after_s;
  std::string etag;              // strong ones only
  std::string content_encoding;
  std::string link;
};

struct HttpHandlers {
  // Once, before the body of the last response (no redirect); an error ends the exchange.
  std::function<Status(const HttpHead&)> on_head;
  std::function<Status(std::span<const std::byte>)> on_body;  // only for 2xx
};

struct HttpOutcome {
  Status status;
  bool may_retry = false;        // the same request may succeed later
  std::optional<int> retry_after_s;
};

// resume_from > 0 asks for the bytes from there, provided that the content still is `if_range` (an ETag).
HttpOutcome http_exchange(const HttpGet& request, uint64_t resume_from, const std::string& if_range, const HttpOptions& options, AddressPolicy& policy,
                          const HttpHandlers& handlers);

}  // namespace inferens
