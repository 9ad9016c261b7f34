// Which experts a token gets, and in which order its results are summed.
#include "model/experts.h"

#include <gtest/gtest.h>

#include <cmath>

namespace inferens {
namespace {

ModelConfig config_of(int32_t experts, int32_t used, bool normalize) {
  ModelConfig c;
  c.hidden = 32;
  c.experts = experts;
  c.experts_used = used;
  c.expert_ffn = 32;
  c.normalize_experts = normalize;
  return c;
}

TEST(ExpertSlots, EqualScoresGoToTheLowerNumberAndWeightsAreTheSoftmax) {
  ModelConfig c = config_of(5, 3, false);
  ExpertSlots slots;
  slots.resize(c, 1, 4);
  const float scores[] = {1, 2, 0, 1, 2};
  slots.choose(c, 0, scores);
  const ExpertSlots::Choice* chosen = slots.choices(0);
  EXPECT_EQ(chosen[0].expert, 0);
  EXPECT_EQ(chosen[1].expert, 1);
  EXPECT_EQ(chosen[2].expert, 4);
  double all = 2 * std::exp(2.0) + 2 * std::exp(1.0) + 1;
  EXPECT_NEAR(chosen[0].weight, std::exp(1.0) / all, 1e-7);
  EXPECT_NEAR(chosen[1].weight, std::exp(2.0) / all, 1e-7);
  c.normalize_experts = true;
  slots.choose(c, 0, scores);
  EXPECT_NEAR(chosen[0].weight + chosen[1].weight + chosen[2].weight, 1, 1e-6);
}

TEST(ExpertSlots, EveryTokenHasOneSlotPerExpertAndGroupsCoverThemInOrder) {
  ModelConfig c = config_of(6, 2, true);
  constexpr int64_t kTokens = 40;
  ExpertSlots slots;
  slots.resize(c, kTokens, 4);
  for (int64_t t = 0; t < kTokens; ++t) {
    float scores[6];
    for (int e = 0; e < 6; ++e) scores[e] = e == 3 ? -9.0f : static_cast<float>((t * 7 + e * 5) % 11);  // nobody wants expert 3
    slots.choose(c, t, scores);
  }
  slots.group();
  int64_t next = 0;
  for (const auto& g : slots.groups()) {
    EXPECT_EQ(g.first, next);
    EXPECT_NE(g.expert, 3);
    for (int64_t s = g.first; s < g.first + g.count; ++s) {
      if (s > g.first) {
        EXPECT_LT(slots.token_of(s - 1), slots.token_of(s));
      }
      const ExpertSlots::Choice* chosen = slots.choices(slots.token_of(s));
      EXPECT_TRUE((chosen[0].expert == g.expert && chosen[0].slot == s) || (chosen[1].expert == g.expert && chosen[1].slot == s));
    }
    next += g.count;
  }
  EXPECT_EQ(next, 2 * kTokens);
}

TEST(ExpertSlots, ScoresThatAreNotNumbersStillChooseExpertsThatExist) {
  ModelConfig c = config_of(4, 2, true);
  ExpertSlots slots;
  slots.resize(c, 1, 4);
  const float nan = std::nanf("");
  const float scores[] = {nan, nan, nan, nan};
  slots.choose(c, 0, scores);
  EXPECT_EQ(slots.choices(0)[0].expert, 0);
  EXPECT_EQ(slots.choices(0)[1].expert, 1);
  slots.group();
}

}  // namespace
}  // namespace inferens
