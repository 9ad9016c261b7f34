// The text of HTTP/1.1 answers.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/http_message.h"

namespace inferens {

std::string_view reason_phrase(int status);

struct WireOptions {
  bool close = false;     // says that the connection ends
  bool head_only = false; // answers HEAD
  bool chunked = true;    // a streamed body comes in chunks; else it ends with the connection
  std::string_view request_id;
};

// Status line, fields, and the body of one that does not stream. Extra fields are written besides the response's own.
std::string to_wire(const HttpResponse& response, const std::vector<std::pair<std::string, std::string>>& extra, const WireOptions& options);

std::string to_chunk(std::string_view piece);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace inferens
