#include "serve/json_reader.h"

#include <algorithm>
#include <cstdint>

namespace inferens {

Refusal JsonDocument::parse(std::string_view body) {
  // Allocating by hand is how this version of the library takes another depth limit than its own.
  if (parser_.allocate(std::max<size_t>(body.size(), 64), kMaxJsonDepth) != simdjson::SUCCESS) {
    return ApiError{.http = 413, .code = "request_too_large", .message = "the body is too large to be parsed"};
  }
  const auto parsed = parser_.parse(body.data(), body.size());
  if (parsed.error() == simdjson::DEPTH_ERROR) {
    return bad_field("", "invalid_json", "the body is nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
  }
  if (parsed.error() != simdjson::SUCCESS) {
    return bad_field("", "invalid_json", std::string("the body is not valid JSON: ") + simdjson::error_message(parsed.error()));
  }
  if (parsed.get(root_) != simdjson::SUCCESS) return bad_field("", "invalid_json", "the body must be a JSON object");
  return {};
}

std::string_view json_kind_name(Json value) {
  switch (value.type()) {
    case simdjson::dom::element_type::ARRAY: return "an array";
    case simdjson::dom::element_type::OBJECT: return "an object";
    case simdjson::dom::element_type::INT64:
    case simdjson::dom::element_type::UINT64: return "an integer";
    case simdjson::dom::element_type::DOUBLE: return "a number";
    case simdjson::dom::element_type::STRING: return "a string";
    case simdjson::dom::element_type::BOOL: return "a boolean";
    case simdjson::dom::element_type::NULL_VALUE: return "null";
  }
  return "something else";
}

std::string_view text_of(Json value) {
  std::string_view text;
  return value.get(text) == simdjson::SUCCESS ? text : std::string_view();
}

double number_of(Json value) {
  double number = 0;
  return value.get(number) == simdjson::SUCCESS ? number : 0;
}

int64_t integer_of(Json value) {
  int64_t number = 0;
  if (value.get(number) == simdjson::SUCCESS) return number;
  return value.is_uint64() ? INT64_MAX : 0;
}

bool boolean_of(Json value) {
  bool flag = false;
  return value.get(flag) == simdjson::SUCCESS && flag;
}

}  // namespace inferens
