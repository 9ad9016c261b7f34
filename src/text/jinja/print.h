// Values as text: Python's str() and repr(), with the provenance of what is inside.
#pragma once

#include <string>

#include "text/jinja/runtime.h"

namespace inferens::jinja {

// str(value). A string is itself (a Markup loses its mark: see soft_text), undefined is empty.
Text to_text(Runtime& runtime, const Value& value);
// soft_str(value): like to_text, but a Markup stays one.
Text soft_text(Runtime& runtime, const Value& value);
void append_text(Runtime& runtime, const Value& value, TextBuilder& out);
void append_repr(Runtime& runtime, const Value& value, TextBuilder& out);
std::string float_repr(double value);
// HTML escaping as markupsafe does; the result is Markup. A Markup comes back unchanged.
Text escape(Runtime& runtime, const Value& value);

}  // namespace inferens::jinja
