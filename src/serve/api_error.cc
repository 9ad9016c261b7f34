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

namespace {

// https://docs.anthropic.com/en/api/errors
const char* anthropic_type(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 409: return "conflict_error";
    case 413: return "request_too_large";
    case 429: return "rate_limit_error";
    case 504: return "timeout_error";
    case 529: return "overloaded_error";
    default: return status < 500 ? "invalid_request_error" : "api_error";
  }
}

std::string anthropic_error_body(const ApiError& error, const std::string& request_id) {
  // The words that its clients look for.
  const std::string message = error.code == "unknown_parameter" ? error.param + ": Extra inputs are not permitted" : error.message;
  std::string body;
  JsonWriter json(body);
  json.begin_object().field("type", "error").key("error").begin_object();
  json.field("type", anthropic_type(error_status(error, Dialect::kAnthropic))).field("message", repair_utf8(message)).end_object();
  request_id.empty() ? json.null_field("request_id") : json.field("request_id", request_id);
  json.end_object();
  return body;
}

// The names of google.rpc.Code, by the HTTP status that they stand behind.
const char* google_status(const ApiError& error) {
  if (error.code == "failed_precondition") return "FAILED_PRECONDITION";
  switch (error.http) {
    case 401: return "UNAUTHENTICATED";
    case 403: return "PERMISSION_DENIED";
    case 404: return "NOT_FOUND";
    case 409: return "ALREADY_EXISTS";
    case 429: return "RESOURCE_EXHAUSTED";
    case 499: return "CANCELLED";
    case 503: return "UNAVAILABLE";
    case 504: return "DEADLINE_EXCEEDED";
    default: return error.http < 500 ? "INVALID_ARGUMENT" : "INTERNAL";
  }
}

std::string gemini_error_body(const ApiError& error) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("error").begin_object().field("code", error.http).field("message", repair_utf8(error.message));
  json.field("status", google_status(error)).key("details").begin_array();
  if (!error.param.empty() && error.http == 400) {
    json.begin_object().field("@type", "type.googleapis.com/google.rpc.BadRequest").key("fieldViolations").begin_array().begin_object();
    json.field("field", repair_utf8(error.param)).field("description", repair_utf8(error.message)).end_object().end_array().end_object();
  }
  if (error.retry_after > 0) {
    json.begin_object().field("@type", "type.googleapis.com/google.rpc.RetryInfo");
    json.field("retryDelay", std::to_string(error.retry_after) + "s").end_object();
  }
  json.end_array().end_object().end_object();
  return body;
}

std::string ollama_error_body(const ApiError& error) {
  std::string body;
  JsonWriter(body).begin_object().field("error", repair_utf8(error.message)).end_object();
  return body;
}

}  // namespace

int error_status(const ApiError& error, Dialect dialect) {
  if (dialect == Dialect::kAnthropic && error.http == 503) return 529;
  if (dialect == Dialect::kOllama && error.http == 429) return 503;
  return error.http;
}

std::string error_body(const ApiError& error, const ErrorForm& form) {
  switch (form.dialect) {
    case Dialect::kAnthropic: return anthropic_error_body(error, form.request_id);
    case Dialect::kGemini: return gemini_error_body(error);
    case Dialect::kOllama: return ollama_error_body(error);
    case Dialect::kOpenAi: break;
  }
  return openai_error_body(error);
}

}  // namespace inferens
