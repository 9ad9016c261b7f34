// The listening side: accepts connections on one I/O thread, and ends in good order.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "inferens/status.h"
#include "serve/http_limits.h"
#include "serve/http_service.h"

namespace inferens {

struct HttpServerOptions {
  std::string host = "127.0.0.1";  // an address or a name; only this machine unless asked otherwise
  uint16_t port = 8080;            // 0: any free one
  HttpLimits limits;
  std::string tls_certificate;     // PEM files; both or none
  std::string tls_key;
  std::chrono::milliseconds drain{30'000};  // for running answers after drain()
  bool handle_signals = false;     // SIGINT and SIGTERM drain, a second one aborts
  std::function<void()> on_drain;  // called once when draining begins; may be empty
};

class HttpServer {
 public:
  // Listens when it returns. `service` outlives the server.
  static StatusOr<std::unique_ptr<HttpServer>> start(HttpServerOptions options, HttpService& service);
  ~HttpServer();  // drops what still runs
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  std::string url() const;

  // Takes no connections any more, lets answers end until the time is up, then ends them with an error. Any thread.
  void drain();
  // Ends at once. Any thread.
  void abort();
  // Waits for the end. True: everything was answered; false: answers were cut.
  bool wait();

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace inferens
