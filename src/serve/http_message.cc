#include "serve/http_message.h"

namespace inferens {

HttpRequest without_body(const HttpRequest& request) {
  return {.id = request.id,
          .method = request.method,
          .path = request.path,
          .query = request.query,
          .body = {},
          .key_id = request.key_id,
          .admin = request.admin,
          .groq = request.groq,
          .dialect = request.dialect,
          .anthropic_version = request.anthropic_version};
}

HttpResponse error_response(const ApiError& error, const ErrorForm& form) {
  HttpResponse response;
  response.status = error_status(error, form.dialect);
  if (error.retry_after > 0) response.headers.emplace_back("retry-after", std::to_string(error.retry_after));
  response.body = error_body(error, form);
  return response;
}

}  // namespace inferens
