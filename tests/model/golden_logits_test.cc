// The measure of the forward passes itself: the stored expectations are whole, and a small mistake is seen by it.
#include "golden_logits.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace inferens::golden {
namespace {

const std::string kFolder = INFERENS_TEST_DATA "/model";

double log_sum_exp(const std::vector<float>& values) {
  double sum = 0;
  for (float v : values) sum += std::exp(static_cast<double>(v));
  return std::log(sum);
}

TEST(GoldenLogits, EveryFileIsWholeAndConsistent) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFolder)) {
    if (entry.path().extension() != ".logits") continue;
    SCOPED_TRACE(entry.path());
    ++files;
    LogitFile file = read(entry.path());
    ASSERT_FALSE(file.runs.empty());
    for (const LogitRun& run : file.runs) {
      ASSERT_GE(run.rows.size(), 20u);
      for (const LogitRow& row : run.rows) {
        ASSERT_LT(static_cast<size_t>(row.position), run.tokens.size());
        double stored = log_sum_exp(row.values);
        // A part of the terms gives a part of the sum.
        ASSERT_LT(stored, row.log_sum_exp + 1e-4);
        if (row.ids.size() == file.vocab_size) {
          ASSERT_NEAR(stored, row.log_sum_exp, 1e-4);
        }
      }
    }
  }
  EXPECT_EQ(files, 15u);
}

TEST(GoldenLogits, AMistakeOfOneLogitIsMeasured) {
  LogitFile file = read(kFolder + "/tiny/llama-f32.logits");
  const LogitRow& row = file.runs[0].rows[3];
  std::vector<float> ours = row.values;
  EXPECT_EQ(row.relative_error(ours.data()), 0);
  ours[7] += row.max_abs * 0.01f;
  EXPECT_NEAR(row.relative_error(ours.data()), 0.01, 1e-6);
  ours[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isinf(row.relative_error(ours.data())));
}

TEST(GoldenLogits, ADamagedFileIsNotTakenForALooserTest) {
  std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "cut.logits";
  std::filesystem::copy_file(kFolder + "/tiny/llama-f32.logits", path,
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  EXPECT_THROW(read(path), std::runtime_error);
  std::filesystem::remove(path);
  EXPECT_THROW(read(path), std::runtime_error);
}

}  // namespace
}  // namespace inferens::golden
