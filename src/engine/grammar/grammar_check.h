// What a request asks of its output, checked and turned into what the library compiles. Cheap and bounded: nothing here
// takes more than milliseconds, so that most refusals come before anything queues.
#pragma once

#include <string>

#include "inferens/generation.h"
#include "inferens/status.h"

namespace inferens {

// A grammar in the library's notation, with the rule "root". Errors: invalid_argument names what of the constraint
// cannot be kept, and where.
StatusOr<std::string> check_constraint(const OutputConstraint& constraint);

}  // namespace inferens
