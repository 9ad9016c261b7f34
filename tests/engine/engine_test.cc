// The engine's rules for single requests, and its thread: refusals, ends, failures, cancellation, draining.
#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>

#include "fake_tokenizer.h"
#include "harness.h"

namespace inferens::testing {
namespace {

std::string refusal(const EngineOptions& options, const TokenizedRequest& r) {
  Harness h({}, options);
  const Status status = h.submit(r);
  return status.ok() ? "" : status.message();
}

TEST(Engine, WhatCanNeverFitIsRefusedWithBothNumbers) {
  RandomSequence random(1);
  // 10 pages hold 640 tokens; the model was made for 4,096.
  const std::string message = refusal(with_pages({10}), make_request(1, random_prompt(random, 600), 41));
  EXPECT_THAT(message, ::testing::HasSubstr("641"));
  EXPECT_THAT(message, ::testing::HasSubstr("640"));
  EXPECT_THAT(message, ::testing::HasSubstr("KV memory"));
  EXPECT_EQ(refusal(with_pages({10}), make_request(1, random_prompt(random, 600), 40)), "");
  EXPECT_THAT(refusal(with_pages({100}), make_request(1, random_prompt(random, 4000), 97)),
              ::testing::HasSubstr("4097"));
}

TEST(Engine, WrongNumbersAreRefusedByName) {
  const auto with = [](auto change) {
    TokenizedRequest r = make_request(1, {1, 2, 3}, 10);
    change(r);
    return refusal(with_pages({10}), r);
  };
  EXPECT_THAT(with([](auto& r) { r.params.n = 0; }), ::testing::StartsWith("n is 0"));
  EXPECT_THAT(with([](auto& r) { r.params.n = 1'000'000'000; }), ::testing::StartsWith("n is 1000000000"));
  EXPECT_THAT(with([](auto& r) { r.params.logprobs = INT32_MAX; }), ::testing::StartsWith("logprobs is"));
  EXPECT_THAT(with([](auto& r) { r.params.prompt_logprobs = 21; }), ::testing::StartsWith("prompt_logprobs is"));
  EXPECT_THAT(with([](auto& r) { r.params.min_tokens = 11; }), ::testing::StartsWith("min_tokens is 11"));
  EXPECT_THAT(with([](auto& r) { r.prompt[1] = 40; }), ::testing::HasSubstr("token 40"));
  EXPECT_THAT(with([](auto& r) { r.prompt[1] = -1; }), ::testing::HasSubstr("token -1"));
  EXPECT_THAT(with([](auto& r) { r.params.stop_token_ids = {INT32_MAX}; }), ::testing::HasSubstr("stop token"));
  EXPECT_THAT(with([](auto& r) { r.prompt.clear(); }), ::testing::HasSubstr("no tokens"));
  EXPECT_NE(with([](auto& r) { r.params.sampling.temperature = -1; }), "");
  EXPECT_EQ(with([](auto&) {}), "");
}

TEST(Engine, TooLittleMemoryIsSaidAtTheStart) {
  FakeModel model({});
  EngineOptions options;
  options.kv_bytes = 10;
  EXPECT_FALSE(EngineCore::make(model, nullptr, options).ok());
  options = with_pages({10});
  options.context = 641;
  EXPECT_THAT(EngineCore::make(model, nullptr, options).status().message(), ::testing::HasSubstr("640"));
  options.context = 5000;
  EXPECT_THAT(EngineCore::make(model, nullptr, options).status().message(), ::testing::HasSubstr("4096"));
}

// A model that greedily says the alphabet: after token t comes t + 1.
FakeModelOptions alphabet() {
  FakeModelOptions m;
  m.greedy_run = true;
  return m;
}

struct Spoken {
  FakeTokenizer tokenizer = FakeTokenizer::letters(40);
  Harness h{alphabet(), with_pages({100}), &tokenizer};
  Outcome say(TokenizedRequest r) {
    const RequestId id = r.id;
    EXPECT_TRUE(h.submit(std::move(r)).ok());
    h.finish();
    return h.outcomes[id];
  }
};

TEST(Engine, ChoicesEndForTheReasonTheyName) {
  Spoken s;
  Outcome o = s.say(make_request(1, {0}, 5));
  EXPECT_EQ(o.choices[0].text, "bcdef");
  EXPECT_EQ(o.choices[0].finish, FinishReason::kLength);
  EXPECT_EQ(o.usage.completion_tokens, 5);

  // The alphabet ends with <end> after 37 letters; it is counted and not shown.
  o = s.say(make_request(2, {30}, 20));
  EXPECT_EQ(o.choices[0].text, "FGHIJKL");
  EXPECT_EQ(o.choices[0].finish, FinishReason::kStop);
  EXPECT_EQ(o.choices[0].stop_token, std::vector<TokenId>{38});
  EXPECT_EQ(o.usage.completion_tokens, 8);

  TokenizedRequest r = make_request(3, {30}, 12);
  r.params.ignore_eos = true;
  o = s.say(r);
  EXPECT_EQ(o.choices[0].finish, FinishReason::kLength);
  EXPECT_EQ(o.choices[0].text, "FGHIJKLabc");  // <end> and <pad> hidden
  EXPECT_EQ(o.choices[0].tokens.size(), 12U);

  r = make_request(4, {0}, 20);
  r.params.stop = {"de", "zz"};
  o = s.say(r);
  EXPECT_EQ(o.choices[0].text, "bc");
  EXPECT_EQ(o.choices[0].finish, FinishReason::kStop);
  EXPECT_EQ(o.choices[0].stop_reason, "de");

  r = make_request(5, {0}, 20);
  r.params.stop_token_ids = {3};
  o = s.say(r);
  EXPECT_EQ(o.choices[0].text, "bc");
  EXPECT_EQ(o.choices[0].stop_token, std::vector<TokenId>{3});
  r.id = 6;
  r.params.include_stop_in_output = true;
  EXPECT_EQ(s.say(r).choices[0].text, "bcd");
}

TEST(Engine, NothingEndsBeforeTheLeastNumberOfTokens) {
  Spoken s;
  TokenizedRequest r = make_request(1, {36}, 20);  // one letter before the end
  r.params.min_tokens = 6;
  const Outcome o = s.say(r);
  EXPECT_GE(o.usage.completion_tokens, 6);
  EXPECT_GE(o.choices[0].tokens.size(), 6U);
  EXPECT_EQ(std::count(o.choices[0].tokens.begin(), o.choices[0].tokens.begin() + 6, 38), 0);
}

TEST(Engine, PromptsAloneAreScoredWithoutOutput) {
  Spoken s;
  TokenizedRequest r = make_request(1, {4, 5, 6, 20}, 0);
  r.params.prompt_logprobs = 1;
  r.params.echo = true;
  r.prompt_text = "efgu";
  const Outcome o = s.say(r);
  EXPECT_EQ(o.prompt_text, "efgu");
  ASSERT_EQ(o.prompt_logprobs.size(), 4U);
  EXPECT_EQ(o.prompt_logprobs[0].rank, 0);
  EXPECT_EQ(o.prompt_logprobs[1].rank, 1);  // f after e is what the model expects
  EXPECT_EQ(o.prompt_logprobs[2].rank, 1);
  EXPECT_GT(o.prompt_logprobs[3].rank, 1);
  EXPECT_EQ(o.prompt_logprobs[3].top[0].token, 7);
  EXPECT_EQ(o.prompt_logprobs[3].top[0].bytes, "h");
  EXPECT_EQ(o.usage.completion_tokens, 0);
  EXPECT_EQ(o.choices[0].finish, FinishReason::kLength);
}

TEST(Engine, ARequestThatFailsLeavesTheOthersAlone) {
  for (const bool refuses : {true, false}) {
    Harness h({}, with_pages({100}));
    (refuses ? h.fake->refused_token : h.fake->poisoned_token) = 39;
    RandomSequence random(6);
    std::vector<TokenizedRequest> list;
    for (RequestId id = 1; id <= 8; ++id) {
      TokenizedRequest r = make_request(id, random_prompt(random, 100, 39), 20);
      r.params.sampling.logit_bias = {{39, -100.0}};
      r.params.n = id == 4 ? 3 : 1;
      if (id % 4 == 0) r.prompt.push_back(39);
      list.push_back(r);
      ASSERT_TRUE(h.submit(r).ok());
    }
    h.finish();
    for (const TokenizedRequest& r : list) {
      EXPECT_EQ(h.outcomes[r.id].error.ok(), r.id % 4 != 0) << r.id;
      if (r.id % 4 != 0) {
        EXPECT_EQ(fingerprint(h.outcomes[r.id]), alone({}, r));
      }
    }
  }
}

TEST(Engine, ASinkThatThrowsEndsItsOwnRequestOnly) {
  Harness h({}, with_pages({100}));
  RandomSequence random(6);
  TokenizedRequest bad = make_request(1, random_prompt(random, 50), 50);
  h.core->submit(bad, [](GenerationEvent&&) { throw std::runtime_error("client code"); });
  ASSERT_TRUE(h.submit(make_request(2, random_prompt(random, 50), 20)).ok());
  h.step();
  h.step();
  EXPECT_EQ(h.stats().live_requests, 1);
  h.finish();
  EXPECT_EQ(h.outcomes[2].choices[0].tokens.size(), 20U);
}

TEST(Engine, CancelledInAnyPhaseGivesAllPagesBackAtOnce) {
  // Queued, in prefill, forked, decoding, preempted.
  for (int steps = 0; steps < 60; ++steps) {
    EngineOptions options = with_pages({12});
    options.scheduler.max_step_tokens = 48;
    options.scheduler.output_reserve = 1;
    Harness h({}, options);
    RandomSequence random(6);
    for (RequestId id = 1; id <= 5; ++id) {
      TokenizedRequest r = make_request(id, random_prompt(random, 200), 100);
      r.params.n = id == 2 ? 4 : 1;
      ASSERT_TRUE(h.submit(r).ok());
    }
    for (int i = 0; i < steps; ++i) h.step();
    for (RequestId id = 1; id <= 5; ++id) {
      h.core->cancel(id);
      h.core->cancel(id);  // twice is once
      h.core->cancel(id + 1000);
      ASSERT_TRUE(h.core->check_invariants().ok());
      EXPECT_TRUE(h.outcomes[id].ended);
    }
    h.expect_all_back();
    h.core->clear_prefix_cache();
    EXPECT_EQ(h.stats().pages[0].free, 12);
  }
}

TEST(Engine, UsageAndTimesAddUp) {
  Harness h({}, with_pages({100}));
  RandomSequence random(6);
  const auto prompt = random_prompt(random, 150);
  for (RequestId id = 1; id <= 3; ++id) {
    h.clock.advance(from_ms(5));
    ASSERT_TRUE(h.submit(make_request(id, prompt, 30)).ok());
  }
  h.finish();
  int64_t prompts = 0, cached = 0, outputs = 0;
  for (const auto& [id, o] : h.outcomes) {
    prompts += o.usage.prompt_tokens;
    cached += o.usage.cached_tokens;
    outputs += o.usage.completion_tokens;
    EXPECT_EQ(o.timings.queued + o.timings.prefill, o.timings.ttft);
    EXPECT_EQ(o.timings.ttft + o.timings.decode, o.timings.total);
    EXPECT_GT(o.timings.prefill, 0);
  }
  const EngineStats s = h.stats();
  EXPECT_EQ(s.prompt_tokens, prompts);
  EXPECT_EQ(s.cached_tokens, cached);
  EXPECT_EQ(s.generated_tokens, outputs);
  EXPECT_EQ(s.prefill_tokens, prompts - cached) << "cached means not computed";
  EXPECT_EQ(cached, 2 * 149);
  EXPECT_EQ(s.ended_length, 3);
}

// --- the thread

// A model in real time that can be held in a step.
struct Running {
  std::unique_ptr<Engine> engine;
  FakeModel* model = nullptr;
  explicit Running(EngineOptions options = with_pages({100})) {
    auto fake = std::make_unique<FakeModel>(FakeModelOptions{});
    model = fake.get();
    auto made = Engine::make(std::move(fake), nullptr, options);
    EXPECT_TRUE(made.ok());
    engine = std::move(*made);
  }
};

struct Waiter {
  // Shared with the sink: the engine may still be leaving it when the waiting thread goes on.
  struct State {
    std::promise<Outcome> promise;
    Outcome outcome;
  };
  std::shared_ptr<State> state = std::make_shared<State>();
  EventSink sink() {
    return [s = state](GenerationEvent&& e) {
      s->outcome.take(std::move(e));
      if (s->outcome.ended) s->promise.set_value(s->outcome);
    };
  }
  Outcome wait() { return state->promise.get_future().get(); }
};

TEST(EngineThread, ManyThreadsSubmitAndEachGetsItsAnswer) {
  Running r;
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      RandomSequence random(t);
      for (int i = 0; i < 10; ++i) {
        const TokenizedRequest request = make_request(0, random_prompt(random, 100), 20);
        Waiter w;
        ASSERT_TRUE(r.engine->submit(request, w.sink()).ok());
        if (fingerprint(w.wait()) == alone({}, request)) ++right;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 40);
}

TEST(EngineThread, AFullQueueSaysWhenToComeBack) {
  EngineOptions options = with_pages({100});
  options.scheduler.max_queued_requests = 3;
  Running r(options);
  std::promise<void> gate;
  std::promise<void> held;
  const std::shared_future<void> open = gate.get_future().share();
  std::atomic<bool> first{true};
  r.model->before_step = [&](std::span<const TokenSpan>) {
    if (first.exchange(false)) held.set_value();
    open.wait();
  };
  std::vector<std::unique_ptr<Waiter>> waiters;
  const auto submit = [&] {
    auto waiter = std::make_unique<Waiter>();
    const Status status = r.engine->submit(make_request(0, {1, 2, 3}, 3), waiter->sink()).status();
    if (status.ok()) waiters.push_back(std::move(waiter));
    return status;
  };
  EXPECT_TRUE(submit().ok());
  held.get_future().wait();  // it runs; the next ones queue
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(submit().ok());
  const Status full = submit();
  gate.set_value();
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(full.message(), ::testing::HasSubstr("retry in about"));
  for (auto& w : waiters) w->wait();
  waiters.clear();
  EXPECT_TRUE(submit().ok());
  for (auto& w : waiters) w->wait();
}

TEST(EngineThread, DrainEndsWhatRunsAndTakesNothingNew) {
  Running r;
  Waiter w;
  ASSERT_TRUE(r.engine->submit(make_request(0, {1, 2, 3}, 200), w.sink()).ok());
  r.engine->drain();
  EXPECT_EQ(w.wait().choices[0].tokens.size(), 200U);
  const auto late = r.engine->submit(make_request(0, {1, 2, 3}, 2), [](GenerationEvent&&) {});
  EXPECT_EQ(late.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(r.engine->stats().live_requests, 0);
}

TEST(EngineThread, DestroyedWhileRunningEverySinkHearsTheEnd) {
  std::vector<std::unique_ptr<Waiter>> waiters;
  {
    Running r;
    for (int i = 0; i < 20; ++i) {
      waiters.push_back(std::make_unique<Waiter>());
      ASSERT_TRUE(
          r.engine->submit(make_request(0, {1, 2, static_cast<TokenId>(i)}, 4000), waiters.back()->sink()).ok());
    }
  }
  for (auto& w : waiters) EXPECT_EQ(w->wait().choices[0].finish, FinishReason::kCancelled);
}

TEST(EngineThread, CancelIsAcknowledgedByTheLastEvents) {
  Running r;
  Waiter w;
  const auto id = r.engine->submit(make_request(0, {1, 2, 3}, 4000), w.sink());
  ASSERT_TRUE(id.ok());
  r.engine->cancel(*id);
  r.engine->cancel(*id);
  r.engine->cancel(12345);
  EXPECT_EQ(w.wait().choices[0].finish, FinishReason::kCancelled);
}

}  // namespace
}  // namespace inferens::testing
