// What passes between the HTTP side and the APIs: a request that has arrived, and an answer in the making. Nothing here
// knows sockets, and nothing on the other side knows models.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "serve/api_error.h"

namespace inferens {

struct HttpRequest {
  std::string id;      // ours, returned as x-request-id
  std::string method;  // upper case
  std::string path;    // without the query; percent signs as they came
  std::string query;
  std::string body;
  std::string key_id;  // who asks, when the server knows keys
  bool admin = true;   // may load, stop and look at what belongs to all
  bool groq = false;   // came by the /openai/v1 base
  Dialect dialect = Dialect::kOpenAi;
  std::string anthropic_version;  // as sent

  ErrorForm error_form() const { return {dialect, id}; }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool streams = false;  // the body comes in pieces after it
};

// A request for those who need to remember it but not its body.
HttpRequest without_body(const HttpRequest& request);

HttpResponse error_response(const ApiError& error, const ErrorForm& form = {});

// One answer, asked for news on the I/O thread until it has ended. Destroyed before that, it means that the client is gone:
// whatever works for it must stop.
class Answer {
 public:
  virtual ~Answer() = default;

  struct News {
    std::optional<HttpResponse> response = {};  // once, before any piece
    std::string piece = {};                     // of a streamed body
    bool ended = false;
  };
  virtual News poll() = 0;
  // `wake` may be called on any thread, also without need. Set before the first poll.
  virtual void on_news(std::function<void()> wake) { static_cast<void>(wake); }

  // For streams: bytes that change nothing but show that the server lives; and the last bytes of one that must end now.
  virtual std::string heartbeat() const { return {}; }
  virtual std::string failure(const ApiError& error) const {
    static_cast<void>(error);
    return {};
  }
};

// An answer that is there.
class WholeAnswer final : public Answer {
 public:
  explicit WholeAnswer(HttpResponse response) : response_(std::move(response)) {}
  News poll() override { return {.response = std::move(response_), .piece = {}, .ended = true}; }

 private:
  HttpResponse response_;
};

inline std::unique_ptr<Answer> whole(HttpResponse response) { return std::make_unique<WholeAnswer>(std::move(response)); }
inline std::unique_ptr<Answer> refuse(const ApiError& error, const ErrorForm& form = {}) { return whole(error_response(error, form)); }

// Takes the answer; called once, on any thread.
using Respond = std::function<void(std::unique_ptr<Answer>)>;

}  // namespace inferens
