// How requests are named inside one engine.
#pragma once

#include <cstdint>

namespace inferens {

// Never taken from a client, so that nobody can name another's request.
using RequestId = uint64_t;

}  // namespace inferens
