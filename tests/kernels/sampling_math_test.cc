// The whole-row passes behind the sampler: right, and the same bits on every machine.
#include "kernels/sampling_math.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "base/random.h"

namespace inferens {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> random_row(uint64_t seed, size_t n) {
  RandomSequence random(seed);
  std::vector<float> row(n);
  for (float& v : row) v = random.below(20) == 0 ? -kInf : std::min(11.0f, static_cast<float>(random.normal() * 4));
  row[n / 2] = 11;
  return row;
}

// Everything the passes give for one row, as bytes.
std::vector<char> all_results(const std::vector<float>& row) {
  std::vector<char> bytes;
  auto add = [&](const auto& values) {
    auto* p = reinterpret_cast<const char*>(values.data());
    bytes.insert(bytes.end(), p, p + values.size() * sizeof(values[0]));
  };
  std::vector<float> tile_max(sampling_tiles(row.size())), lane_sums(tile_max.size() * kSamplingLanes),
      kept(row.size());
  std::vector<double> exps(row.size());
  std::vector<int32_t> selected(row.size());
  std::vector<uint32_t> allowed((row.size() + 31) / 32, 0x5a3c0ff1);
  const LogitPeak peak = find_peak(row, tile_max);
  for (double scale : {1.0, 0.37, 12.0}) {
    add(std::vector<double>{sum_exponentials(row, tile_max, peak.max, scale, lane_sums),
                            sum_weighted_exponents(row, tile_max, peak.max, scale)});
    add(lane_sums);
    exponentials(row, peak.max, scale, exps);
    add(exps);
  }
  selected.resize(select_between(row, tile_max, -1.5f, 4.25f, selected.data()));
  add(selected);
  keep_allowed(row, allowed, kept);
  add(kept);
  add(tile_max);
  return bytes;
}

TEST(SamplingMath, GivesTheSameBitsAtEveryInstructionSet) {
  for (size_t n : {1u, 15u, 255u, 256u, 257u, 5000u}) {
    const auto row = random_row(n, n);
    const auto best = all_results(row);
    int targets = 0;
    for (auto target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      EXPECT_EQ(all_results(row), best) << hwy::TargetName(target) << ", row of " << n;
      ++targets;
    }
    hwy::SetSupportedTargetsForTest(0);
    EXPECT_GE(targets, 1);
  }
}

TEST(SamplingMath, FindsPeaksAndBrokenNumbersWhereverTheyAre) {
  for (size_t n : {1u, 16u, 256u, 257u, 1000u}) {
    for (size_t at : {size_t{0}, n / 2, n - 1}) {
      std::vector<float> row(n, -kInf), tile_max(sampling_tiles(n));
      EXPECT_EQ(find_peak(row, tile_max).max, -kInf);
      row[at] = -3;
      EXPECT_EQ(find_peak(row, tile_max).max, -3);
      EXPECT_FALSE(find_peak(row, tile_max).has_nan);
      EXPECT_EQ(tile_max[at / kSamplingTile], -3);
      row[at] = std::nanf("");
      EXPECT_TRUE(find_peak(row, tile_max).has_nan);
    }
  }
}

TEST(SamplingMath, SumsMatchTheMathsLibraryToAMillionth) {
  for (size_t n : {1u, 100u, 256u, 3000u, 151936u}) {
    const auto row = random_row(n, n);
    std::vector<float> tile_max(sampling_tiles(n)), lane_sums(tile_max.size() * kSamplingLanes);
    find_peak(row, tile_max);
    for (double scale : {1e-6, 0.1, 1.0, 3.0, 1e5}) {
      double sum = 0, weighted = 0;
      for (float v : row) {
        const double y = (static_cast<double>(v) - 11) * scale;
        sum += std::exp(y);
        if (y > -700) weighted += y * std::exp(y);
      }
      const double ours = sum_exponentials(row, tile_max, 11, scale, lane_sums);
      EXPECT_NEAR(ours, sum, 1e-6 * sum) << n << " " << scale;
      EXPECT_NEAR(sum_weighted_exponents(row, tile_max, 11, scale), weighted, 1e-6 * (std::abs(weighted) + sum))
          << n << " " << scale;
      double lanes = 0;
      for (float s : lane_sums) lanes += s;
      EXPECT_NEAR(lanes, ours, 1e-12 * ours);
    }
  }
}

TEST(SamplingMath, ExponentialsMatchTheMathsLibraryToTheLastDigits) {
  std::vector<float> values;
  for (float v = 0; v > -710; v -= 0.37f) values.push_back(v);
  values.push_back(-kInf);
  std::vector<double> out(values.size());
  exponentials(values, 0, 1, out);
  for (size_t i = 0; i < values.size(); ++i) {
    const double expected = values[i] < -700 ? 0 : std::exp(static_cast<double>(values[i]));
    EXPECT_NEAR(out[i], expected, 1e-14 * expected) << values[i];
  }
}

TEST(SamplingMath, SelectsEveryIndexInsideTheBoundsAndNoOther) {
  for (size_t n : {1u, 63u, 64u, 300u, 5000u}) {
    const auto row = random_row(n + 1, n);
    std::vector<float> tile_max(sampling_tiles(n));
    find_peak(row, tile_max);
    for (auto [lo, hi] : {std::pair{-2.0f, 3.0f}, {11.0f, kInf}, {-3e38f, kInf}, {5.0f, 5.0f}, {11.5f, kInf}}) {
      std::vector<int32_t> expected, ours(n);
      for (size_t i = 0; i < n; ++i) {
        if (row[i] >= lo && row[i] < hi) expected.push_back(static_cast<int32_t>(i));
      }
      ours.resize(select_between(row, tile_max, lo, hi, ours.data()));
      EXPECT_EQ(ours, expected);
    }
  }
}

}  // namespace
}  // namespace inferens
