// One connection: requests in, answers out, one after the other. Runs on the I/O thread as a coroutine; while an answer is
// in the making it keeps reading, so that a client that goes away is noticed at once and its answer dropped.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "serve/http_limits.h"
#include "serve/http_service.h"

namespace inferens {

// What sessions share. Used on the I/O thread.
struct SessionContext {
  boost::asio::io_context& io;
  HttpService& service;
  const HttpLimits limits;
  std::string (*make_request_id)();
  bool draining = false;  // answers close their connections
};

class HttpSession {
 public:
  virtual ~HttpSession() = default;
  virtual void start() = 0;
  // Closes the connection if it waits for a request.
  virtual void close_if_idle() = 0;
  // Ends the answer in the making with an error, then the connection.
  virtual void end_with(const ApiError& error) = 0;
};

// `tls` null: plain.
std::shared_ptr<HttpSession> make_session(boost::asio::ip::tcp::socket socket, std::shared_ptr<SessionContext> context,
                                          boost::asio::ssl::context* tls);

}  // namespace inferens
