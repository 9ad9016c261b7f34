// What the ground floor promises: checked sizes, strict UTF-8, repeatable randomness, a pool that runs every worker once.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <limits>

#include "base/checked.h"
#include "base/file.h"
#include "base/random.h"
#include "base/utf8.h"
#include "base/worker_pool.h"

namespace inferens {
namespace {

TEST(Checked, OverflowIsNoticed) {
  EXPECT_FALSE(checked_mul<uint64_t>(uint64_t{1} << 63, 2));
  EXPECT_FALSE(checked_add<uint64_t>(std::numeric_limits<uint64_t>::max(), 1));
  EXPECT_FALSE(checked_round_up<uint64_t>(std::numeric_limits<uint64_t>::max() - 3, 32));
  EXPECT_EQ(*checked_round_up<uint64_t>(33, 32), 64u);
}

TEST(Utf8, BadSubpartsAreReplacedOneByOne) {
  EXPECT_EQ(repair_utf8("a\xF0\x9F\x92z"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(repair_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(repair_utf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_TRUE(is_valid_utf8("Привет 你好 🦙"));
}

TEST(Utf8, AnUnfinishedCharacterAtTheEndIsMeasured) {
  EXPECT_EQ(incomplete_utf8_suffix("ab\xF0\x9F\xA6"), 3u);
  EXPECT_EQ(incomplete_utf8_suffix("ab\xF0\x9F\xA6\x99"), 0u);
  EXPECT_EQ(incomplete_utf8_suffix("ab\xED\xA0"), 0u) << "a surrogate can never become whole";
  EXPECT_EQ(incomplete_utf8_suffix("\xC3"), 1u);
}

TEST(Random, PhiloxMatchesThePublishedVectors) {
  // Known-answer tests of the Random123 distribution for philox4x32, 10 rounds.
  EXPECT_EQ(philox4x32(0, 0, 0), (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32(~0ull, ~0ull, ~0ull), (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Random, ANumberDependsOnlyOnSeedPositionAndDraw) {
  EXPECT_EQ(uniform_at(7, 100, 0), uniform_at(7, 100, 0));
  EXPECT_NE(uniform_at(7, 100, 0), uniform_at(7, 101, 0));
  EXPECT_NE(uniform_at(7, 100, 0), uniform_at(8, 100, 0));
}

TEST(WorkerPool, EveryWorkerRunsOnceAndEveryIndexOnce) {
  for (int size : {1, 2, 5}) {
    WorkerPool pool(size);
    for (int repeat = 0; repeat < 200; ++repeat) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(size));
      pool.run([&](int worker) { hits[static_cast<size_t>(worker)]++; });
      for (auto& h : hits) ASSERT_EQ(h.load(), 1);
      std::vector<std::atomic<int>> done(37);
      pool.for_each(37, [&](int64_t i, int) { done[static_cast<size_t>(i)]++; });
      for (auto& d : done) ASSERT_EQ(d.load(), 1);
    }
  }
}

TEST(WorkerPool, CpuMaxIsRead) {
  EXPECT_EQ(cpus_of_cpu_max("max 100000\n"), 0);
  EXPECT_EQ(cpus_of_cpu_max("150000 100000\n"), 1.5);
  EXPECT_EQ(cpus_of_cpu_max(""), 0);
  EXPECT_GE(usable_cpus(), 1);
}

TEST(File, AMissingFileAndAFolderAreNamedInTheError) {
  EXPECT_EQ(read_file("/no/such/file").status().code(), StatusCode::kNotFound);
  auto folder = MappedFile::open("/tmp");
  ASSERT_FALSE(folder.ok());
  EXPECT_NE(folder.status().message().find("/tmp"), std::string::npos);
}

TEST(File, AtomicWriteReplacesTheWholeFile) {
  std::string path = testing::TempDir() + "/atomic_write";
  ASSERT_TRUE(write_file_atomically(path, "old").ok());
  ASSERT_TRUE(write_file_atomically(path, "new bytes").ok());
  EXPECT_EQ(*read_file(path), "new bytes");
  EXPECT_FALSE(read_file(path, 3).ok()) << "a limit refuses, it never cuts";
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace inferens
