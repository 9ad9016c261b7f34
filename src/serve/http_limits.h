// What one HTTP client may take of the server: sizes, times, connections.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace inferens {

struct HttpLimits {
  size_t header_bytes = size_t{64} << 10;         // request line and all fields: 431 above
  size_t body_bytes = size_t{32} << 20;           // 413 above
  size_t pipelined_bytes = size_t{64} << 10;      // sent before the answer was over
  size_t connections = 8192;                      // 503 above
  std::chrono::milliseconds handshake{10'000};    // TLS
  std::chrono::milliseconds header{10'000};       // from the first byte to the end of the fields
  std::chrono::milliseconds idle{75'000};         // kept alive without a request
  std::chrono::milliseconds body_grace{10'000};   // a body has this and a second per body_rate bytes
  size_t body_rate = size_t{16} << 10;
  std::chrono::milliseconds write_stall{30'000};  // a write that the client does not take
  std::chrono::milliseconds heartbeat{10'000};    // between signs of life on a silent stream
  std::chrono::milliseconds linger{2'000};        // for the client to read a refusal before the connection is cut
};

}  // namespace inferens
