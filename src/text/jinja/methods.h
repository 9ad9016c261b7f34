// The methods of Python's str, list, tuple, dict, int and float that a template can call. What would change a list or
// dict is refused, as Hugging Face's sandbox does.
#pragma once

#include <optional>
#include <string_view>

#include "text/jinja/runtime.h"

namespace inferens::jinja {

using Method = Value (*)(Runtime& runtime, const Value& self, const Arguments& arguments);

// nullptr when the type has no such method.
Method find_string_method(std::string_view name);
Method find_container_method(const Value& self, std::string_view name);
Method find_method(const Value& self, std::string_view name);
// Known to Python, and not safe here (append, update, …): used, it raises.
bool is_unsafe_attribute(const Value& self, std::string_view name);

// str.split, rsplit, strip and join, which filters share.
Text strip_text(Runtime& runtime, const Text& text, const Value& characters, bool left, bool right);
Text join_texts(Runtime& runtime, const Text& separator, const std::vector<Text>& parts);
Text replace_text(Runtime& runtime, const Text& text, const Text& from, const Text& to, int64_t count);
std::vector<Text> split_lines(Runtime& runtime, const Text& text, bool keep_ends);
Text slice_text(Runtime& runtime, const Text& text, size_t begin, size_t end);  // byte range
enum class Case { kUpper, kLower, kTitle, kCapitalize, kSwap, kFold };
Text change_case(Runtime& runtime, const Text& text, Case wanted);

}  // namespace inferens::jinja
