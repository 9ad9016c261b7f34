// A bound on what a library may do that has no bound of its own: memory, number of allocations and CPU time of one
// thread. Everything that can grow without end allocates, so the bound is enforced in operator new, which this replaces
// for the whole program (at the cost of one load where no budget is set).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "base/clock.h"

namespace inferens {

class WorkBudget {
 public:
  struct Limits {
    int64_t bytes = INT64_MAX;        // held at one time, beyond what was held at the start
    int64_t allocations = INT64_MAX;  // in all; unlike time the same in every run
    Nanos cpu_time = INT64_MAX;       // of this thread
  };
  enum class Spent { kNothing, kBytes, kAllocations, kCpuTime };

  // What operator new throws when a limit is passed.
  class Exceeded final : public std::bad_alloc {
   public:
    const char* what() const noexcept override { return "a limit of work was passed"; }
  };

  // In force on this thread until it goes. Budgets do not nest: an inner one rules alone while it lives.
  explicit WorkBudget(const Limits& limits);
  ~WorkBudget();
  WorkBudget(const WorkBudget&) = delete;
  WorkBudget& operator=(const WorkBudget&) = delete;

  // Which limit was passed first, also when the library swallowed the exception.
  Spent spent() const { return spent_; }
  // Allocated and not freed by this thread since the start; below 0 when more was freed.
  int64_t bytes_held() const { return bytes_; }

  // For operator new and delete.
  void charge(size_t bytes);
  void refund(size_t bytes) { bytes_ -= static_cast<int64_t>(bytes); }
  void add_held(size_t bytes) { bytes_ += static_cast<int64_t>(bytes); }
  static WorkBudget* current();

 private:
  Spent find_spent() const;

  Limits limits_;
  int64_t bytes_ = 0;
  int64_t allocations_ = 0;
  Nanos cpu_begin_ = 0;
  Spent spent_ = Spent::kNothing;
  WorkBudget* outer_;
};

}  // namespace inferens
