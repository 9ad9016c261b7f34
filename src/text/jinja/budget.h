// What one parse or one render may use. Templates come from model files, so each is hostile until it has ended.
#pragma once

#include <cstddef>
#include <cstdint>

#include "text/jinja/failure.h"

namespace inferens::jinja {

constexpr size_t kMaxSourceBytes = size_t{1} << 20;   // real templates end near 30 KB
constexpr size_t kMaxTextBytes = size_t{8} << 20;     // one string, and the whole output
constexpr uint64_t kMaxMemory = uint64_t{256} << 20;  // all that one render makes, freed again or not
constexpr uint64_t kMaxSteps = 10'000'000;            // evaluations, iterations, list items: about a second
constexpr int kMaxNesting = 64;                       // brackets, blocks and prefix operators inside each other
constexpr int kMaxExpressionHeight = 200;             // chains such as a + b + …; Jinja in Python ends near 200 as well
constexpr int kMaxCallDepth = 64;                     // macros and recursive loops
constexpr int kMaxEvaluationDepth = 1500;   // all of the above together, so that the C++ stack stays below 2 MB
constexpr int kMaxValueDepth = 100;         // lists in lists
constexpr size_t kMaxRangeItems = 100'000;  // Jinja's sandbox has the same number

class Budget {
 public:
  void step(uint64_t count = 1) {
    steps_ += count;
    if (steps_ > kMaxSteps) fail_limit("the template ran for too many steps (limit 10000000)");
  }
  // Memory that is about to be taken, with what the allocator and the counts around it cost.
  void memory(uint64_t bytes) {
    if (bytes > kMaxMemory - memory_) fail_limit("the template made more than 256 MB of values");
    memory_ += bytes;
    step(bytes / 64);
  }
  // Text that is about to be made, `total` being the size of the string it joins.
  void text(size_t bytes, size_t total) {
    if (total > kMaxTextBytes) fail_limit("the template made a text above 8 MB");
    memory(bytes);
  }

 private:
  uint64_t steps_ = 0;
  uint64_t memory_ = 0;
};

}  // namespace inferens::jinja
