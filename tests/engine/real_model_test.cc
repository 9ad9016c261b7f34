// The engine over real forward passes (the tiny models of tests/golden/model): what a prefix hit, a preemption or a
// neighbour changes on real keys and values, and what sliding windows give back.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/engine_core.h"
#include "formats/gguf.h"
#include "harness.h"
#include "model/load.h"

namespace inferens::testing {
namespace {

constexpr int32_t kWindow = 16;  // of the tiny gemma3's local layers

struct Tiny {
  std::unique_ptr<Model> model;
  std::unique_ptr<EngineCore> core;
  std::map<RequestId, Outcome> outcomes;

  Tiny(const std::string& name, EngineOptions options, int32_t pages) {
    auto file = GgufFile::open(std::string(INFERENS_TEST_DATA) + "/model/tiny/" + name + ".gguf");
    if (!file.ok()) throw std::runtime_error(file.status().to_string());
    auto loaded = load_model(std::make_shared<GgufFile>(*std::move(file)), {});
    if (!loaded.ok()) throw std::runtime_error(loaded.status().to_string());
    model = *std::move(loaded);
    options.pages.assign(model->kv_groups().size(), pages);
    auto made = EngineCore::make(*model, nullptr, options);
    if (!made.ok()) throw std::runtime_error(made.status().to_string());
    core = *std::move(made);
  }

  void submit(const TokenizedRequest& r) {
    ASSERT_TRUE(core->check(r).ok()) << core->check(r).message();
    outcomes[r.id];
    core->submit(r, [this, id = r.id](GenerationEvent&& e) { outcomes[id].take(std::move(e)); });
  }
  void step() {
    core->step();
    const Status status = core->check_invariants();
    ASSERT_TRUE(status.ok()) << status.message();
  }
  void finish() {
    while (!core->idle()) ASSERT_NO_FATAL_FAILURE(step());
    EngineStats s = stats();
    for (const auto& p : s.pages) EXPECT_EQ(p.free + p.cached, p.total) << "pages are lost";
  }
  EngineStats stats() const {
    EngineStats out;
    core->fill_stats(out);
    return out;
  }
  int32_t held(size_t group) const {
    const EngineStats::Pages p = stats().pages[group];
    return p.total - p.free - p.cached;
  }
};

std::string alone_in(const std::string& name, const TokenizedRequest& r) {
  EngineOptions options;
  options.prefix_cache = false;
  Tiny t(name, options, 40);
  t.submit(r);
  t.finish();
  return fingerprint(t.outcomes[r.id]);
}

size_t sliding_group(const Tiny& t) {
  const auto& groups = t.model->kv_groups();
  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].window == kWindow) return g;
  }
  ADD_FAILURE() << "no sliding layers";
  return 0;
}

class RealModels : public ::testing::TestWithParam<const char*> {};

TEST_P(RealModels, AHitGivesTheBitsOfAMissWhereverThePrefixEnds) {
  RandomSequence random(2);
  const std::string name = GetParam();
  Tiny t(name, {}, 60);
  const auto shared = random_prompt(random, 240, 200);
  RequestId id = 1;
  // Inside the first page, at page borders, within and beyond the window from them.
  for (const int64_t length : {1, 63, 64, 65, 70, 80, 81, 128, 143, 144, 145, 192, 200, 240}) {
    std::vector<TokenId> prompt(shared.begin(), shared.begin() + length);
    for (const TokenId last : {7, 8}) {
      TokenizedRequest r = make_request(id++, prompt, 10);
      r.prompt.push_back(last);
      r.params.sampling.temperature = last == 7 ? 0 : 1;
      r.params.sampling.seed = 3;
      t.submit(r);
      t.finish();
      EXPECT_EQ(fingerprint(t.outcomes[r.id]), alone_in(name, r)) << length;
    }
    // The second one differs in its last token only: all else was there, window pages included.
    EXPECT_EQ(t.outcomes[id - 1].usage.cached_tokens, length);
  }
}

TEST_P(RealModels, NeighboursPreemptionAndCancelsChangeNoBit) {
  RandomSequence random(5);
  const std::string name = GetParam();
  EngineOptions options;
  options.scheduler.output_reserve = 1;
  options.scheduler.max_step_tokens = 70;
  Tiny t(name, options, 6);
  std::vector<TokenizedRequest> list;
  const auto shared = random_prompt(random, 100, 200);
  for (RequestId id = 1; id <= 14; ++id) {
    std::vector<TokenId> prompt(shared.begin(), shared.begin() + random.between(0, 100));
    const auto own = random_prompt(random, random.between(1, 110), 200);
    prompt.insert(prompt.end(), own.begin(), own.end());
    TokenizedRequest r = make_request(id, prompt, 40);
    r.params.sampling.temperature = id % 2 == 0 ? 0 : 1;
    r.params.sampling.seed = random.next();
    r.params.n = id == 3 ? 2 : 1;
    if (id % 5 == 0) r = make_embedding(id, prompt);
    list.push_back(r);
    t.submit(r);
  }
  for (int i = 0; !t.core->idle(); ++i) {
    ASSERT_NO_FATAL_FAILURE(t.step());
    if (i % 6 == 0) t.core->cancel(static_cast<RequestId>(random.between(2, 3)) * 4);
  }
  EXPECT_GT(t.stats().scheduler.preemptions, 0);
  for (const TokenizedRequest& r : list) {
    if (r.id != 8 && r.id != 12) {
      EXPECT_EQ(fingerprint(t.outcomes[r.id]), alone_in(name, r)) << r.id;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, RealModels,
                         ::testing::Values("gemma3-q8_0", "gemma3-q4_0-linear", "llama-q4_0", "qwen2-q4_0"),
                         [](const auto& p) {
                           std::string name = p.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(SlidingWindow, PagesOutsideTheWindowAreGivenBackWhileTheSequenceRuns) {
  EngineOptions options;
  options.scheduler.max_step_tokens = 16;
  Tiny t("gemma3-q8_0", options, 40);
  const size_t sliding = sliding_group(t);
  RandomSequence random(2);
  t.submit(make_request(1, random_prompt(random, 200, 200), 50));
  int32_t most = 0, most_full = 0;
  while (!t.core->idle()) {
    t.step();
    most = std::max(most, t.held(sliding));
    most_full = std::max(most_full, t.held(1 - sliding));
  }
  EXPECT_EQ(t.outcomes[1].error.message(), "");
  EXPECT_EQ(most_full, 4);
  // A window of 16 and a chunk of 16 lie in two pages; full attention holds four.
  EXPECT_EQ(most, 2);
}

TEST(SlidingWindow, ALongPromptRunsInAPoolThatHoldsOnlyItsWindow) {
  // Full attention needs four pages. The windows have three: where room is needed, pages before them are dropped.
  RandomSequence random(2);
  auto small_chunks = EngineOptions();
  small_chunks.scheduler.max_step_tokens = 16;
  Tiny probe("gemma3-q8_0", small_chunks, 40);
  const size_t sliding = sliding_group(probe);
  EngineOptions options = small_chunks;
  options.pages.assign(2, 4);
  options.pages[sliding] = 3;
  auto made = EngineCore::make(*probe.model, nullptr, options);
  ASSERT_TRUE(made.ok()) << made.status().message();
  const TokenizedRequest r = make_request(1, random_prompt(random, 220, 200), 30);
  Outcome outcome;
  (*made)->submit(r, [&](GenerationEvent&& e) { outcome.take(std::move(e)); });
  while (!(*made)->idle()) {
    (*made)->step();
    ASSERT_EQ((*made)->check_invariants().message(), "");
  }
  EngineStats stats;
  (*made)->fill_stats(stats);
  EXPECT_GT(stats.prefix.evicted_pages, 0) << "pages before the window left for new ones";
  EXPECT_EQ(fingerprint(outcome), alone_in("gemma3-q8_0", r));
  // Of the prompt's start, windows are gone: it is computed again, and nothing wrong is found.
  TokenizedRequest again = make_request(2, {r.prompt.begin(), r.prompt.begin() + 100}, 5);
  Outcome second;
  (*made)->submit(again, [&](GenerationEvent&& e) { second.take(std::move(e)); });
  while (!(*made)->idle()) (*made)->step();
  EXPECT_EQ(fingerprint(second), alone_in("gemma3-q8_0", again));
  EXPECT_LT(second.usage.cached_tokens, 100 - 1);
}

}  // namespace
}  // namespace inferens::testing
