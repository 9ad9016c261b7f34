// A client of bare sockets: sends exactly the bytes it is given and reads answers by the rules of HTTP/1.1, so that what a
// server does on the wire is seen and not what a library makes of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace inferens::testing {

struct Reply {
  int status = 0;                              // 0: the connection ended before an answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // chunks joined
  std::vector<std::string> chunks;
};

class Connection {
 public:
  explicit Connection(uint16_t port);  // to 127.0.0.1
  ~Connection() { close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool connected() const { return fd_ >= 0; }
  void send(std::string_view bytes);  // as far as the server takes them
  bool sends() const { return !refused_; }  // false: the server takes no more
  void finish_sending();              // half a FIN: the answer can still be read
  Reply read_reply();
  // Reads until `text` was seen in what came; false: the connection ended first.
  bool read_until(std::string_view text);
  const std::string& received() const { return buffer_; }
  bool ended_by_server();             // reads until the end; true: it came, without error or time-out
  void close();                       // FIN
  void reset();                       // RST

 private:
  bool fill();
  std::string take_line();
  std::string take(size_t bytes);

  int fd_ = -1;
  std::string buffer_;
  bool ended_ = false;
  bool refused_ = false;
};

std::string request_text(std::string_view method, std::string_view path, std::string_view body, std::string_view extra_headers = "");
Reply ask(uint16_t port, std::string_view method, std::string_view path, std::string_view body = "", std::string_view extra_headers = "");

// The payloads of "data: " lines.
std::vector<std::string> sse_payloads(const std::string& body);

}  // namespace inferens::testing
