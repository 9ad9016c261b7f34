#include "http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace inferens::testing {
namespace {

// Far above what anything here takes: a server that hangs fails the test instead of hanging it.
constexpr int kPatienceSeconds = 60;

size_t to_number(std::string_view text, int base) {
  size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

}  // namespace

Connection::Connection(uint16_t port) {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{kPatienceSeconds, 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) close();
}

void Connection::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Connection::reset() {
  const linger hard{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
  close();
}

void Connection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) {
      refused_ = true;
      return;
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void Connection::finish_sending() { shutdown(fd_, SHUT_WR); }

bool Connection::fill() {
  std::array<char, 65536> block;
  const ssize_t n = fd_ < 0 ? -1 : recv(fd_, block.data(), block.size(), 0);
  if (n == 0) ended_ = true;
  if (n <= 0) return false;
  buffer_.append(block.data(), static_cast<size_t>(n));
  return true;
}

bool Connection::read_until(std::string_view text) {
  while (buffer_.find(text) == std::string::npos) {
    if (!fill()) return false;
  }
  return true;
}

bool Connection::ended_by_server() {
  while (fill()) {
  }
  return ended_;
}

std::string Connection::take(size_t bytes) {
  while (buffer_.size() < bytes && fill()) {
  }
  std::string taken = buffer_.substr(0, bytes);
  buffer_.erase(0, bytes);
  return taken;
}

std::string Connection::take_line() {
  if (!read_until("\r\n")) return {};
  const size_t end = buffer_.find("\r\n");
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

Reply Connection::read_reply() {
  Reply reply;
  const std::string status = take_line();
  if (status.size() < 12 || !status.starts_with("HTTP/1.1 ")) return reply;
  reply.status = static_cast<int>(to_number(std::string_view(status).substr(9, 3), 10));
  for (std::string line = take_line(); !line.empty(); line = take_line()) {
    const size_t colon = line.find(": ");
    std::string name = line.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    reply.headers[name] = line.substr(colon + 2);
  }
  if (reply.status == 100) return read_reply();
  if (reply.headers.contains("content-length")) {
    reply.body = take(to_number(reply.headers["content-length"], 10));
  } else if (reply.headers.contains("transfer-encoding")) {
    for (size_t size = to_number(take_line(), 16); size > 0; size = to_number(take_line(), 16)) {
      reply.chunks.push_back(take(size));
      reply.body += reply.chunks.back();
      take_line();
    }
    take_line();
  } else if (reply.status != 204) {
    while (fill()) {
    }
    reply.body = std::exchange(buffer_, {});
  }
  return reply;
}

std::string request_text(std::string_view method, std::string_view path, std::string_view body, std::string_view extra_headers) {
  std::string text;
  text.append(method).append(" ").append(path).append(" HTTP/1.1\r\nHost: localhost\r\n").append(extra_headers);
  if (!body.empty()) text.append("Content-Type: application/json\r\nContent-Length: ").append(std::to_string(body.size())).append("\r\n");
  return text.append("\r\n").append(body);
}

Reply ask(uint16_t port, std::string_view method, std::string_view path, std::string_view body, std::string_view extra_headers) {
  Connection connection(port);
  connection.send(request_text(method, path, body, extra_headers));
  return connection.read_reply();
}

std::vector<std::string> sse_payloads(const std::string& body) {
  constexpr std::string_view kData = "data: ";
  std::vector<std::string> payloads;
  for (size_t i = 0; i < body.size();) {
    const size_t end = std::min(body.find('\n', i), body.size());
    if (body.compare(i, kData.size(), kData) == 0) payloads.push_back(body.substr(i + kData.size(), end - i - kData.size()));
    i = end + 1;
  }
  return payloads;
}

}  // namespace inferens::testing
