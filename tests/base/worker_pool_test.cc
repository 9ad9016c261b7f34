// What operators rely on when they hand work to the pool. Run under ThreadSanitizer too (scripts/test.sh).
#include "base/worker_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

namespace inferens {
namespace {

TEST(WorkerPoolMemory, PlainWritesOfEveryWorkerAreSeenByTheCallerAndByTheNextJob) {
  // No atomics on purpose: the pool itself must order one job's writes before the end of run() and before the next job.
  WorkerPool pool(4);
  std::vector<int64_t> values(4, 0);
  for (int64_t round = 1; round <= 500; ++round) {
    pool.run([&](int worker) { values[static_cast<size_t>(worker)] += round; });
    int64_t sum = std::accumulate(values.begin(), values.end(), int64_t{0});
    ASSERT_EQ(sum, 4 * round * (round + 1) / 2);
    // The next job reads what its neighbour wrote in this one.
    std::vector<int64_t> copied(4);
    pool.run([&](int worker) { copied[static_cast<size_t>(worker)] = values[static_cast<size_t>((worker + 1) % 4)]; });
    ASSERT_EQ(copied, values);
  }
}

TEST(WorkerPoolMemory, ASlowWorkerIsWaitedFor) {
  WorkerPool pool(3);
  bool finished = false;
  pool.run([&](int worker) {
    if (worker != 2) return;
    // Longer than the pool spins: the caller must have gone to sleep and be woken.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    finished = true;
  });
  EXPECT_TRUE(finished);
}

TEST(WorkerPoolLife, APoolThatSleepsWakesForAJobAndForItsEnd) {
  for (int round = 0; round < 20; ++round) {
    WorkerPool pool(3);
    int64_t total = 0;
    if (round % 2 == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      std::vector<int> ran(3, 0);
      pool.run([&](int worker) { ran[static_cast<size_t>(worker)] = 1; });
      total = std::accumulate(ran.begin(), ran.end(), 0);
      EXPECT_EQ(total, 3);
    }
  }
}

TEST(WorkerPoolLife, ManyMoreThreadsThanCpusStillFinish) {
  WorkerPool pool(64);
  EXPECT_EQ(pool.size(), 64);
  std::vector<int> ran(1000, 0);
  pool.for_each(1000, [&](int64_t i, int) { ran[static_cast<size_t>(i)]++; });
  EXPECT_EQ(std::accumulate(ran.begin(), ran.end(), 0), 1000);
}

TEST(WorkerPoolLife, NothingToDoCallsNobody) {
  WorkerPool pool(2);
  pool.for_each(0, [](int64_t, int) { FAIL(); });
  pool.for_each(-5, [](int64_t, int) { FAIL(); });
}

TEST(WorkerPoolLife, TwoPoolsOfTwoThreadsDoNotMeet) {
  // The engine's pool and a second one (a quantizing command beside a server) live in one process.
  WorkerPool first(2);
  WorkerPool second(2);
  std::vector<int> a(100, 0);
  std::vector<int> b(100, 0);
  std::thread other([&] {
    for (int round = 0; round < 100; ++round) second.for_each(100, [&](int64_t i, int) { b[static_cast<size_t>(i)]++; });
  });
  for (int round = 0; round < 100; ++round) first.for_each(100, [&](int64_t i, int) { a[static_cast<size_t>(i)]++; });
  other.join();
  EXPECT_EQ(std::accumulate(a.begin(), a.end(), 0), 10000);
  EXPECT_EQ(std::accumulate(b.begin(), b.end(), 0), 10000);
}

TEST(CpuQuota, NonsenseIsNoLimit) {
  EXPECT_EQ(cpus_of_cpu_max("max"), 0);
  EXPECT_EQ(cpus_of_cpu_max("-100000 100000"), 0);
  EXPECT_EQ(cpus_of_cpu_max("100000 0"), 0);
  EXPECT_EQ(cpus_of_cpu_max("50000 100000"), 0.5) << "half a CPU is a limit, not none";
}

}  // namespace
}  // namespace inferens
