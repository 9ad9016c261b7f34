// When answers come: budgets in milliseconds, classes, fairness between keys, ageing, memory. On a fake clock.
#include <gtest/gtest.h>

#include "harness.h"

namespace inferens::testing {
namespace {

RandomSequence& dice() {
  thread_local RandomSequence random(11);
  return random;
}

TokenizedRequest chat(RequestId id, int64_t prompt, int32_t out, SchedulingClass c = SchedulingClass::kChat,
                      const std::string& key = "") {
  TokenizedRequest r = make_request(id, random_prompt(dice(), prompt), out);
  r.params.scheduling_class = c;
  r.params.api_key_id = key;
  r.params.logprobs = -1;
  return r;
}

EngineOptions roomy() {
  return with_pages({4000});
}

// 5 ms to read the weights, 0.2 ms a token: 5,000 tokens of prompt take a second.
FakeModelOptions machine() {
  FakeModelOptions m;
  m.context = 40000;
  auto noise = std::make_shared<RandomSequence>(5);
  m.noise = [noise] { return 0.9 + 0.2 * noise->uniform(); };
  return m;
}

// Lets the cost model see steps of all kinds.
void warm_up(Harness& h) {
  for (RequestId id = 900; id < 904; ++id) ASSERT_TRUE(h.submit(chat(id, 500, 30)).ok());
  h.finish();
}

TEST(Scheduler, ALongPromptFreezesNobody) {
  Harness h(machine(), roomy());
  warm_up(h);
  ASSERT_TRUE(h.submit(chat(1, 20, 400)).ok());
  for (int i = 0; i < 20; ++i) h.step();
  ASSERT_TRUE(h.submit(chat(2, 10'000, 4)).ok());
  for (int i = 0; i < 20; ++i) h.step();
  const EngineStats before = h.stats();
  const Nanos begin = h.clock.now();
  ASSERT_TRUE(h.submit(chat(3, 30, 4)).ok());
  double longest = 0;
  while (!h.outcomes[3].ended) {
    const Nanos t = h.clock.now();
    h.step();
    longest = std::max(longest, to_ms(h.clock.now() - t));
  }
  EXPECT_FALSE(h.outcomes[2].ended);
  EXPECT_LT(to_ms(h.outcomes[3].timings.ttft), 100);
  EXPECT_LT(longest, SchedulerOptions().targets[1].gap_ms * 1.3) << "a step longer than the chat's gap";
  EXPECT_LT(to_ms(h.clock.now() - begin), 500);
  // The stream kept at least half of its speed beside the prefill: 5.2 ms a token alone.
  EXPECT_GT(static_cast<double>(h.stats().generated_tokens - before.generated_tokens),
            0.4 * to_ms(h.clock.now() - begin) / 5.4);
  h.core->cancel_all();
  h.expect_all_back();
}

TEST(Scheduler, StepsKeepTheirBudgetOnceTheirCostIsKnown) {
  Harness h(machine(), roomy());
  warm_up(h);
  for (RequestId id = 1; id <= 40; ++id) ASSERT_TRUE(h.submit(chat(id, dice().between(10, 2000), 50)).ok());
  int64_t over = h.stats().over_budget_steps;
  const int64_t steps = h.stats().steps;
  h.finish();
  over = h.stats().over_budget_steps - over;
  EXPECT_LT(static_cast<double>(over), 0.02 * static_cast<double>(h.stats().steps - steps));
}

TEST(Scheduler, AnIdleMachineTakesLargeChunks) {
  Harness h(machine(), roomy());
  warm_up(h);
  const int64_t steps = h.stats().steps;
  ASSERT_TRUE(h.submit(chat(1, 5000, 1)).ok());
  h.finish();
  EXPECT_LE(h.stats().steps - steps, 10);  // 200 ms each
}

TEST(Scheduler, OneStreamDoesNotHoldUpTheManyWhoWaitForTheirFirstToken) {
  // One streams, nineteen wait with 900 tokens each: the machine is theirs up to the stream's promised gap. A machine
  // that gave the one half of its steps would need twice as long for all of them.
  Harness h(machine(), roomy());
  warm_up(h);
  ASSERT_TRUE(h.submit(chat(1, 20, 4000)).ok());
  for (int i = 0; i < 20; ++i) h.step();
  const Nanos begin = h.clock.now();
  for (RequestId id = 2; id <= 20; ++id) ASSERT_TRUE(h.submit(chat(id, 900, 1)).ok());
  double longest = 0;
  while (h.stats().ended_length < 4 + 19) {
    const Nanos t = h.clock.now();
    h.step();
    longest = std::max(longest, to_ms(h.clock.now() - t));
  }
  EXPECT_LT(longest, SchedulerOptions().targets[1].gap_ms * 1.3);
  const double prefill_ms = 19 * 900 * 0.2;
  EXPECT_LT(to_ms(h.clock.now() - begin), 1.25 * prefill_ms);
  h.core->cancel_all();
}

TEST(Scheduler, AStreamKeepsHalfItsSpeedBesideAPromptThatFillsTheContext) {
  // Where a single tile of prompt costs more than the stream's share of a step leaves, whole steps are left to it.
  FakeModelOptions slow = machine();
  slow.attended_ms = 2e-4;  // at 20,000 tokens of context a token costs 4 ms: a tile of 16 costs 67
  Harness h(slow, roomy());
  warm_up(h);
  ASSERT_TRUE(h.submit(chat(1, 20, 15'000)).ok());
  ASSERT_TRUE(h.submit(chat(2, 24'000, 1)).ok());
  while (h.fake->tokens_computed < 22'000) h.step();
  const Nanos begin = h.clock.now();
  const auto before = h.stats();
  double longest = 0;
  for (int i = 0; i < 400; ++i) {
    const Nanos t = h.clock.now();
    h.step();
    longest = std::max(longest, to_ms(h.clock.now() - t));
  }
  const double tokens = static_cast<double>(h.stats().generated_tokens - before.generated_tokens);
  const double alone = to_ms(h.clock.now() - begin) / 5.5;
  EXPECT_GT(tokens, 0.4 * alone);
  EXPECT_LT(longest, SchedulerOptions().targets[1].gap_ms * 1.3);
  EXPECT_GT(h.stats().prefill_tokens - before.prefill_tokens, 100) << "and the prompt goes on";
  h.core->cancel_all();
}

TEST(Scheduler, VoiceGoesBeforeBatch) {
  Harness h(machine(), roomy());
  warm_up(h);
  for (RequestId id = 1; id <= 10; ++id) ASSERT_TRUE(h.submit(chat(id, 3000, 10, SchedulingClass::kBatch)).ok());
  h.step();
  ASSERT_TRUE(h.submit(chat(50, 100, 5, SchedulingClass::kVoice)).ok());
  while (!h.outcomes[50].ended) h.step();
  EXPECT_LT(to_ms(h.outcomes[50].timings.ttft), 250);
  h.finish();
}

TEST(Scheduler, AKeyWithManyRequestsDoesNotStarveAKeyWithOne) {
  Harness h(machine(), roomy());
  warm_up(h);
  for (RequestId id = 1; id <= 30; ++id) ASSERT_TRUE(h.submit(chat(id, 2000, 2, SchedulingClass::kChat, "flood")).ok());
  h.step();
  ASSERT_TRUE(h.submit(chat(50, 2000, 2, SchedulingClass::kChat, "single")).ok());
  while (!h.outcomes[50].ended) h.step();
  // Half of the machine: 0.8 s for 0.4 s of prefill, not the 12 s of all thirty.
  EXPECT_LT(to_ms(h.outcomes[50].timings.ttft), 1500);
  h.finish();
}

TEST(Scheduler, AShortPromptPassesALongOneOfTheSameKey) {
  Harness h(machine(), roomy());
  warm_up(h);
  ASSERT_TRUE(h.submit(chat(1, 20'000, 2)).ok());
  for (int i = 0; i < 5; ++i) h.step();
  ASSERT_TRUE(h.submit(chat(2, 50, 2)).ok());
  while (!h.outcomes[2].ended) h.step();
  EXPECT_LT(to_ms(h.outcomes[2].timings.ttft), 250);
  h.finish();
}

TEST(Scheduler, BatchIsServedInTheEndHoweverMuchChatComes) {
  EngineOptions options = roomy();
  options.scheduler.targets[3].promote_ms = 500;
  options.scheduler.targets[2].promote_ms = 500;
  Harness h(machine(), options);
  warm_up(h);
  ASSERT_TRUE(h.submit(chat(1, 200, 2, SchedulingClass::kBatch)).ok());
  RequestId id = 100;
  // More chat than the machine can do, for ever.
  for (int i = 0; i < 400 && !h.outcomes[1].ended; ++i) {
    while (h.stats().queued_requests < 5) ASSERT_TRUE(h.submit(chat(id++, 1500, 1)).ok());
    h.step();
  }
  EXPECT_TRUE(h.outcomes[1].ended);
  EXPECT_GT(h.stats().scheduler.promotions, 0);
  h.core->cancel_all();
}

TEST(Scheduler, TwentyAtOnceComputeASharedPrefixOnce) {
  Harness h(machine(), roomy());
  warm_up(h);
  const auto shared = random_prompt(dice(), 2000);
  const int64_t computed = h.fake->tokens_computed;
  for (RequestId id = 1; id <= 20; ++id) {
    TokenizedRequest r = chat(id, 20, 4);
    r.prompt.insert(r.prompt.begin(), shared.begin(), shared.end());
    ASSERT_TRUE(h.submit(std::move(r)).ok());
  }
  h.finish();
  EXPECT_LT(h.fake->tokens_computed - computed, 2000 + 20 * (20 + 4) + 200);
  for (RequestId id = 2; id <= 20; ++id) EXPECT_GE(h.outcomes[id].usage.cached_tokens, 2000);
}

TEST(Scheduler, AHigherClassTakesMemoryFromTheNewestOfTheLowest) {
  Harness h(machine(), with_pages({20}));
  ASSERT_TRUE(h.submit(chat(1, 500, 60, SchedulingClass::kBatch)).ok());
  ASSERT_TRUE(h.submit(chat(2, 500, 60, SchedulingClass::kBatch)).ok());
  for (int i = 0; i < 40 && h.stats().generated_tokens < 4; ++i) h.step();
  ASSERT_TRUE(h.submit(chat(3, 600, 10, SchedulingClass::kVoice)).ok());
  while (!h.outcomes[3].ended) h.step();
  EXPECT_FALSE(h.outcomes[1].ended && h.outcomes[2].ended);
  EXPECT_GE(h.stats().scheduler.preemptions, 1);
  h.finish();
  for (RequestId id = 1; id <= 3; ++id) EXPECT_EQ(h.outcomes[id].choices[0].finish, FinishReason::kLength);
}

TEST(Scheduler, DemandForHalfAgainTheMemoryCostsLittleThroughput) {
  // Users who always have one request open: as many as the pool holds, and half again as many. Preempted work is mostly
  // found again.
  const auto tokens_per_second = [](RequestId users) {
    Harness h(machine(), with_pages({16 * 10}));
    RandomSequence random(21);
    RequestId next = 1;
    while (h.stats().ended_length < 150) {
      while (h.stats().live_requests < static_cast<int32_t>(users)) {
        TokenizedRequest r = make_request(next++, random_prompt(random, 300), 300);
        r.params.logprobs = -1;
        EXPECT_TRUE(h.submit(std::move(r)).ok());
      }
      h.step();
    }
    const double speed = static_cast<double>(h.stats().generated_tokens) / to_seconds(h.clock.now());
    h.core->cancel_all();
    return speed;
  };
  EXPECT_GT(tokens_per_second(24), 0.8 * tokens_per_second(16));
}

TEST(CostModel, LearnsTheMachineFromItsSteps) {
  CostModel model;
  RandomSequence random(4);
  const auto truth = [](const StepLoad& l) { return 8 + 0.35 * l.tokens + 0.9 * l.logit_rows + 2e-5 * l.attended; };
  for (int i = 0; i < 300; ++i) {
    StepLoad load =
        span_load(static_cast<int32_t>(random.between(0, 8000)), static_cast<int32_t>(random.between(1, 200)), 1);
    load += span_load(500, static_cast<int32_t>(random.between(1, 20)), static_cast<int32_t>(random.between(1, 20)));
    model.observe(load, truth(load) * (0.95 + 0.1 * random.uniform()));
  }
  for (const int32_t position : {0, 1000, 8000}) {
    const StepLoad load = span_load(position, 128, 1);
    EXPECT_NEAR(model.predict_ms(load), truth(load), 0.1 * truth(load));
    const int32_t tokens = model.tokens_for(50, position);
    EXPECT_NEAR(model.added_ms(span_load(position, tokens, 0)), 50, 1);
  }
}

TEST(CostModel, OneStepThatTheMachineDelayedIsNoNews) {
  CostModel model;
  for (int i = 0; i < 100; ++i) model.observe(span_load(i, 1 + i % 40, 1), 5 + 0.2 * (1 + i % 40));
  const double before = model.predict_ms(span_load(0, 20, 1));
  model.observe(span_load(0, 20, 1), 5000);
  EXPECT_LT(model.predict_ms(span_load(0, 20, 1)), 1.5 * before);
}

TEST(CostModel, ANeighbourWhoTakesHalfTheMachineIsAllowedForWithinSeconds) {
  CostModel model;
  RandomSequence random(4);
  const auto run = [&](double factor, int n) {
    for (int i = 0; i < n; ++i) {
      const StepLoad load = span_load(100, static_cast<int32_t>(random.between(1, 100)), 1);
      model.observe(load, factor * (5 + 0.2 * load.tokens));
    }
  };
  run(1, 200);
  run(2, 12);
  EXPECT_NEAR(model.added_ms(span_load(100, model.tokens_for(20, 100), 0)), 20, 2);
  EXPECT_GT(model.predict_ms(span_load(100, 50, 1)), 1.7 * (5 + 0.2 * 50));
  run(1, 12);  // and when he is gone, the machine is whole again
  EXPECT_LT(model.predict_ms(span_load(100, 50, 1)), 1.2 * (5 + 0.2 * 50));
}

TEST(CostModel, FollowsAMachineThatBecameSlower) {
  CostModel model;
  RandomSequence random(4);
  const auto run = [&](double factor, int n) {
    for (int i = 0; i < n; ++i) {
      const StepLoad load = span_load(100, static_cast<int32_t>(random.between(1, 100)), 1);
      model.observe(load, factor * (5 + 0.2 * load.tokens));
    }
  };
  run(1, 200);
  run(2, 400);
  const double truth = 2 * (5 + 0.2 * 50);
  EXPECT_NEAR(model.predict_ms(span_load(100, 50, 1)), truth, 0.15 * truth);
}

}  // namespace
}  // namespace inferens::testing
