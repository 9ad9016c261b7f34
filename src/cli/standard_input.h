// Standard input as a prompt.
#pragma once

#include <string>

#include "inferens/status.h"

namespace inferens {

bool input_is_terminal();
bool output_is_terminal();
// All of it, at most 64 MiB. A prompt's last line break is the shell's, not the user's.
enum class LineBreakAtEnd { kKeep, kDrop };
StatusOr<std::string> read_standard_input(LineBreakAtEnd line_break);

}  // namespace inferens
