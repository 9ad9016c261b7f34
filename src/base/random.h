// The one random source: a counter-based generator (Philox 4x32-10, Salmon et al., SC 2011). A number depends only on
// (seed, stream, index), so sampling does not depend on what else ran before.
#pragma once

#include <array>
#include <cstdint>

namespace inferens {

// 128 random bits for one counter under one key.
std::array<uint32_t, 4> philox4x32(uint64_t key, uint64_t counter_low, uint64_t counter_high);

// Uniform in [0, 1), 53 bits. `position` is the token's absolute position; `draw` tells apart several draws for one token.
double uniform_at(uint64_t seed, uint64_t position, uint64_t draw);

// A sequence of numbers under one seed, for tests, simulators and workloads.
class RandomSequence {
 public:
  explicit RandomSequence(uint64_t seed) : seed_(seed) {}
  uint64_t next();
  double uniform();                  // [0, 1)
  uint64_t below(uint64_t bound);    // [0, bound), bound > 0; bias below 2^-40 for bounds up to 2^24
  int64_t between(int64_t lo, int64_t hi) { return lo + static_cast<int64_t>(below(static_cast<uint64_t>(hi - lo) + 1)); }
  double normal();                   // mean 0, variance 1 (Box-Muller)

 private:
  uint64_t seed_;
  uint64_t counter_ = 0;
};

}  // namespace inferens
