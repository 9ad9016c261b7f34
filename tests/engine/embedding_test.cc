// Embeddings beside everything else: the same bits whoever runs along, nobody late because of them, and a job that ends
// once, in whole, however it ends.
#include "engine/embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <future>

#include "engine/engine.h"
#include "engine/generator.h"
#include "fake_tokenizer.h"
#include "harness.h"

namespace inferens::testing {
namespace {

TEST(Embedding, TheSameBitsAloneAndInACrowdInAnyChunksAndAfterPrefixHits) {
  for (const std::vector<int32_t>& windows : {std::vector<int32_t>{0}, std::vector<int32_t>{0, 96}}) {
    FakeModelOptions model;
    model.windows = windows;
    for (const int32_t pages : {14, 400}) {
      EngineOptions options = with_pages(std::vector<int32_t>(windows.size(), pages));
      options.scheduler.max_step_tokens = pages == 14 ? 37 : 500;
      Harness h(model, options);
      RandomSequence random(3);
      const auto shared = random_prompt(random, 150);
      std::vector<TokenizedRequest> list;
      for (RequestId id = 1; id <= 24; ++id) {
        auto prompt = shared;
        const auto own = random_prompt(random, random.between(1, 200));
        prompt.insert(prompt.end(), own.begin(), own.end());
        list.push_back(id % 2 == 0 ? make_embedding(id, prompt) : make_request(id, prompt, 30));
        ASSERT_TRUE(h.submit(list.back()).ok());
      }
      h.finish();
      for (const TokenizedRequest& r : list) {
        EXPECT_EQ(fingerprint(h.outcomes[r.id]), alone(model, r)) << r.id;
        EXPECT_EQ(h.outcomes[r.id].choices[0].embedding.empty(), !r.embed);
      }
    }
  }
}

TEST(Embedding, AThousandTextsMakeNoStreamStutter) {
  FakeModelOptions machine;  // 5 ms a step, 0.2 ms a token
  machine.token_ms = 0.2;
  Harness h(machine, with_pages({4000}));
  RandomSequence random(3);
  for (RequestId id = 1; id <= 4; ++id) ASSERT_TRUE(h.submit(make_request(id, random_prompt(random, 300), 30)).ok());
  h.finish();
  ASSERT_TRUE(h.submit(make_request(10, random_prompt(random, 20), 1000)).ok());
  for (int i = 0; i < 10; ++i) h.step();
  for (RequestId id = 100; id < 1100; ++id) {
    ASSERT_TRUE(h.submit(make_embedding(id, random_prompt(random, random.between(1, 100)))).ok());
  }
  const Nanos begin = h.clock.now();
  const size_t had = h.outcomes[10].choices[0].tokens.size();
  double longest = 0;
  for (int i = 0; i < 300; ++i) {
    const Nanos t = h.clock.now();
    h.step();
    longest = std::max(longest, to_ms(h.clock.now() - t));
  }
  EXPECT_LT(longest, 1.3 * SchedulerOptions().targets[1].gap_ms);
  // At least half of its speed alone, 5.2 ms a token; and the texts use the other half.
  const double ms = to_ms(h.clock.now() - begin);
  EXPECT_GT(static_cast<double>(h.outcomes[10].choices[0].tokens.size() - had), 0.4 * ms / 5.2);
  EXPECT_GT(h.stats().ended_stop, 20);
  h.core->cancel_all();
  h.expect_all_back();
}

TEST(Embedding, ManyTextsDoNotPushTheBeginningsOfChatsOut) {
  Harness h({}, with_pages({20}));
  RandomSequence random(3);
  const auto chat = random_prompt(random, 300);
  ASSERT_TRUE(h.submit(make_request(1, chat, 2)).ok());
  h.finish();
  for (RequestId id = 10; id < 60; ++id) {
    ASSERT_TRUE(h.submit(make_embedding(id, random_prompt(random, 200))).ok());
    h.finish();
  }
  ASSERT_TRUE(h.submit(make_request(2, chat, 2)).ok());
  h.finish();
  EXPECT_EQ(h.outcomes[2].usage.cached_tokens, 299);
}

TEST(Embedding, AVectorThatIsNotANumberIsAnErrorAndNotAnAnswer) {
  Harness h({}, with_pages({20}));
  h.fake->poisoned_token = 39;
  ASSERT_TRUE(h.submit(make_embedding(1, {1, 2, 39})).ok());
  ASSERT_TRUE(h.submit(make_embedding(2, {1, 2, 3})).ok());
  h.finish();
  EXPECT_THAT(h.outcomes[1].error.message(), ::testing::HasSubstr("not a number"));
  EXPECT_EQ(h.outcomes[2].choices[0].embedding.size(), 3U);
}

// --- jobs on the engine's thread

struct Front {
  std::unique_ptr<Generator> generator;
  FakeModel* model = nullptr;
  explicit Front(EngineOptions options = with_pages({100})) {
    auto fake = std::make_unique<FakeModel>(FakeModelOptions{});
    model = fake.get();
    Generator::Parts parts;
    parts.model = std::move(fake);
    parts.tokenizer = std::make_shared<FakeTokenizer>(FakeTokenizer::letters(40));
    auto made = Generator::make(std::move(parts), options);
    EXPECT_TRUE(made.ok());
    generator = std::move(*made);
  }
};

struct Answer {
  struct State {
    std::promise<StatusOr<EmbeddingResult>> promise;
    std::atomic<int> calls{0};
  };
  std::shared_ptr<State> state = std::make_shared<State>();
  EmbeddingSink sink() {
    return [s = state](StatusOr<EmbeddingResult>&& result) {
      if (++s->calls == 1) s->promise.set_value(std::move(result));
    };
  }
  StatusOr<EmbeddingResult> wait() { return state->promise.get_future().get(); }
};

EmbeddingRequest texts(int count) {
  EmbeddingRequest r;
  for (int i = 0; i < count; ++i) {
    r.inputs.emplace_back(std::string(static_cast<size_t>(1 + i % 50), static_cast<char>('a' + i % 20)));
  }
  return r;
}

TEST(EmbeddingJob, EveryTextGetsItsOwnVectorInTheOrderOfTheTexts) {
  Front f;
  Answer all;
  EmbeddingRequest request = texts(300);
  request.inputs.emplace_back(std::vector<TokenId>{3, 1, 4});
  ASSERT_TRUE(f.generator->embed(request, all.sink()).ok());
  const auto result = all.wait();
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  ASSERT_EQ(result->embeddings.size(), 301U);
  EXPECT_EQ(result->usage.prompt_tokens, 300 * 51 / 2 + 3);
  EXPECT_EQ(result->usage.completion_tokens, 0);
  EXPECT_GE(result->timings.total, result->timings.ttft);
  for (const size_t i : {size_t{0}, size_t{7}, size_t{170}, size_t{299}, size_t{300}}) {
    Answer one;
    EmbeddingRequest single;
    single.inputs.push_back(request.inputs[i]);
    ASSERT_TRUE(f.generator->embed(single, one.sink()).ok());
    EXPECT_EQ(one.wait()->embeddings[0], result->embeddings[i]) << i;
    double squares = 0;
    for (const float x : result->embeddings[i]) squares += double{x} * x;
    EXPECT_NEAR(squares, 1, 1e-6);
  }
  EXPECT_NE(result->embeddings[0], result->embeddings[1]);
}

TEST(EmbeddingJob, WithoutNormalizingTheVectorIsTheModelsOwn) {
  Front f;
  Answer answer;
  EmbeddingRequest request = texts(1);
  request.normalize = false;
  ASSERT_TRUE(f.generator->embed(request, answer.sink()).ok());
  Harness h({}, with_pages({10}));
  ASSERT_TRUE(h.submit(make_embedding(1, {0})).ok());
  h.finish();
  EXPECT_EQ(answer.wait()->embeddings[0], h.outcomes[1].choices[0].embedding);
}

TEST(EmbeddingJob, WhatCannotBeEmbeddedIsRefusedBeforeAnythingRuns) {
  EngineOptions options = with_pages({2});
  Front f(options);
  const auto refusal = [&](EmbeddingRequest request) {
    Answer answer;
    const auto job = f.generator->embed(std::move(request), answer.sink());
    EXPECT_EQ(answer.state->calls, 0);
    return job.status().message();
  };
  EXPECT_THAT(refusal({}), ::testing::HasSubstr("no input"));
  EmbeddingRequest r = texts(3);
  r.inputs.emplace_back("");
  EXPECT_THAT(refusal(r), ::testing::AllOf(::testing::HasSubstr("input 3"), ::testing::HasSubstr("no tokens")));
  r.inputs.back() = std::string(129, 'a');
  EXPECT_THAT(refusal(r), ::testing::AllOf(::testing::HasSubstr("129"), ::testing::HasSubstr("128")));
  r.inputs.back() = std::vector<TokenId>{1, 40};
  EXPECT_THAT(refusal(r), ::testing::HasSubstr("token 40"));
  EXPECT_EQ(f.generator->stats().requests, 0);
}

TEST(EmbeddingJob, CancelledInTheMiddleItEndsOnceAndGivesAllBack) {
  Front f;
  std::promise<void> held, gate;
  const std::shared_future<void> open = gate.get_future().share();
  std::atomic<int> steps{0};
  f.model->before_step = [&](std::span<const TokenSpan>) {
    if (++steps == 3) held.set_value();
    if (steps >= 3) open.wait();
  };
  Answer answer;
  const auto job = f.generator->embed(texts(500), answer.sink());
  ASSERT_TRUE(job.ok());
  held.get_future().wait();
  (*job)->cancel();
  (*job)->cancel();
  gate.set_value();
  EXPECT_EQ(answer.wait().status().code(), StatusCode::kCancelled);
  f.generator->engine().drain();
  (*job)->cancel();  // after the end: nothing
  EXPECT_EQ(answer.state->calls, 1);
  const EngineStats stats = f.generator->stats();
  EXPECT_EQ(stats.live_requests, 0);
  EXPECT_EQ(stats.pages[0].free + stats.pages[0].cached, stats.pages[0].total);
  EXPECT_LT(stats.requests, 500) << "the rest of the texts never ran";
}

TEST(EmbeddingJob, ADrainWaitsForTheWholeJobAndAFullQueueDoesNotCutIt) {
  EngineOptions options = with_pages({100});
  options.scheduler.max_queued_requests = 5;
  Front f(options);
  Answer answer;
  ASSERT_TRUE(f.generator->embed(texts(200), answer.sink()).ok());
  f.generator->engine().drain();
  EXPECT_EQ(answer.state->calls, 1);
  EXPECT_TRUE(answer.wait().ok());
  EXPECT_EQ(f.generator->embed(texts(1), answer.sink()).status().code(), StatusCode::kUnavailable);
}

TEST(EmbeddingJob, OneTextThatFailsEndsTheJobWithItsNumber) {
  Front f;
  f.model->refused_token = 30;
  Answer bad, good;
  EmbeddingRequest r = texts(100);
  r.inputs[70] = std::vector<TokenId>{1, 30, 2};
  ASSERT_TRUE(f.generator->embed(r, bad.sink()).ok());
  ASSERT_TRUE(f.generator->embed(texts(100), good.sink()).ok());
  EXPECT_THAT(bad.wait().status().message(), ::testing::StartsWith("input 70"));
  EXPECT_TRUE(good.wait().ok());
}

TEST(EmbeddingJob, DestroyedWhileRunningTheSinkHearsTheEnd) {
  Answer answer;
  std::shared_ptr<EmbeddingJob> job;
  {
    Front f;
    job = *f.generator->embed(texts(2000), answer.sink());
  }
  EXPECT_FALSE(answer.wait().ok());
  EXPECT_EQ(answer.state->calls, 1);
  job->cancel();  // the engine is gone
}

}  // namespace
}  // namespace inferens::testing
