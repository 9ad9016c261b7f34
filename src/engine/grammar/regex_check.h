// Regular expressions from outside, of the ECMAScript kind: parsed with limits, and turned into the grammar notation.
// What cannot be kept exactly (lookaround, back references, word boundaries, anchors in the middle) is refused.
#pragma once

#include <string>
#include <string_view>

#include "inferens/status.h"

namespace inferens {

enum class RegexUse {
  kWholeText,   // the text matches from its first to its last character; ^ and $ at the ends are allowed
  kJsonString,  // the contents of a JSON string match somewhere, as JSON Schema's "pattern" wants it; ^ and $ bind
};

// The body of a grammar rule. Errors say what, and at which character.
StatusOr<std::string> regex_to_ebnf(std::string_view regex, RegexUse use);

}  // namespace inferens
