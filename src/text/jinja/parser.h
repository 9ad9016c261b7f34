// Tokens to syntax tree, by the grammar of jinja2's parser with Hugging Face's extensions (loop controls, generation).
#pragma once

#include <string_view>

#include "text/jinja/ast.h"

namespace inferens::jinja {

// Throws Failure with the line. Variables are not resolved yet: scope.h does that.
Program parse_program(std::string_view source);

}  // namespace inferens::jinja
