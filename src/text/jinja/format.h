// Python's two string formatting languages: "…%s…" % values and "…{}…".format(values).
#pragma once

#include "text/jinja/runtime.h"

namespace inferens::jinja {

Text format_percent(Runtime& runtime, const Text& format, const Value& values);
Text format_braces(Runtime& runtime, const Text& format, const Arguments& arguments);
// A number with a fixed count of decimals, as "%.1f" writes it.
std::string fixed_decimals(double value, int decimals);

}  // namespace inferens::jinja
