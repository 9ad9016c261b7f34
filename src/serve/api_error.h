// The one error of the HTTP side, and the one place where it becomes a body: what a client sees of any failure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "inferens/status.h"

namespace inferens {

struct ApiError {
  int http = 400;
  std::string type = "invalid_request_error";
  std::string code = {};         // empty: null
  std::string param = {};        // the field at fault; empty: null
  std::string message = {};      // what is wrong, where, and what to do
  int retry_after = 0;      // seconds; 0: no Retry-After header
};

// nullopt: all is well.
using Refusal = std::optional<ApiError>;

ApiError bad_field(std::string param, std::string code, std::string message);
ApiError unsupported_field(std::string param, std::string why);
ApiError model_not_found(const std::string& name);
// `retry_after` fills in where the status says that it may work later.
ApiError to_api_error(const Status& status, int retry_after = 1);

// Whose API a request speaks. Groq's is OpenAI's, and endpoints of our own answer in its form too.
enum class Dialect { kOpenAi, kAnthropic, kGemini, kOllama };

// In which form an error is told, and about which request.
struct ErrorForm {
  Dialect dialect = Dialect::kOpenAi;
  std::string request_id = {};
};

// The status that clients of the dialect expect for this error.
int error_status(const ApiError& error, Dialect dialect);
// The whole body; one line.
std::string error_body(const ApiError& error, const ErrorForm& form);
// {"error":{"message","type","param","code"}}
std::string openai_error_body(const ApiError& error);

}  // namespace inferens
