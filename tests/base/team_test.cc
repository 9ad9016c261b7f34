// What an operator relies on inside a step: shares that cover every row once, and barriers that order plain memory.
#include "base/team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"

namespace inferens {
namespace {

TEST(TeamShare, EveryRowBelongsToOneWorkerAndNoOneHasMuchMore) {
  for (int size : {1, 2, 3, 7, 16}) {
    for (int64_t count : {0, 1, 5, 16, 100, 1000}) {
      for (int64_t grain : {1, 4, 16}) {
        int64_t next = 0;
        int64_t smallest = count;
        int64_t largest = 0;
        for (int worker = 0; worker < size; ++worker) {
          auto [begin, end] = Team(worker, size, nullptr).share(count, grain);
          ASSERT_EQ(begin, next) << "a gap or an overlap before worker " << worker;
          ASSERT_TRUE(begin % grain == 0 || begin == count);
          next = end;
          smallest = std::min(smallest, end - begin);
          largest = std::max(largest, end - begin);
        }
        ASSERT_EQ(next, count);
        ASSERT_LE(largest - smallest, 2 * grain) << size << " workers, " << count << " rows, grain " << grain;
      }
    }
  }
}

TEST(TeamBarrier, WhatAllWroteBeforeIsReadAfterByAll) {
  // Plain memory on purpose, so that ThreadSanitizer sees whether the barrier orders it. Each phase reads the neighbour's
  // value of the phase before; two buffers, as operators use them.
  for (int size : {1, 2, 4}) {
    WorkerPool pool(size);
    std::vector<int64_t> even(static_cast<size_t>(size), 1);
    std::vector<int64_t> odd(static_cast<size_t>(size), 0);
    constexpr int kPhases = 300;
    run_team(pool, [&](const Team& team) {
      for (int phase = 0; phase < kPhases; ++phase) {
        auto& from = phase % 2 == 0 ? even : odd;
        auto& to = phase % 2 == 0 ? odd : even;
        to[static_cast<size_t>(team.worker())] = from[static_cast<size_t>((team.worker() + 1) % team.size())] + 1;
        team.barrier();
      }
    });
    for (int64_t value : even) EXPECT_EQ(value, 1 + kPhases);
  }
}

TEST(TeamBarrier, MoreWorkersThanCpusPassIt) {
  WorkerPool pool(32);
  std::vector<int64_t> rounds(32, 0);
  run_team(pool, [&](const Team& team) {
    for (int round = 0; round < 20; ++round) {
      rounds[static_cast<size_t>(team.worker())]++;
      team.barrier();
    }
  });
  for (int64_t r : rounds) EXPECT_EQ(r, 20);
}

TEST(AlignedMemoryTest, IsZeroedAlignedAndHandedOverWhole) {
  for (size_t bytes : {size_t{1}, size_t{4097}, size_t{9} << 20}) {
    auto allocated = AlignedMemory::allocate(bytes);
    ASSERT_TRUE(allocated.ok());
    AlignedMemory memory = *std::move(allocated);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 64, 0u);
    EXPECT_EQ(memory.size(), bytes);
    for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(memory.data()[i], std::byte{0});
    std::byte* address = memory.data();
    AlignedMemory moved = std::move(memory);
    EXPECT_EQ(moved.data(), address);
  }
}

TEST(AlignedMemoryTest, MoreThanTheMachineHasIsAnErrorAndNoCrash) {
  auto huge = AlignedMemory::allocate(size_t{1} << 62);
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.status().code(), StatusCode::kResourceExhausted);
}

TEST(ScratchTest, GrowsAndKeepsItsAddressWhenLessIsAsked) {
  Scratch<float> scratch;
  float* first = scratch.ensure(1000);
  first[999] = 1.0F;
  EXPECT_EQ(scratch.ensure(10), first);
  float* grown = scratch.ensure(1 << 20);
  grown[(1 << 20) - 1] = 2.0F;
  EXPECT_EQ(scratch.data(), grown);
}

}  // namespace
}  // namespace inferens
