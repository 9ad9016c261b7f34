// Which tokens are left and how likely each is drawn, on vocabularies large enough for every shortcut of the selection.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "sampler_reference.h"

namespace inferens::sampler_test {
namespace {

SamplingParams random_params(RandomSequence& random) {
  auto pick = [&](std::initializer_list<double> values) { return values.begin()[random.below(values.size())]; };
  SamplingParams p;
  p.order = random.below(2) ? SamplerOrder::kLlamaCpp : SamplerOrder::kOpenAi;
  p.temperature = pick({0.1, 0.7, 1, 2, 10});
  p.top_k = static_cast<int32_t>(pick({0, 0, 1, 3, 40, 300, 3000}));
  p.top_p = pick({1, 1, 0.05, 0.5, 0.95, 0.9999});
  p.min_p = pick({0, 0, 1e-4, 0.05, 0.7});
  p.typical_p = pick({1, 1, 0.3, 0.9, 0.999});
  return p;
}

TEST(SamplerDistribution, PartialSelectionLeavesExactlyWhatAFullSortLeaves) {
  RandomSequence random(11);
  int compared = 0;
  for (int round = 0; round < 300; ++round) {
    const size_t vocab = 1000 + random.below(20000);
    const auto logits = random_logits(random.next(), vocab, 0.1 + random.uniform() * 5);
    const SamplingParams params = random_params(random);
    double margin = 1;
    auto expected = reference_distribution(logits, params, margin);
    // Whole-row sums are exact to a millionth: nearer than that to a limit, either choice is right.
    if (margin < 2e-6) continue;
    ++compared;
    const auto ours = distribution(logits, params);
    ASSERT_EQ(ours.size(), expected.size()) << "round " << round;
    for (auto [token, p] : ours)
      ASSERT_NEAR(p, expected[token], 1e-9 + 1e-9 * p) << "round " << round << " token " << token;
  }
  EXPECT_GT(compared, 200);
}

// The statistic of `draws` tokens from positions 0… against probabilities; cells under 5 expected draws are put
// together. Returns how many standard deviations it lies above its mean.
double chi_square_excess(const std::vector<float>& logits, const SamplingParams& params,
                         const std::map<TokenId, double>& expected, int draws) {
  auto sampler = Sampler::make(params, static_cast<int32_t>(logits.size()), {});
  std::map<TokenId, int> seen;
  for (int i = 0; i < draws; ++i) ++seen[sampler->sample(logits, {}, i)->token];
  double statistic = 0, rest_expected = 0, rest_seen = 0;
  int cells = 0;
  auto add = [&](double e, double s) {
    statistic += (s - e) * (s - e) / e;
    ++cells;
  };
  for (auto [token, p] : expected) {
    const double e = p * draws, s = seen[token];
    seen.erase(token);
    if (e >= 5) {
      add(e, s);
    } else {
      rest_expected += e;
      rest_seen += s;
    }
  }
  if (rest_expected >= 5) add(rest_expected, rest_seen);
  for (auto [token, count] : seen) EXPECT_EQ(count, 0) << "token " << token << " was cut and came all the same";
  const double freedom = cells - 1;
  return freedom > 0 ? (statistic - freedom) / std::sqrt(2 * freedom) : 0;
}

TEST(SamplerDistribution, TokensComeAsOftenAsTheirProbabilitySays) {
  const auto logits = random_logits(5, 300, 2);
  std::vector<SamplingParams> cases(5);
  cases[1].temperature = 1e6;
  cases[2].top_p = 0.9;
  cases[3].top_k = 20;
  cases[3].order = SamplerOrder::kLlamaCpp;
  cases[3].temperature = 3;
  cases[4].min_p = 0.02;
  cases[4].typical_p = 0.9;
  for (size_t i = 0; i < cases.size(); ++i) {
    cases[i].seed = 1000 + i;
    double margin = 1;
    const auto expected = reference_distribution(logits, cases[i], margin);
    const double excess = chi_square_excess(logits, cases[i], expected, 200000);
    // Six deviations either way: less than one in 10^7 for a right sampler, and far too smooth is wrong as well.
    EXPECT_LT(excess, 6) << "case " << i;
    EXPECT_GT(excess, -6) << "case " << i;
  }
}

TEST(SamplerDistribution, DrawsOfNeighbouringPositionsAndSeedsAreIndependent) {
  const std::vector<float> coin = {0, 0};
  SamplingParams params;
  for (bool by_seed : {false, true}) {
    std::map<std::pair<int, int>, int> pairs;
    const int draws = 40000;
    int last = 0;
    for (int i = 0; i <= draws; ++i) {
      params.seed = by_seed ? static_cast<uint64_t>(i) : 3;
      const int token = Sampler::make(params, 2, {})->sample(coin, {}, by_seed ? 7 : i)->token;
      if (i > 0) ++pairs[{last, token}];
      last = token;
    }
    for (int a : {0, 1}) {
      for (int b : {0, 1})
        EXPECT_NEAR((pairs[{a, b}]), draws / 4, 6 * std::sqrt(draws * 0.25 * 0.75)) << a << b << by_seed;
    }
  }
}

TEST(SamplerDistribution, AVeryHighTemperatureFlattensTheOpenAiOrderButNotTheLlamaCppOrder) {
  const auto logits = random_logits(9, 2000, 3);
  SamplingParams params;
  params.temperature = 1e6;
  params.top_k = 0;
  params.top_p = 0.95;
  params.min_p = 0.05;
  const auto flat = distribution(logits, params);
  EXPECT_EQ(flat.size(), 1900u);  // top-p of equal probabilities: 95 % of the tokens
  params.order = SamplerOrder::kLlamaCpp;
  params.top_k = 40;
  const auto cut = distribution(logits, params);
  SamplingParams at_one = params;
  at_one.temperature = 1;
  EXPECT_EQ(cut.size(), distribution(logits, at_one).size());
  EXPECT_LE(cut.size(), 40u);
  for (auto [token, p] : cut) EXPECT_NEAR(p, 1.0 / cut.size(), 1e-5) << token;
}

TEST(SamplerDistribution, EqualTokensAreCutFromTheHighestIdDown) {
  std::vector<float> logits(1000, -5);
  for (size_t i : {900u, 500u, 700u, 300u}) logits[i] = 2;
  SamplingParams params;
  params.temperature = 0.01;  // what is not at the top has no weight
  params.top_k = 2;
  EXPECT_EQ(distribution(logits, params), (std::map<TokenId, double>{{300, 0.5}, {500, 0.5}}));
  params.top_k = 0;
  params.top_p = 0.6;
  EXPECT_EQ(distribution(logits, params).size(), 3u);
  EXPECT_EQ(distribution(logits, params).count(900), 0u);
  params.temperature = 0;
  EXPECT_EQ(distribution(logits, params), (std::map<TokenId, double>{{300, 1.0}}));
}

TEST(SamplerDistribution, TheEdgesOfEachCutAreWhereTheirDefinitionsPutThem) {
  // Probabilities 0.5, 0.25, 0.125, 0.125.
  const std::vector<float> logits = {std::log(4.0f), std::log(2.0f), 0, 0};
  auto left = [&](auto set) {
    SamplingParams params;
    set(params);
    return distribution(logits, params).size();
  };
  EXPECT_EQ(left([](auto& p) { p.top_k = 4; }), 4u);
  EXPECT_EQ(left([](auto& p) { p.top_k = 1000; }), 4u);
  EXPECT_EQ(left([](auto& p) { p.top_k = 3; }), 3u);
  EXPECT_EQ(left([](auto& p) { p.top_p = 1e-9; }), 1u);
  EXPECT_EQ(left([](auto& p) { p.top_p = 0.499; }), 1u);
  EXPECT_EQ(left([](auto& p) { p.top_p = 0.501; }), 2u);
  EXPECT_EQ(left([](auto& p) { p.top_p = 0.9999; }), 4u);
  EXPECT_EQ(left([](auto& p) { p.min_p = 1; }), 1u);
  EXPECT_EQ(left([](auto& p) { p.min_p = 0.501; }), 1u);
  EXPECT_EQ(left([](auto& p) { p.min_p = 0.499; }), 2u);
  EXPECT_EQ(left([](auto& p) { p.min_p = 0.249; }), 4u);
  EXPECT_EQ(left([](auto& p) { p.typical_p = 1e-9; }), 1u);
}

TEST(SamplerDistribution, XtcRemovesTheTopChoicesButTheLastAsOftenAsAsked) {
  const auto logits = random_logits(13, 300, 3);
  SamplingParams params;
  double margin = 1;
  const auto plain = reference_distribution(logits, params, margin);
  std::vector<std::pair<double, TokenId>> likely;  // those XTC may remove, least likely first
  for (auto [token, p] : plain) {
    if (p >= 0.02) likely.push_back({p, token});
  }
  std::sort(likely.begin(), likely.end());
  ASSERT_GE(likely.size(), 3u);
  params.xtc_probability = 0.3;
  params.xtc_threshold = 0.02;
  int removed = 0;
  const int draws = 1000;
  auto sampler = Sampler::make(params, 300, {});
  for (int i = 0; i < draws; ++i) {
    ASSERT_TRUE(sampler->sample(logits, {}, i).ok());
    const auto left = last_distribution(*sampler);
    if (left.size() == plain.size()) continue;
    ++removed;
    ASSERT_EQ(left.size(), plain.size() - likely.size() + 1);
    ASSERT_EQ(left.count(likely[0].second), 1u);
    ASSERT_EQ(left.count(likely[1].second), 0u);
  }
  EXPECT_NEAR(removed, draws * 0.3, 6 * std::sqrt(draws * 0.3 * 0.7));
}

}  // namespace
}  // namespace inferens::sampler_test
