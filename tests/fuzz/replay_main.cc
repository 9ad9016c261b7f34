// Runs the seeds of one fuzz target without a fuzzer: with any compiler, in every test run. A fault that fuzzing found
// stays found once its input lies in the corpus.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

TEST(Corpus, EverySeedIsHandledWithoutACrash) {
  std::vector<std::filesystem::path> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(INFERENS_FUZZ_CORPUS)) seeds.push_back(entry.path());
  std::sort(seeds.begin(), seeds.end());
  ASSERT_FALSE(seeds.empty()) << INFERENS_FUZZ_CORPUS;
  for (const auto& path : seeds) {
    SCOPED_TRACE(path.string());
    const auto seed = inferens::read_file(path.string());
    ASSERT_TRUE(seed.ok()) << seed.status().to_string();
    // A copy of exactly its size, so that a sanitizer sees every read beyond the end.
    const std::vector<uint8_t> bytes(seed->begin(), seed->end());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
}

TEST(Corpus, NoInputAtAllIsHandled) {
  LLVMFuzzerTestOneInput(nullptr, 0);
}

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
