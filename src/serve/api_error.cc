#include "serve/api_error.h"

#include "base/utf8.h"
#include "serve/json_writer.h"

namespace inferens {

ApiError bad_field(std::string param, std::string code, std::string message) {
  return {.code = std::move(code), .param = std::move(param), .message = std::move(message)};
}

ApiError unsupported_field(std::string param, std::string why) {
  std::string message = "'" + param + "' is not supported by this server" + (why.empty() ? "" : ": ") + why;
  return bad_field(std::move(param), "unsupported_parameter", std::move(message));
}

ApiError model_not_found(const std::string& name) {
  return {.http = 404,
          .code = "model_not_found",
          .param = "model",
          .message = "the model '" + name + "' does not exist here; GET /v1/models lists those that do"};
}

ApiError to_api_error(const Status& status, int retry_after) {
  ApiError error;
  error.message = status.message();
  switch (status.code()) {
    case StatusCode::kInvalidArgument: error.code = "invalid_value"; break;
    case StatusCode::kFailedPrecondition: error.code = "failed_precondition"; break;
    case StatusCode::kUnsupported: error.code = "unsupported_parameter"; break;
    case StatusCode::kNotFound: error.http = 404; error.code = "not_found"; break;
    case StatusCode::kAlreadyExists: error.http = 409; error.code = "conflict"; break;
    case StatusCode::kPermissionDenied: error.http = 403; error.code = "permission_denied"; break;
    case StatusCode::kUnauthenticated: error.http = 401; error.code = "invalid_api_key"; break;
    case StatusCode::kResourceExhausted:
      error.http = 429;
      error.type = "rate_limit_error";
      error.code = "rate_limit_exceeded";
      error.retry_after = retry_after;
      break;
    case StatusCode::kUnavailable:
      error.http = 503;
      error.type = "server_error";
      error.code = "server_is_overloaded";
      error.retry_after = retry_after;
      break;
    case StatusCode::kDeadlineExceeded: error.http = 504; error.type = "server_error"; error.code = "timeout"; break;
    case StatusCode::kCancelled: error.http = 499; error.code = "cancelled"; break;
    default: error.http = 500; error.type = "server_error"; error.code = "internal_error"; break;
  }
  return error;
}

std::string openai_error_body(const ApiError& error) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("error").begin_object();
  json.field("message", repair_utf8(error.message)).field("type", error.type);
  error.param.empty() ? json.null_field("param") : json.field("param", repair_utf8(error.param));
  error.code.empty() ? json.null_field("code") : json.field("code", error.code);
  json.end_object().end_object();
  return body;
}

}  // namespace inferens
