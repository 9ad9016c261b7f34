// Sampling as users meet it: which token comes, how likely each is, and what is refused.
#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "base/random.h"

namespace inferens {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> random_logits(uint64_t seed, size_t n, double spread) {
  RandomSequence random(seed);
  std::vector<float> logits(n);
  for (float& v : logits) v = static_cast<float>(random.normal() * spread);
  return logits;
}

TokenId draw(const SamplingParams& params, std::span<const float> logits, int64_t position = 0, std::span<const uint32_t> allowed = {}) {
  auto token = Sampler::make(params, static_cast<int32_t>(logits.size()), {})->sample(logits, allowed, position);
  EXPECT_TRUE(token.ok()) << token.status().to_string();
  return token.ok() ? token->token : -1;
}

TEST(Sampler, TemperatureZeroGivesTheMostLikelyTokenAndTheLowerOneOfEquals) {
  SamplingParams params;
  params.temperature = 0;
  for (size_t n : {1u, 5u, 255u, 256u, 257u, 1000u, 151936u}) {
    auto logits = random_logits(n, n, 3);
    for (size_t at : {n / 3, n - 1}) {
      logits[at] = 50;
      EXPECT_EQ(draw(params, logits), static_cast<TokenId>(n == 1 ? 0 : n / 3));
    }
  }
}

TEST(Sampler, TheSameSeedAndPositionGiveTheSameTokenWhateverWasDrawnBefore) {
  SamplingParams params;
  params.top_p = 0.9;
  params.seed = 42;
  const auto logits = random_logits(1, 5000, 2);
  std::vector<TokenId> forwards, backwards;
  auto a = Sampler::make(params, 5000, {});
  for (int64_t p = 0; p < 100; ++p) forwards.push_back(a->sample(logits, {}, p)->token);
  auto b = Sampler::make(params, 5000, {});
  for (int64_t p = 99; p >= 0; --p) backwards.push_back(b->sample(logits, {}, p)->token);
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_EQ(forwards, backwards);
}

}  // namespace
}  // namespace inferens
