// Tools for models whose chat template knows none: definitions, calls and results are told in plain words, in the
// notation that most models have seen (ToolFormat::kJson reads the calls).
#pragma once

#include "inferens/generation.h"

namespace inferens {

// The same chat without tools_json, calls and messages of role tool. knows_system: the template has a system message;
// else what would stand there opens the first user's message.
ChatPrompt tell_tools_in_words(const ChatPrompt& prompt, bool knows_system);

}  // namespace inferens
