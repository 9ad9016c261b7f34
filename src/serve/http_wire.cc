#include "serve/http_wire.h"

#include <array>
#include <charconv>

namespace inferens {

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 204: return "No Content";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 421: return "Misdirected Request";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 499: return "Client Closed Request";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "Unknown";
  }
}

std::string to_wire(const HttpResponse& response, const std::vector<std::pair<std::string, std::string>>& extra, const WireOptions& options) {
  std::string out = "HTTP/1.1 " + std::to_string(response.status) + " ";
  out.append(reason_phrase(response.status)).append("\r\n");
  const auto field = [&](std::string_view name, std::string_view value) { out.append(name).append(": ").append(value).append("\r\n"); };
  field("server", "inferens");
  if (!options.request_id.empty()) field("x-request-id", options.request_id);
  if (response.status != 204) field("content-type", response.content_type);
  field("x-content-type-options", "nosniff");
  for (const auto& [name, value] : response.headers) field(name, value);
  for (const auto& [name, value] : extra) field(name, value);
  if (response.streams) {
    if (options.chunked) field("transfer-encoding", "chunked");
  } else if (response.status != 204) {
    field("content-length", std::to_string(response.body.size()));
  }
  if (options.close) field("connection", "close");
  out += "\r\n";
  if (!response.streams && !options.head_only) out += response.body;
  return out;
}

std::string to_chunk(std::string_view piece) {
  std::array<char, 16> size;
  const auto end = std::to_chars(size.data(), size.data() + size.size(), piece.size(), 16).ptr;
  std::string out(size.data(), end);
  out.reserve(out.size() + piece.size() + 4);
  return out.append("\r\n").append(piece).append("\r\n");
}

}  // namespace inferens
