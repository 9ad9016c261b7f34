// The limits that figures are shares of: present for every instruction set that this machine offers.
#include "bench/machine.h"

#include <gtest/gtest.h>

namespace inferens {
namespace {

TEST(Machine, EveryInstructionSetHasItsLimits) {
  WorkerPool pool(2);
  MachineInfo small;
  small.available_bytes = 64 << 20;
  for (Isa isa : available_isas()) {
    auto limits = measure_limits(isa, pool, small, {.working_sets = {1 << 20}, .seconds = 0.001});
    ASSERT_TRUE(limits.ok()) << limits.status().to_string();
    for (const Limit& l : {limits->int8, limits->f32}) {
      EXPECT_GT(l.one_thread, 0) << isa_name(isa);
      EXPECT_GT(l.all_threads, 0) << isa_name(isa);
    }
    EXPECT_EQ(limits->int8_tiles.all_threads > 0, isa == Isa::kAmx);
    EXPECT_GE(limits->best_int8().all_threads, limits->int8.all_threads);
    ASSERT_EQ(limits->read.size(), 2u);
    EXPECT_EQ(limits->read[0].buffer_bytes, 1 << 20);
    EXPECT_EQ(limits->read_limit(900000).buffer_bytes, 1 << 20);
    EXPECT_EQ(limits->read_limit(int64_t{1} << 40).buffer_bytes, limits->read[1].buffer_bytes);
  }
}

// A loop that the compiler emptied would take no time whatever the number of rounds.
TEST(Machine, LimitLoopsDoTheWorkTheyCount) {
  for (Isa isa : available_isas()) {
    auto loops = limits_for(isa);
    ASSERT_TRUE(loops.ok());
    alignas(64) std::byte data[4 * kReadGrain] = {};
    EXPECT_EQ((*loops)->read(data, sizeof data), 0u);
    // The result is the first 8 bytes of all 64-byte vectors, or-ed.
    for (size_t at : {size_t{0}, size_t{64 + 3}, size_t{1024 + 7}, sizeof data - 64 + 5}) {
      data[at] = std::byte{0x40};
      EXPECT_EQ((*loops)->read(data, sizeof data), uint64_t{0x40} << (8 * (at % 64))) << isa_name(isa) << " " << at;
      data[at] = std::byte{0};
    }
    // Accumulators start at 0, 1, 2, … and every round adds the same to each: rounds show in the result.
    for (const auto* products : {&(*loops)->int8, &(*loops)->int8_tiles}) {
      if (products->run == nullptr || isa == Isa::kPortable) continue;
      EXPECT_NE(products->run(1), products->run(2)) << isa_name(isa);
      EXPECT_NE(products->run(2), products->run(5)) << isa_name(isa);
    }
    EXPECT_NE((*loops)->f32.run(1), (*loops)->f32.run(2)) << isa_name(isa);
  }
}

TEST(Machine, DatesAreUtc) {
  EXPECT_EQ(utc_time(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_time(1709210096), "2024-02-29T12:34:56Z");
}

}  // namespace
}  // namespace inferens
