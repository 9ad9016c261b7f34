// Contract 1: a request's tokens and logprobs depend on the request only. The same requests alone, together, in tiny
// chunks, preempted, with prefix hits and with several choices.
#include <gtest/gtest.h>

#include "harness.h"

namespace inferens::testing {
namespace {

struct Case {
  const char* name;
  std::vector<int32_t> windows;
};

class SameBytes : public ::testing::TestWithParam<Case> {
 protected:
  SameBytes() { model_.windows = GetParam().windows; }

  // Prompts that share beginnings, some within a page, with all ways of choosing tokens.
  std::vector<TokenizedRequest> requests(uint64_t seed, int count, int64_t longest) {
    RandomSequence random(seed);
    const std::vector<TokenId> shared = random_prompt(random, longest);
    std::vector<TokenizedRequest> out;
    for (int i = 0; i < count; ++i) {
      std::vector<TokenId> prompt(shared.begin(), shared.begin() + random.between(0, longest));
      const auto own = random_prompt(random, random.between(1, longest / 2));
      prompt.insert(prompt.end(), own.begin(), own.end());
      TokenizedRequest r =
          make_request(static_cast<RequestId>(i + 1), std::move(prompt), static_cast<int32_t>(random.between(1, 90)));
      r.params.sampling.temperature = i % 3 == 0 ? 0.0 : 1.0;
      r.params.sampling.seed = random.next();
      r.params.sampling.presence_penalty = i % 4 == 1 ? 0.5 : 0;
      r.params.n = i % 5 == 2 ? 3 : 1;
      r.params.prompt_logprobs = i % 7 == 3 ? 1 : -1;
      r.params.stop_token_ids = {static_cast<TokenId>(random.below(40))};
      r.params.min_tokens = std::min(r.max_tokens, static_cast<int32_t>(random.between(0, 20)));
      r.params.scheduling_class = static_cast<SchedulingClass>(random.below(4));
      out.push_back(std::move(r));
    }
    return out;
  }

  void expect_same(const std::vector<TokenizedRequest>& list, Harness& h) {
    for (const TokenizedRequest& r : list) {
      EXPECT_EQ(fingerprint(h.outcomes[r.id]), alone(model_, r)) << "request " << r.id;
    }
  }

  FakeModelOptions model_;
};

TEST_P(SameBytes, TogetherAsAlone) {
  const auto list = requests(1, 24, 300);
  const EngineOptions options = with_pages(std::vector<int32_t>(model_.windows.size(), 2000));
  Harness h(model_, options);
  for (const auto& r : list) ASSERT_TRUE(h.submit(r).ok());
  h.finish();
  EXPECT_GT(h.stats().cached_tokens, 0);
  expect_same(list, h);
}

TEST_P(SameBytes, InTinyChunks) {
  const auto list = requests(2, 16, 300);
  EngineOptions options = with_pages(std::vector<int32_t>(model_.windows.size(), 2000));
  options.scheduler.max_step_tokens = 17;
  Harness h(model_, options);
  for (const auto& r : list) ASSERT_TRUE(h.submit(r).ok());
  h.finish();
  expect_same(list, h);
}

TEST_P(SameBytes, PreemptedByATinyPool) {
  const auto list = requests(3, 24, 300);
  // One longest request alone (450 + 90 tokens) needs 9 pages.
  EngineOptions options = with_pages(std::vector<int32_t>(model_.windows.size(), 10));
  options.scheduler.output_reserve = 1;
  Harness h(model_, options);
  for (const auto& r : list) ASSERT_TRUE(h.submit(r).ok());
  h.finish();
  EXPECT_GT(h.stats().scheduler.preemptions, 2);
  EXPECT_GT(h.stats().prefix.evicted_pages, 5);
  expect_same(list, h);
}

TEST_P(SameBytes, AfterPrefixHits) {
  const auto list = requests(4, 20, 400);
  const EngineOptions options = with_pages(std::vector<int32_t>(model_.windows.size(), 2000));
  Harness h(model_, options);
  for (int round = 0; round < 2; ++round) {
    for (TokenizedRequest r : list) {
      r.id += static_cast<RequestId>(round) * 1000;
      ASSERT_TRUE(h.submit(r).ok());
      h.finish();
    }
  }
  for (const auto& r : list) {
    const std::string expected = alone(model_, r);
    EXPECT_EQ(fingerprint(h.outcomes[r.id]), expected);
    EXPECT_EQ(fingerprint(h.outcomes[r.id + 1000]), expected);
    // The second time all but the last token is there, unless the prompt's logits were asked for.
    const Outcome& again = h.outcomes[r.id + 1000];
    EXPECT_EQ(again.usage.cached_tokens, r.params.prompt_logprobs >= 0 ? 0 : again.usage.prompt_tokens - 1);
  }
}

TEST_P(SameBytes, TheFirstOfSeveralChoicesIsTheOnlyOneAndTheOthersDiffer) {
  TokenizedRequest r = requests(6, 1, 300)[0];
  r.max_tokens = 40;
  r.params.sampling.temperature = 1;
  r.params.stop_token_ids = {};
  r.params.min_tokens = 0;
  const EngineOptions options = with_pages(std::vector<int32_t>(model_.windows.size(), 200));
  std::vector<Outcome> outcomes;
  for (const int32_t n : {1, 4}) {
    r.params.n = n;
    Harness h(model_, options);
    ASSERT_TRUE(h.submit(r).ok());
    h.finish();
    outcomes.push_back(h.outcomes[r.id]);
  }
  ASSERT_EQ(outcomes[1].choices.size(), 4U);
  EXPECT_EQ(outcomes[1].choices[0].tokens, outcomes[0].choices[0].tokens);
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NE(outcomes[1].choices[i].tokens, outcomes[1].choices[j].tokens);
  }
}

TEST_P(SameBytes, WithStrangersCancelledBeside) {
  const auto list = requests(5, 30, 300);
  EngineOptions options = with_pages(std::vector<int32_t>(model_.windows.size(), 40));
  Harness h(model_, options);
  RandomSequence random(9);
  for (const auto& r : list) ASSERT_TRUE(h.submit(r).ok());
  for (int i = 0; i < 200 && !h.core->idle(); ++i) {
    h.step();
    if (i % 3 == 0) h.core->cancel(static_cast<RequestId>(random.between(1, 15)) * 2);  // the even ones
  }
  h.finish();
  for (const auto& r : list) {
    if (r.id % 2 == 1) {
      EXPECT_EQ(fingerprint(h.outcomes[r.id]), alone(model_, r));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, SameBytes,
                         ::testing::Values(Case{"Full", {0}}, Case{"FullAndWindow", {0, 96}}, Case{"WindowOnly", {130}},
                                           Case{"ThreeGroups", {64, 0, 200}}),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace
}  // namespace inferens::testing
