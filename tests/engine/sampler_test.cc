// Sampling as users meet it: which token comes, what each setting does to it, and what is refused.
#include "engine/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "sampler_reference.h"

namespace inferens::sampler_test {
namespace {

using testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::unique_ptr<Sampler> make(const SamplingParams& params, const std::vector<float>& logits) {
  return Sampler::make(params, static_cast<int32_t>(logits.size()), {});
}

TokenId draw(const SamplingParams& params, const std::vector<float>& logits, std::vector<uint32_t> allowed = {}) {
  auto token = make(params, logits)->sample(logits, allowed, 0);
  EXPECT_TRUE(token.ok()) << token.status().to_string();
  return token.ok() ? token->token : -1;
}

SamplingParams greedy() {
  SamplingParams params;
  params.temperature = 0;
  return params;
}

TEST(Sampler, TemperatureZeroGivesTheMostLikelyTokenAndTheLowerOneOfEquals) {
  for (size_t n : {1u, 5u, 255u, 256u, 257u, 1000u, 151936u}) {
    auto logits = random_logits(n, n, 3);
    logits[n - 1] = 50;
    EXPECT_EQ(draw(greedy(), logits), static_cast<TokenId>(n - 1));
    logits[n / 3] = 50;
    EXPECT_EQ(draw(greedy(), logits), static_cast<TokenId>(n / 3));
  }
}

TEST(Sampler, TheSameSeedAndPositionGiveTheSameTokenWhateverWasDrawnBefore) {
  SamplingParams params;
  params.top_p = 0.9;
  params.xtc_probability = 0.5;
  params.seed = 42;
  const auto logits = random_logits(1, 5000, 2);
  std::vector<TokenId> forwards, backwards;
  auto a = make(params, logits);
  for (int64_t p = 0; p < 100; ++p) forwards.push_back(a->sample(logits, {}, p)->token);
  auto b = make(params, logits);
  for (int64_t p = 99; p >= 0; --p) {
    ASSERT_TRUE(b->sample(random_logits(static_cast<uint64_t>(p), 5000, 9), {}, p + 1).ok());  // other work in between
    backwards.push_back(b->sample(logits, {}, p)->token);
  }
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_EQ(forwards, backwards);
  params.seed = 43;
  std::vector<TokenId> other;
  auto c = make(params, logits);
  for (int64_t p = 0; p < 100; ++p) other.push_back(c->sample(logits, {}, p)->token);
  EXPECT_NE(forwards, other);
}

TEST(Sampler, ATokenOutsideTheGrammarNeverComes) {
  RandomSequence random(3);
  for (size_t vocab : {31u, 32u, 33u, 1000u, 70001u}) {
    const auto logits = random_logits(vocab, vocab, 3);
    std::vector<uint32_t> allowed((vocab + 31) / 32);
    TokenId best = -1;
    for (size_t i = 0; i < vocab; ++i) {
      if (random.below(7) != 0) continue;
      allowed[i / 32] |= uint32_t{1} << (i % 32);
      if (best < 0 || logits[i] > logits[static_cast<size_t>(best)]) best = static_cast<TokenId>(i);
    }
    EXPECT_EQ(draw(greedy(), logits, allowed), best);
    for (SamplerOrder order : {SamplerOrder::kOpenAi, SamplerOrder::kLlamaCpp}) {
      SamplingParams params;
      params.order = order;
      params.temperature = 2;
      params.top_k = order == SamplerOrder::kLlamaCpp ? 40 : 0;
      auto sampler = make(params, logits);
      for (int64_t p = 0; p < 50; ++p) {
        auto token = sampler->sample(logits, allowed, p);
        ASSERT_TRUE(token.ok());
        ASSERT_TRUE(allowed[static_cast<size_t>(token->token) / 32] >> (token->token % 32) & 1);
      }
    }
  }
}

TEST(Sampler, DamagedLogitsEndTheRequestWithAnErrorAndNotWithAToken) {
  for (size_t at : {0u, 255u, 299u}) {
    for (float bad : {kNan, kInf}) {
      auto logits = random_logits(1, 300, 1);
      logits[at] = bad;
      auto token = make(greedy(), logits)->sample(logits, {}, 17);
      ASSERT_FALSE(token.ok());
      EXPECT_EQ(token.status().code(), StatusCode::kInternal);
      EXPECT_THAT(token.status().message(), HasSubstr("position 17"));
    }
  }
}

TEST(Sampler, WhenNothingMayBeChosenTheRequestEndsWithAnError) {
  const std::vector<float> none(300, -kInf);
  EXPECT_EQ(make(greedy(), none)->sample(none, {}, 3).status().code(), StatusCode::kFailedPrecondition);
  const auto logits = random_logits(1, 300, 1);
  const std::vector<uint32_t> nothing(10, 0);
  SamplingParams params;
  EXPECT_EQ(make(params, logits)->sample(logits, nothing, 3).status().code(), StatusCode::kFailedPrecondition);
  for (TokenId t = 0; t < 300; ++t) params.logit_bias[t] = -100;
  EXPECT_EQ(make(params, logits)->sample(logits, {}, 3).status().code(), StatusCode::kFailedPrecondition);
}

TEST(Sampler, RowsOfAnotherSizeAreRefused) {
  const auto logits = random_logits(1, 300, 1);
  EXPECT_EQ(Sampler::make({}, 301, {})->sample(logits, {}, 0).status().code(), StatusCode::kInternal);
  EXPECT_EQ(Sampler::make({}, 300, {})->sample(logits, std::vector<uint32_t>(9), 0).status().code(),
            StatusCode::kInternal);
}

TEST(Sampler, LogitBiasBansForcesAndShifts) {
  std::vector<float> logits = {3, 2, 1, 0};
  SamplingParams params = greedy();
  params.logit_bias = {{0, -100}};
  EXPECT_EQ(draw(params, logits), 1);
  params.logit_bias = {{0, -std::numeric_limits<double>::infinity()}, {1, -1e300}};
  EXPECT_EQ(draw(params, logits), 2);
  params.logit_bias = {{3, 100}};
  EXPECT_EQ(draw(params, logits), 3);
  params.logit_bias = {{3, 1e300}};
  EXPECT_EQ(draw(params, logits), 3);
  params = {};
  params.logit_bias = {{0, -1}, {2, 1}};
  const auto shifted = distribution(logits, params);
  EXPECT_NEAR(shifted.at(0), shifted.at(1), 1e-12);
  EXPECT_NEAR(shifted.at(0), shifted.at(2), 1e-12);
}

TEST(Sampler, APenaltyCountsWhatItIsDefinedOver) {
  const std::vector<float> logits = {2, 2, -2, 2, 2};
  SamplingParams params;
  params.repetition_penalty = 2;
  params.presence_penalty = 0.5;
  params.frequency_penalty = 0.25;
  auto sampler = make(params, logits);
  sampler->accept_prompt(std::vector<TokenId>{0, 2});
  for (TokenId t : {1, 3, 3, 3}) sampler->accept(t);
  ASSERT_TRUE(sampler->sample(logits, {}, 6).ok());
  const auto p = last_distribution(*sampler);
  // Token 4 was not seen. Repetition looks at the prompt as well; presence and frequency only at the output.
  auto logit = [&](TokenId t) { return 2 + std::log(p.at(t) / p.at(4)); };
  EXPECT_NEAR(logit(0), 1, 1e-6);
  EXPECT_NEAR(logit(1), 1 - 0.5 - 0.25, 1e-6);
  EXPECT_NEAR(logit(2), -4, 1e-6);
  EXPECT_NEAR(logit(3), 1 - 0.5 - 0.75, 1e-6);
}

TEST(Sampler, ARepetitionWindowForgetsOlderTokens) {
  const std::vector<float> logits(10, 1.0f);
  for (int32_t window : {0, 1, 3, 4, 100, -1}) {
    SamplingParams params;
    params.repetition_penalty = 2;
    params.penalty_window = window;
    auto sampler = make(params, logits);
    std::vector<TokenId> history = {0, 1, 2, 1};
    sampler->accept_prompt(history);
    for (TokenId t : {3, 3, 4, 0}) {
      sampler->accept(t);
      history.push_back(t);
      ASSERT_TRUE(sampler->sample(logits, {}, 0).ok());
      const auto p = last_distribution(*sampler);
      const size_t seen = window < 0 ? history.size() : std::min(history.size(), static_cast<size_t>(window));
      for (TokenId token = 0; token < 9; ++token) {
        const bool repeated =
            std::find(history.end() - static_cast<std::ptrdiff_t>(seen), history.end(), token) != history.end();
        EXPECT_NEAR(p.at(token) / p.at(9), repeated ? std::exp(-0.5) : 1, 1e-6)
            << "window " << window << " token " << token;
      }
    }
  }
}

// The DRY penalty of every token by its definition: for each earlier place, how long a repetition the token would
// continue.
std::vector<double> dry_by_definition(const SamplingParams& p, const std::vector<TokenId>& all,
                                      const std::vector<std::vector<TokenId>>& breakers, size_t vocab) {
  const size_t n = p.dry_window < 0 ? all.size() : std::min(all.size(), static_cast<size_t>(p.dry_window));
  const std::vector<TokenId> window(all.end() - static_cast<std::ptrdiff_t>(n), all.end());
  size_t since = n;  // tokens after the last breaker that ends in the sequence
  for (size_t end = all.size(); end > 0; --end) {
    bool found = false;
    for (auto& b : breakers)
      found = found || (b.size() <= end &&
                        std::equal(b.begin(), b.end(), all.begin() + static_cast<std::ptrdiff_t>(end - b.size())));
    if (found) {
      since = std::min(n, all.size() - end);
      break;
    }
  }
  std::vector<double> penalty(vocab, 0);
  for (size_t place = 0; place < n; ++place) {  // window[place] is what came next there
    size_t length = 0;
    while (length < place && window[place - 1 - length] == window[n - 1 - length]) ++length;
    length = std::min(length, since);
    const auto allowed = static_cast<size_t>(p.dry_allowed_length);
    if (n <= allowed || length < allowed) continue;
    const auto token = static_cast<size_t>(window[place]);
    penalty[token] =
        std::max(penalty[token], p.dry_multiplier * std::pow(p.dry_base, static_cast<double>(length - allowed)));
  }
  for (auto& b : breakers) {
    if (b.size() == 1) penalty[static_cast<size_t>(b[0])] = 0;
  }
  return penalty;
}

TEST(Sampler, DryPenalizesExactlyTheTokensThatLengthenARepetition) {
  RandomSequence random(8);
  constexpr size_t kVocab = 8;  // token 7 never comes and is the measure
  const std::vector<float> logits(kVocab, 0.0f);
  int penalized = 0;
  for (int round = 0; round < 300; ++round) {
    SamplingParams params;
    params.dry_multiplier = 0.01;
    params.dry_base = 1.05;
    params.dry_allowed_length = static_cast<int32_t>(1 + random.below(3));
    params.dry_window = random.below(2) ? -1 : static_cast<int32_t>(1 + random.below(60));
    std::vector<std::vector<TokenId>> breakers;
    if (random.below(2)) breakers = {{5}, {0, 4}, {1, 1, 1}};
    const uint64_t alphabet = 1 + random.below(7);
    auto sampler = Sampler::make(params, kVocab, breakers);
    std::vector<TokenId> history;
    for (uint64_t i = random.below(40); i > 0; --i) history.push_back(static_cast<TokenId>(random.below(alphabet)));
    sampler->accept_prompt(history);
    for (int step = 0; step < 40; ++step) {
      ASSERT_TRUE(sampler->sample(logits, {}, step).ok());
      const auto p = last_distribution(*sampler);
      const auto expected = dry_by_definition(params, history, breakers, kVocab);
      for (TokenId t = 0; t < 7; ++t) {
        ASSERT_NEAR(-std::log(p.at(t) / p.at(7)), expected[static_cast<size_t>(t)], 1e-6)
            << "round " << round << " step " << step;
        penalized += expected[static_cast<size_t>(t)] > 0;
      }
      history.push_back(static_cast<TokenId>(random.below(alphabet)));
      sampler->accept(history.back());
    }
  }
  EXPECT_GT(penalized, 1000);
}

TEST(Sampler, DryStaysFiniteAndQuickWhenTheTextIsOneTokenForEver) {
  SamplingParams params = greedy();
  params.dry_multiplier = 0.8;
  params.dry_window = 5000;
  std::vector<float> logits(100, 0.0f);
  logits[3] = 1000;
  auto sampler = make(params, logits);
  sampler->accept_prompt(std::vector<TokenId>(100000, 3));
  EXPECT_EQ(sampler->sample(logits, {}, 0)->token, 0);
}

TEST(Sampler, MirostatHoldsTheSurpriseNearItsTarget) {
  std::vector<float> zipf(3000);
  for (size_t i = 0; i < zipf.size(); ++i) zipf[i] = static_cast<float>(-1.1 * std::log(i + 1.0));
  for (double tau : {2.0, 3.0, 5.0}) {
    SamplingParams params;
    params.mirostat = 2;
    params.mirostat_tau = tau;
    params.seed = 5;
    auto sampler = make(params, zipf);
    double sum = 0;
    const int steps = 3000, settled = 500;
    for (int i = 0; i < steps; ++i) {
      auto token = sampler->sample(zipf, {}, i);
      ASSERT_TRUE(token.ok());
      EXPECT_EQ(sampler->sample(zipf, {}, i)->token, token->token);  // asking again changes nothing
      if (i >= settled) {
        for (auto [t, p] : sampler->last_distribution(zipf.size())) {
          if (t == token->token) sum -= std::log2(p);
        }
      }
      sampler->accept(token->token);
    }
    EXPECT_NEAR(sum / (steps - settled), tau, 0.05) << "tau " << tau;
  }
}

TEST(Sampler, LogprobsAreOfTheModelAndNotOfTheSampler) {
  const auto logits = random_logits(4, 3000, 3);
  double sum = 0;
  for (float v : logits) sum += std::exp(static_cast<double>(v));
  SamplingParams params;
  params.temperature = 0.5;
  params.top_k = 3;
  params.logit_bias = {{17, 30}};
  params.repetition_penalty = 3;
  auto sampler = make(params, logits);
  sampler->accept_prompt(std::vector<TokenId>{18, 19});
  auto token = sampler->sample(logits, {}, 0);
  ASSERT_TRUE(token.ok());
  EXPECT_EQ(token->token, 17);
  EXPECT_NEAR(token->logprob, logits[17] - std::log(sum), 2e-6);
}

TEST(TopLogprobs, AreTheMostLikelyTokensWithTrueLogprobsAndTheRankOfTheChosen) {
  for (size_t vocab : {4u, 300u, 20000u}) {
    const auto logits = random_logits(vocab, vocab, 3);
    std::vector<TokenId> order(vocab);
    for (size_t i = 0; i < vocab; ++i) order[i] = static_cast<TokenId>(i);
    auto logit = [&](TokenId t) { return static_cast<double>(logits[static_cast<size_t>(t)]); };
    std::sort(order.begin(), order.end(), [&](TokenId a, TokenId b) { return logit(a) > logit(b); });
    double sum = 0;
    for (float v : logits) sum += std::exp(static_cast<double>(v));
    for (int32_t k : {0, 1, 3, 20, 500}) {
      const TokenId chosen = order[vocab / 2];
      const auto result = top_logprobs(logits, chosen, k);
      EXPECT_EQ(result.chosen.token, chosen);
      EXPECT_EQ(result.rank, static_cast<int32_t>(vocab / 2 + 1));
      EXPECT_NEAR(result.chosen.logprob, logit(chosen) - std::log(sum), 4e-6);
      ASSERT_EQ(result.top.size(), std::min<size_t>(static_cast<size_t>(k), vocab));
      for (size_t i = 0; i < result.top.size(); ++i) {
        EXPECT_EQ(result.top[i].token, order[i]);
        EXPECT_NEAR(result.top[i].logprob, logit(order[i]) - std::log(sum), 4e-6);
      }
    }
  }
}

TEST(TopLogprobs, OfEqualTokensTheLowerComesFirstAndImpossibleOnesNotAtAll) {
  const std::vector<float> logits = {-kInf, 1, 2, 2, 1, -kInf};
  const auto result = top_logprobs(logits, 3, 6);
  std::vector<TokenId> tokens;
  double sum = 0;
  for (auto& t : result.top) {
    tokens.push_back(t.token);
    sum += std::exp(static_cast<double>(t.logprob));
  }
  EXPECT_EQ(tokens, (std::vector<TokenId>{2, 3, 1, 4}));
  EXPECT_EQ(result.rank, 2);
  EXPECT_NEAR(sum, 1, 1e-6);  // probabilities, and of everything: never over 100 %
  EXPECT_EQ(top_logprobs(logits, 0, 1).chosen.logprob, -kInf);
}

TEST(ValidateSampling, NamesTheFieldItsValueAndWhatIsAllowed) {
  using Set = std::function<void(SamplingParams&)>;
  const double nan = std::nan("");
  const std::vector<std::pair<std::string, Set>> wrong = {
      {"temperature is -0.5", [](auto& p) { p.temperature = -0.5; }},
      {"temperature is nan", [=](auto& p) { p.temperature = nan; }},
      {"temperature is inf", [](auto& p) { p.temperature = HUGE_VAL; }},
      {"top_k is -1", [](auto& p) { p.top_k = -1; }},
      {"top_p is 0", [](auto& p) { p.top_p = 0; }},
      {"top_p is 1.5", [](auto& p) { p.top_p = 1.5; }},
      {"top_p is nan", [=](auto& p) { p.top_p = nan; }},
      {"min_p is -0.1", [](auto& p) { p.min_p = -0.1; }},
      {"min_p is 1.1", [](auto& p) { p.min_p = 1.1; }},
      {"typical_p is 0", [](auto& p) { p.typical_p = 0; }},
      {"repetition_penalty is 0", [](auto& p) { p.repetition_penalty = 0; }},
      {"repetition_penalty is inf", [](auto& p) { p.repetition_penalty = HUGE_VAL; }},
      {"presence_penalty is 2.5", [](auto& p) { p.presence_penalty = 2.5; }},
      {"presence_penalty is nan", [=](auto& p) { p.presence_penalty = nan; }},
      {"frequency_penalty is -3", [](auto& p) { p.frequency_penalty = -3; }},
      {"penalty_window is -2", [](auto& p) { p.penalty_window = -2; }},
      {"dry_multiplier is -1", [](auto& p) { p.dry_multiplier = -1; }},
      {"dry_base is 0.5", [](auto& p) { p.dry_base = 0.5; }},
      {"dry_allowed_length is -1", [](auto& p) { p.dry_allowed_length = -1; }},
      {"dry_window is -5", [](auto& p) { p.dry_window = -5; }},
      {"xtc_probability is 2", [](auto& p) { p.xtc_probability = 2; }},
      {"xtc_threshold is 0", [](auto& p) { p.xtc_threshold = 0; }},
      {"mirostat is 1", [](auto& p) { p.mirostat = 1; }},
      {"mirostat_tau is -1", [](auto& p) { p.mirostat_tau = -1; }},
      {"mirostat_eta is nan", [=](auto& p) { p.mirostat_eta = nan; }},
      {"logit_bias names token 100", [](auto& p) { p.logit_bias[100] = 1; }},
      {"logit_bias names token -1", [](auto& p) { p.logit_bias[-1] = 1; }},
      {"logit_bias of token 5 is nan", [=](auto& p) { p.logit_bias[5] = nan; }},
      {"mirostat chooses its own cut", [](auto& p) { p.mirostat = 2, p.top_k = 40; }},
  };
  EXPECT_TRUE(validate_sampling({}, 100).ok());
  for (auto& [message, set] : wrong) {
    SamplingParams params;
    set(params);
    const Status status = validate_sampling(params, 100);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << message;
    EXPECT_THAT(status.message(), HasSubstr(message));
  }
  SamplingParams llama_cpp;
  llama_cpp.order = SamplerOrder::kLlamaCpp;
  llama_cpp.mirostat = 2;
  llama_cpp.top_k = 40;  // a default of its clients
  EXPECT_TRUE(validate_sampling(llama_cpp, 100).ok());
}

}  // namespace
}  // namespace inferens::sampler_test
