// JSON from outside, read by simdjson's DOM: strict UTF-8, a depth limit, and one refusal for whatever is wrong with it.
#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

#include "serve/api_error.h"

namespace inferens {

using Json = simdjson::dom::element;

// Nested arrays and objects in a body; deeper ones are refused.
constexpr size_t kMaxJsonDepth = 128;

// A parsed body. Values point into it.
class JsonDocument {
 public:
  // The body must be one JSON object.
  Refusal parse(std::string_view body);
  simdjson::dom::object root() const { return root_; }

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::object root_;
};

// What a value is, in words for errors: "a string", "an integer".
std::string_view json_kind_name(Json value);

// Accessors for values whose kind is known already.
std::string_view text_of(Json value);
double number_of(Json value);
int64_t integer_of(Json value);  // unsigned ones above the range of int64_t come out as its maximum
bool boolean_of(Json value);

}  // namespace inferens
