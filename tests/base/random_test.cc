// The sequence behind workloads and simulators: repeatable, in range, and shaped as promised. Bounds are six standard errors of
// a fixed seed's sample, so a failure is a fault and not bad luck.
#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

namespace inferens {
namespace {

TEST(RandomSequenceTest, ASeedRepeatsItsNumbersAndAnotherSeedDoesNot) {
  RandomSequence a(42);
  RandomSequence b(42);
  RandomSequence c(43);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    uint64_t x = a.next();
    EXPECT_EQ(x, b.next());
    EXPECT_NE(x, c.next());
    seen.insert(x);
  }
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(RandomSequenceTest, NumbersStayInTheirBoundsAndReachBothEnds) {
  RandomSequence r(1);
  std::array<int, 6> faces{};
  for (int i = 0; i < 6000; ++i) faces[static_cast<size_t>(r.between(1, 6)) - 1]++;
  double chi_squared = 0;
  for (int f : faces) chi_squared += (f - 1000.0) * (f - 1000.0) / 1000.0;
  EXPECT_LT(chi_squared, 30) << "5 degrees of freedom: p = 1.5e-5";
  EXPECT_EQ(r.below(1), 0u);
  EXPECT_EQ(r.between(-3, -3), -3);
}

TEST(RandomSequenceTest, UniformAndNormalHaveTheirMoments) {
  RandomSequence r(7);
  constexpr int kCount = 100000;
  double uniform_sum = 0;
  double normal_sum = 0;
  double normal_squares = 0;
  for (int i = 0; i < kCount; ++i) {
    double u = r.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    uniform_sum += u;
    double n = r.normal();
    ASSERT_TRUE(std::isfinite(n));
    normal_sum += n;
    normal_squares += n * n;
  }
  double root = std::sqrt(static_cast<double>(kCount));
  EXPECT_NEAR(uniform_sum / kCount, 0.5, 6 * std::sqrt(1.0 / 12) / root);
  EXPECT_NEAR(normal_sum / kCount, 0.0, 6 / root);
  EXPECT_NEAR(normal_squares / kCount, 1.0, 6 * std::sqrt(2.0) / root);
}

TEST(UniformAt, DrawsForOneTokenAreTheirOwnNumbers) {
  std::set<double> seen;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    for (uint64_t position = 0; position < 10; ++position) {
      for (uint64_t draw = 0; draw < 10; ++draw) seen.insert(uniform_at(seed, position, draw));
    }
  }
  EXPECT_EQ(seen.size(), 1000u);
}

}  // namespace
}  // namespace inferens
