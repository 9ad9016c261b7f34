// Python's operators on values: arithmetic, comparison, subscripts, slices and attributes.
#pragma once

#include "text/jinja/ast.h"
#include "text/jinja/runtime.h"

namespace inferens::jinja {

Value unary(Runtime& runtime, Operator op, const Value& operand);
Value binary(Runtime& runtime, Operator op, const Value& left, const Value& right);
bool compare_with(Runtime& runtime, Operator op, const Value& left, const Value& right);

// obj.name: the attribute first, then the item; obj[key]: the item first, then the attribute. What does not exist is
// undefined; anything of undefined is an error.
Value get_attribute(Runtime& runtime, const Value& object, std::string_view name);
Value get_item(Runtime& runtime, const Value& object, const Value& key);
Value get_slice(Runtime& runtime, const Value& object, const Value& start, const Value& stop, const Value& step);

// The attribute alone, without falling back to items; nullopt when there is none.
std::optional<Value> find_attribute(Runtime& runtime, const Value& object, std::string_view name);

}  // namespace inferens::jinja
