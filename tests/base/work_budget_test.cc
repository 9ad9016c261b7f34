// A library that would take all memory or run for ever is stopped, and the program goes on.
#include "base/work_budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace inferens::testing {
namespace {

// Written to, so that the optimizer cannot leave out a new whose delete it sees.
void allocate(size_t bytes) {
  const auto memory = std::make_unique<char[]>(bytes);
  *static_cast<volatile char*>(memory.get()) = 1;
}

TEST(WorkBudget, MemoryBeyondItIsRefusedAndFreedMemoryComesBack) {
  WorkBudget budget({.bytes = 1 << 20});
  for (int i = 0; i < 100; ++i) allocate(500'000);  // never more than one at a time
  EXPECT_EQ(budget.spent(), WorkBudget::Spent::kNothing);
  EXPECT_THROW(allocate(2'000'000), std::bad_alloc);
  EXPECT_EQ(budget.spent(), WorkBudget::Spent::kBytes);
}

TEST(WorkBudget, AllocationsAreCounted) {
  WorkBudget budget({.allocations = 100});
  const auto make_many = [] {
    for (int i = 0; i < 1000; ++i) allocate(4);
  };
  EXPECT_THROW(make_many(), WorkBudget::Exceeded);
  EXPECT_EQ(budget.spent(), WorkBudget::Spent::kAllocations);
}

TEST(WorkBudget, TimeEndsWorkThatNeverWould) {
  WorkBudget budget({.cpu_time = 1'000'000});
  const auto for_ever = [] {
    for (;;) allocate(8);
  };
  EXPECT_THROW(for_ever(), WorkBudget::Exceeded);
  EXPECT_EQ(budget.spent(), WorkBudget::Spent::kCpuTime);
}

TEST(WorkBudget, BindsItsOwnThreadOnlyAndOnlyWhileItLives) {
  {
    WorkBudget budget({.bytes = 1000});
    std::thread other([] { allocate(10'000'000); });
    other.join();
    EXPECT_EQ(budget.spent(), WorkBudget::Spent::kNothing);
  }
  allocate(10'000'000);
}

TEST(WorkBudget, AnInnerOneRulesAloneAndTheOuterComesBack) {
  WorkBudget outer({.bytes = 1 << 20});
  {
    WorkBudget inner({});
    allocate(10'000'000);
  }
  EXPECT_THROW(allocate(10'000'000), std::bad_alloc);
}

}  // namespace
}  // namespace inferens::testing
