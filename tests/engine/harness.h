// An engine core over the fake model and a fake clock, and what came of every request.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine_core.h"
#include "fake_model.h"

namespace inferens::testing {

// All that a user sees of one request.
struct Outcome {
  struct Choice {
    std::string text;
    std::vector<TokenId> tokens;
    std::vector<PositionLogprobs> logprobs;
    FinishReason finish = FinishReason::kNone;
    std::string stop_reason;
    std::vector<TokenId> stop_token;
    std::vector<float> embedding;
  };
  std::vector<Choice> choices;
  std::vector<PositionLogprobs> prompt_logprobs;
  std::string prompt_text;
  bool ended = false;
  Status error;
  TokenUsage usage;
  RequestTimings timings;
  int events_after_end = 0;

  void take(GenerationEvent&& e) {
    if (ended) ++events_after_end;
    if (static_cast<size_t>(e.index) >= choices.size()) choices.resize(static_cast<size_t>(e.index) + 1);
    Choice& choice = choices[static_cast<size_t>(e.index)];
    switch (e.kind) {
      case GenerationEvent::Kind::kPrompt:
        prompt_text = e.text;
        prompt_logprobs = e.logprobs;
        break;
      case GenerationEvent::Kind::kText:
        if (choice.finish != FinishReason::kNone) ++events_after_end;
        choice.text += e.text;
        choice.tokens.insert(choice.tokens.end(), e.tokens.begin(), e.tokens.end());
        choice.logprobs.insert(choice.logprobs.end(), e.logprobs.begin(), e.logprobs.end());
        break;
      case GenerationEvent::Kind::kFinished:
        choice.finish = e.finish;
        choice.stop_reason = e.stop_reason;
        choice.stop_token = e.tokens;
        choice.embedding = e.embedding;
        break;
      case GenerationEvent::Kind::kDone:
        ended = true;
        usage = e.usage;
        timings = e.timings;
        break;
      case GenerationEvent::Kind::kError:
        ended = true;
        error = e.error;
        break;
    }
  }
};

// What must not depend on anything but the request, as one text that tests compare and print.
inline std::string fingerprint(const Outcome& o) {
  std::string out;
  const auto add_logprobs = [&](const std::vector<PositionLogprobs>& list) {
    for (const PositionLogprobs& l : list) {
      const auto bits = std::bit_cast<uint32_t>(l.chosen.logprob);
      out += " " + std::to_string(l.chosen.token) + ":" + std::to_string(bits) + "#" + std::to_string(l.rank);
      for (const TokenLogprob& t : l.top) out += "," + std::to_string(t.token);
    }
  };
  for (const Outcome::Choice& c : o.choices) {
    out += "[";
    for (const TokenId t : c.tokens) out += std::to_string(t) + " ";
    out += "|" + c.text + "|" + std::to_string(static_cast<int>(c.finish)) + "|" + c.stop_reason;
    add_logprobs(c.logprobs);
    for (const float x : c.embedding) out += " " + std::to_string(std::bit_cast<uint32_t>(x));
    out += "]";
  }
  add_logprobs(o.prompt_logprobs);
  return out + o.error.message();
}

inline TokenizedRequest make_request(RequestId id, std::vector<TokenId> prompt, int32_t max_tokens) {
  TokenizedRequest r;
  r.id = id;
  r.prompt = std::move(prompt);
  r.max_tokens = max_tokens;
  r.params.max_tokens = max_tokens;
  r.params.sampling.temperature = 0;
  r.params.logprobs = 2;
  return r;
}

inline TokenizedRequest make_embedding(RequestId id, std::vector<TokenId> prompt) {
  TokenizedRequest r = make_request(id, std::move(prompt), 0);
  r.embed = true;
  r.params.logprobs = -1;
  return r;
}

inline std::vector<TokenId> random_prompt(RandomSequence& random, int64_t length, int32_t vocab = 40) {
  std::vector<TokenId> out;
  for (int64_t i = 0; i < length; ++i) out.push_back(static_cast<TokenId>(random.below(static_cast<uint64_t>(vocab))));
  return out;
}

class Harness {
 public:
  Harness(FakeModelOptions model, EngineOptions options, const Tokenizer* tokenizer = nullptr) {
    model.clock = &clock;
    options.clock = &clock;
    fake = std::make_unique<FakeModel>(std::move(model));
    auto made = EngineCore::make(*fake, tokenizer, options);
    if (!made.ok()) throw std::runtime_error(made.status().to_string());
    core = std::move(*made);
  }

  Status submit(TokenizedRequest request) {
    request.arrival = clock.now();
    if (Status status = core->check(request); !status.ok()) return status;
    const RequestId id = request.id;
    outcomes[id];
    core->submit(std::move(request), [this, id](GenerationEvent&& e) { outcomes[id].take(std::move(e)); });
    return ok_status();
  }

  void step() {
    const bool ran = core->step();
    ASSERT_TRUE(ran || core->idle()) << "requests live and nothing runs";
    const Status status = core->check_invariants();
    ASSERT_TRUE(status.ok()) << status.message();
  }

  void finish() {
    for (int i = 0; !core->idle(); ++i) {
      ASSERT_LT(i, 1'000'000) << "never ends";
      ASSERT_NO_FATAL_FAILURE(step());
    }
    expect_all_back();
  }

  void expect_all_back() {
    EXPECT_TRUE(core->idle());
    EngineStats stats;
    core->fill_stats(stats);
    EXPECT_EQ(stats.queued_requests, 0);
    EXPECT_EQ(stats.queued_tokens, 0);
    EXPECT_EQ(stats.running_sequences, 0);
    for (const auto& p : stats.pages) EXPECT_EQ(p.free + p.cached, p.total) << "pages are lost";
    EXPECT_EQ(fake->faults, 0) << "the model saw a page table or rows that break its contract";
    for (const auto& [id, outcome] : outcomes) {
      EXPECT_TRUE(outcome.ended) << "request " << id << " never got its last event";
      EXPECT_EQ(outcome.events_after_end, 0);
    }
  }

  EngineStats stats() const {
    EngineStats out;
    core->fill_stats(out);
    return out;
  }

  FakeClock clock;
  std::unique_ptr<FakeModel> fake;
  std::map<RequestId, Outcome> outcomes;
  std::unique_ptr<EngineCore> core;
};

inline EngineOptions with_pages(std::vector<int32_t> pages) {
  EngineOptions options;
  options.pages = std::move(pages);
  return options;
}

// The request by itself in an engine with room and without a prefix cache: what everything else is compared with.
inline std::string alone(const FakeModelOptions& model, const TokenizedRequest& request,
                         const Tokenizer* tokenizer = nullptr) {
  EngineOptions options = with_pages(std::vector<int32_t>(model.windows.size(), 2000));
  options.prefix_cache = false;
  Harness h(model, options, tokenizer);
  const Status status = h.submit(request);
  if (!status.ok()) return status.message();
  h.finish();
  return fingerprint(h.outcomes.begin()->second);
}

}  // namespace inferens::testing
