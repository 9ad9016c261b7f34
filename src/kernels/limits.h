// What the machine could do at most: loops that only read memory, and loops that only multiply in registers. Measured
// figures of the kernels are shown as shares of these (src/bench/). Not used by any model.
#pragma once

#include <cstddef>
#include <cstdint>

#include "inferens/status.h"
#include "kernels/isa.h"

namespace inferens {

constexpr size_t kReadGrain = 1024;  // bytes one round of a read loop takes

struct LimitLoops {
  // Reads data[0, bytes) once, in order; bytes is a multiple of kReadGrain, data 64-byte aligned. The result depends on
  // every byte, so that no read can be left out.
  uint64_t (*read)(const std::byte* data, size_t bytes) = nullptr;

  // A loop of independent multiply-adds on registers. run(rounds) takes rounds * operations; a multiplication and an
  // addition are two. The result only keeps the work from being left out.
  struct Products {
    float (*run)(int64_t rounds) = nullptr;
    int64_t operations = 0;
  };
  Products int8;        // sums of four products of 8-bit integers in 32 bits, by the instruction set's vectors
  Products int8_tiles;  // the same by AMX tiles; null where there are none
  Products f32;         // fused multiply-adds
};

// The loops of an instruction set; an error when it was not built in or this CPU lacks it.
StatusOr<const LimitLoops*> limits_for(Isa isa);

}  // namespace inferens
