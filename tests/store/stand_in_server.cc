#include "stand_in_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace inferens::testing {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

bool readable(int fd, const std::atomic<bool>& stop) {
  while (!stop) {
    pollfd p{fd, POLLIN, 0};
    if (::poll(&p, 1, 20) > 0) return true;
  }
  return false;
}

StandInRequest parse(const std::string& head) {
  StandInRequest request;
  size_t line_end = head.find("\r\n");
  size_t space = head.find(' ');
  request.target = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
  for (size_t at = line_end + 2; at < head.size();) {
    size_t end = head.find("\r\n", at);
    size_t colon = head.find(": ", at);
    if (end == std::string::npos || colon > end) break;
    request.headers[lower(head.substr(at, colon - at))] = head.substr(colon + 2, end - colon - 2);
    at = end + 2;
  }
  return request;
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

StandInServer::StandInServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 16) != 0) throw std::runtime_error("cannot listen on the loopback interface");
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { serve(); });
}

StandInServer::~StandInServer() {
  stop_ = true;
  thread_.join();
  for (std::thread& t : connections_) t.join();
  ::close(listener_);
}

std::vector<StandInRequest> StandInServer::requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}

void StandInServer::serve() {
  while (readable(listener_, stop_)) {
    int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) connections_.emplace_back([this, fd] { serve_connection(fd); });
  }
}

void StandInServer::serve_connection(int fd) {
  std::string head;
  char buffer[4096];
  while (head.find("\r\n\r\n") == std::string::npos && readable(fd, stop_)) {
    ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
    if (n <= 0) break;
    head.append(buffer, static_cast<size_t>(n));
  }
  if (head.find("\r\n\r\n") != std::string::npos) {
    StandInRequest request = parse(head);
    {
      std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    StandInReply reply = handler_(request);
    std::string answer = "HTTP/1.1 " + std::to_string(reply.status) + " Reason\r\nConnection: close\r\n";
    if (reply.announce_length) answer += "Content-Length: " + std::to_string(reply.body.size()) + "\r\n";
    for (const std::string& h : reply.headers) answer += h + "\r\n";
    int64_t limit = std::max(reply.cut_after, reply.stall_after);
    std::string_view body = reply.body;
    if (limit >= 0) body = body.substr(0, static_cast<size_t>(limit));
    if (send_all(fd, answer + "\r\n") && send_all(fd, body) && reply.stall_after >= 0) {
      char byte = 0;
      while (readable(fd, stop_) && ::recv(fd, &byte, 1, 0) > 0) {
      }
    }
  }
  ::close(fd);
}

StandInReply file_reply(const StandInRequest& request, const std::string& bytes, const std::string& etag) {
  StandInReply reply;
  reply.headers = {"ETag: " + etag};
  reply.body = bytes;
  auto range = request.headers.find("range");
  auto if_range = request.headers.find("if-range");
  if (range == request.headers.end() || (if_range != request.headers.end() && if_range->second != etag)) return reply;
  size_t start = std::stoul(range->second.substr(std::string("bytes=").size()));
  if (start >= bytes.size()) {
    reply.status = 416;
    reply.body.clear();
    return reply;
  }
  reply.status = 206;
  reply.body = bytes.substr(start);
  reply.headers.push_back("Content-Range: bytes " + std::to_string(start) + "-" + std::to_string(bytes.size() - 1) + "/" + std::to_string(bytes.size()));
  return reply;
}

}  // namespace inferens::testing
