// A seed for requests that bring none.
#pragma once

#include <cstdint>

namespace inferens {

// 53 bits: seeds are shown in JSON, whose readers keep no more. Thread safe.
uint64_t draw_seed();

}  // namespace inferens
