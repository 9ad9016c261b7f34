#include "serve/seed.h"

#include <random>

namespace inferens {

uint64_t draw_seed() {
  std::random_device device;
  return (uint64_t{device()} << 32 | device()) & ((uint64_t{1} << 53) - 1);
}

}  // namespace inferens
