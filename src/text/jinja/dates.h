// strftime without the C library's locale.
#pragma once

#include <cstdint>

#include "text/jinja/text.h"

namespace inferens::jinja {

// Local time. Directives of Python's strftime in the C locale; an unknown one is refused by name.
Text format_date(Budget& budget, const Text& format, int64_t unix_seconds);

}  // namespace inferens::jinja
