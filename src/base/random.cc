#include "base/random.h"

#include <cmath>
#include <numbers>

namespace inferens {

std::array<uint32_t, 4> philox4x32(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  // Multipliers and Weyl increments of the paper, table 2.
  constexpr uint32_t kM0 = 0xD2511F53, kM1 = 0xCD9E8D57, kW0 = 0x9E3779B9, kW1 = 0xBB67AE85;
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(counter_low), static_cast<uint32_t>(counter_low >> 32),
                               static_cast<uint32_t>(counter_high), static_cast<uint32_t>(counter_high >> 32)};
  auto k0 = static_cast<uint32_t>(key);
  auto k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{kM0} * c[0];
    uint64_t p1 = uint64_t{kM1} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += kW0;
    k1 += kW1;
  }
  return c;
}

double uniform_at(uint64_t seed, uint64_t position, uint64_t draw) {
  auto r = philox4x32(seed, position, draw);
  uint64_t bits = (uint64_t{r[0]} << 32) | r[1];
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

uint64_t RandomSequence::next() {
  auto r = philox4x32(seed_, counter_++, 0x5e9d);
  return (uint64_t{r[0]} << 32) | r[1];
}

double RandomSequence::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

uint64_t RandomSequence::below(uint64_t bound) { return next() % bound; }

double RandomSequence::normal() {
  double u = 1.0 - uniform();  // (0, 1]: log is finite
  double v = uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

}  // namespace inferens
