// A small HTTP server on the loopback interface that plays a hub or a registry and can misbehave on purpose.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace inferens::testing {

struct StandInRequest {
  std::string target;                          // path and query
  std::map<std::string, std::string> headers;  // names in lower case
};

struct StandInReply {
  int status = 200;
  std::vector<std::string> headers;  // "Name: value"
  std::string body;
  bool announce_length = true;   // Content-Length
  int64_t cut_after = -1;        // close the connection after so many bytes of the body
  int64_t stall_after = -1;      // send no more after so many bytes, and keep the connection open
};

class StandInServer {
 public:
  using Handler = std::function<StandInReply(const StandInRequest&)>;
  explicit StandInServer(Handler handler);
  ~StandInServer();
  StandInServer(const StandInServer&) = delete;
  StandInServer& operator=(const StandInServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }
  std::vector<StandInRequest> requests() const;

 private:
  void serve();
  void serve_connection(int fd);

  Handler handler_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::vector<StandInRequest> requests_;
  std::vector<std::thread> connections_;
  std::thread thread_;
};

// Answers a request for a file as servers do: whole, or the rest from the start of a Range when If-Range agrees.
StandInReply file_reply(const StandInRequest& request, const std::string& bytes, const std::string& etag);

}  // namespace inferens::testing
