// What the HTTP side asks of the rest: whether a request may come in, and its answer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "serve/http_message.h"

namespace inferens {

// A request line with the fields that decide on it.
struct RequestHead {
  std::string id;
  std::string method;
  std::string path;
  std::string query;
  std::string host;
  std::string origin;         // empty: none
  std::string authorization;
  std::string x_api_key;
  std::string x_goog_api_key;
  std::string x_goog_api_client;
  std::string anthropic_version;
  std::string content_type;
  std::string content_encoding;
  std::string requested_headers;  // of a CORS preflight
  bool has_body = false;
};

struct Admission {
  std::optional<HttpResponse> refusal;  // or whatever needs no body to be answered
  std::string path;                     // of the endpoint: prefixes of other bases are gone
  std::string key_id;
  bool admin = true;
  bool groq = false;
  Dialect dialect = Dialect::kOpenAi;
  std::vector<std::pair<std::string, std::string>> headers;  // for the answer, whatever it is
};

class HttpService {
 public:
  virtual ~HttpService() = default;
  // On the I/O thread, before a body is read: quick.
  virtual Admission admit(const RequestHead& head) = 0;
  // On the I/O thread; what takes time is handed on. `respond` may be called on any thread.
  virtual void handle(std::shared_ptr<const HttpRequest> request, Respond respond) = 0;
  // An answer was written or its client lost; for the count of requests. status 499: the client went first.
  virtual void served(const std::string& method, const std::string& path, int status, Nanos took) = 0;
};

}  // namespace inferens
