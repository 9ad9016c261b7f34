// JSON to values and back: tools, tool arguments and extra variables come in, tojson goes out.
#pragma once

#include <string_view>

#include "text/jinja/runtime.h"

namespace inferens::jinja {

constexpr int kMaxJsonDepth = 90;  // below kMaxValueDepth, so that what was read can still be put into a list or two

// Every string, key and number is marked as input. Fails with a message that says what is wrong; `what` names the text.
Value parse_json(Budget& budget, std::string_view json, std::string_view what);

// Python's json.dumps as Hugging Face's tojson calls it: no HTML escaping.
struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<Text> indent;  // one level's indentation
  Text item_separator, key_separator;
  bool sort_keys = false;
};
Text to_json(Runtime& runtime, const Value& value, const JsonStyle& style);

}  // namespace inferens::jinja
