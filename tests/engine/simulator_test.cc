// Random users against scheduler, pages and tree, with a fake model and a fake clock: arrivals, cancels, floods, tiny
// pools, failing steps. After every step the invariants hold, everything ends, nothing is lost, and every answer is the
// one the request gets alone. A seed names a schedule; INFERENS_SIMULATOR_SCHEDULES=100000 runs as many,
// INFERENS_SIMULATOR_FIRST=N begins with the seed N.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/environment.h"
#include "harness.h"

namespace inferens::testing {
namespace {

constexpr int kDefaultSchedules = 2000;

struct Schedule {
  FakeModelOptions model;
  EngineOptions engine;
  std::vector<TokenizedRequest> requests;
  std::vector<double> arrival_ms;
  std::map<RequestId, double> cancel_ms;
  std::set<RequestId> faulty;  // meet the token that the model refuses or poisons
  TokenId bad_token = -1;
  bool refuses = false;
};

constexpr TokenId kBadToken = 39;

Schedule make_schedule(uint64_t seed) {
  RandomSequence random(seed);
  Schedule s;
  const std::vector<std::vector<int32_t>> shapes = {{0}, {0, 100}, {80}, {0, 64}};
  s.model.windows = shapes[random.below(shapes.size())];
  s.model.context = 512;
  const bool tight = random.uniform() < 0.6;
  for (size_t g = 0; g < s.model.windows.size(); ++g)
    s.engine.pages.push_back(static_cast<int32_t>(random.between(8, tight ? 12 : 60)));
  s.engine.prefix_time_to_live = random.uniform() < 0.2 ? from_ms(300) : 0;
  s.engine.scheduler.max_running = static_cast<int32_t>(random.between(1, 12));
  s.engine.scheduler.max_step_tokens = static_cast<int32_t>(random.between(16, 200));
  s.engine.scheduler.output_reserve = static_cast<int32_t>(random.between(0, 64));
  s.bad_token = random.uniform() < 0.2 ? kBadToken : -1;
  s.refuses = random.uniform() < 0.5;
  const auto shared = random_prompt(random, 200, kBadToken);
  const int64_t count = random.between(1, 14);
  double now = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto id = static_cast<RequestId>(i + 1);
    std::vector<TokenId> prompt(shared.begin(), shared.begin() + (random.uniform() < 0.5 ? 0 : random.between(0, 200)));
    const auto own = random_prompt(random, random.between(1, 80), kBadToken);
    prompt.insert(prompt.end(), own.begin(), own.end());
    if (s.bad_token >= 0 && random.uniform() < 0.3) {
      prompt.push_back(kBadToken);
      s.faulty.insert(id);
    }
    TokenizedRequest r = make_request(id, std::move(prompt), static_cast<int32_t>(random.between(0, 40)));
    r.params.logprobs = -1;
    r.params.sampling.temperature = random.uniform() < 0.5 ? 0 : 1;
    r.params.sampling.seed = random.next();
    r.params.sampling.logit_bias = {{kBadToken, -100.0}};
    r.params.n = random.uniform() < 0.15 ? static_cast<int32_t>(random.between(2, 4)) : 1;
    r.params.prompt_logprobs = random.uniform() < 0.05 ? 0 : -1;
    if (random.uniform() < 0.1) r = make_embedding(id, std::move(r.prompt));
    r.params.scheduling_class = static_cast<SchedulingClass>(random.below(4));
    r.params.priority = static_cast<int32_t>(random.between(-1, 1));
    r.params.api_key_id = std::string(1, static_cast<char>('a' + random.below(3)));
    now += random.uniform() < 0.5 ? 0 : -30 * std::log(1 - random.uniform());
    s.arrival_ms.push_back(now);
    if (random.uniform() < 0.3) s.cancel_ms[id] = now + 150 * random.uniform();
    s.requests.push_back(std::move(r));
  }
  return s;
}

// What happened, in order, as a number: the same seed gives the same.
uint64_t run_schedule(uint64_t seed, bool compare) {
  Schedule s = make_schedule(seed);
  auto noise = std::make_shared<RandomSequence>(seed + 1);
  s.model.noise = [noise] { return 0.8 + 0.5 * noise->uniform(); };
  Harness h(s.model, s.engine);
  if (s.bad_token >= 0) (s.refuses ? h.fake->refused_token : h.fake->poisoned_token) = s.bad_token;
  size_t next = 0;
  while (next < s.requests.size() || !h.core->idle()) {
    while (next < s.requests.size() && s.arrival_ms[next] <= to_ms(h.clock.now())) {
      const Status status = h.submit(s.requests[next]);
      EXPECT_TRUE(status.ok()) << status.message();
      ++next;
    }
    for (auto it = s.cancel_ms.begin(); it != s.cancel_ms.end();) {
      if (it->second > to_ms(h.clock.now()) || it->first > next) {
        ++it;
        continue;
      }
      h.core->cancel(it->first);
      it = s.cancel_ms.erase(it);
    }
    if (h.core->idle()) {
      if (next < s.requests.size()) h.clock.advance(from_ms(s.arrival_ms[next]) - h.clock.now() + 1);
      continue;
    }
    h.step();
    if (::testing::Test::HasFatalFailure()) return 0;
  }
  h.expect_all_back();
  uint64_t digest = seed;
  for (const TokenizedRequest& r : s.requests) {
    const Outcome& o = h.outcomes[r.id];
    const bool cancelled = std::any_of(o.choices.begin(), o.choices.end(),
                                       [](const auto& c) { return c.finish == FinishReason::kCancelled; });
    const bool faulty = s.faulty.contains(r.id);
    if (!faulty || (!cancelled && (r.max_tokens > 0 || r.embed))) {
      EXPECT_EQ(o.error.ok(), !faulty) << "request " << r.id << ": " << o.error.message();
    }
    if (compare && !cancelled && !faulty) {
      EXPECT_EQ(fingerprint(o), alone(s.model, r)) << "request " << r.id;
    }
    digest = mix(digest, std::hash<std::string>()(fingerprint(o)));
    digest = mix(digest, static_cast<uint64_t>(o.timings.total));
  }
  return mix(digest, static_cast<uint64_t>(h.fake->steps));
}

int schedules() {
  const std::optional<std::string> asked = environment_flag("SIMULATOR_SCHEDULES");
  return asked ? std::stoi(*asked) : kDefaultSchedules;
}

TEST(Simulator, RandomSchedulesLoseNothingAndChangeNoAnswer) {
  const std::optional<std::string> first = environment_flag("SIMULATOR_FIRST");
  const int begin = first ? std::stoi(*first) : 0;
  for (int seed = begin; seed < begin + schedules(); ++seed) {
    run_schedule(static_cast<uint64_t>(seed), seed % 4 == 0);
    ASSERT_FALSE(HasFailure()) << "schedule " << seed;
  }
}

TEST(Simulator, TheSameSeedGivesTheSameSchedule) {
  for (uint64_t seed = 0; seed < 40; ++seed) ASSERT_EQ(run_schedule(seed, false), run_schedule(seed, false)) << seed;
}

}  // namespace
}  // namespace inferens::testing
