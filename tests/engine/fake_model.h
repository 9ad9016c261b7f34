// A model that is cheap and merciless: every token's K,V is a hash of all it can see, read back through the page
// tables, so a wrong page, a stale copy or a page given back too early changes the output.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "model/model.h"

namespace inferens::testing {

inline uint64_t mix(uint64_t a, uint64_t b) {
  a = (a ^ b) * 0x9E3779B97F4A7C15;
  return a ^ (a >> 29);
}

class FakeKvPool final : public KvPool {
 public:
  explicit FakeKvPool(std::span<const int32_t> pages) {
    for (const int32_t n : pages) slots_.emplace_back(static_cast<size_t>(n) * kPageTokens, 0xDEADDEADDEADDEAD);
  }
  int32_t page_count(size_t group) const override { return static_cast<int32_t>(slots_[group].size()) / kPageTokens; }
  void copy_page(size_t group, PageId from, PageId to, int32_t tokens) override {
    ++copies;
    std::memcpy(slot(group, to, 0), slot(group, from, 0), static_cast<size_t>(tokens) * sizeof(uint64_t));
  }
  std::span<std::byte> page(size_t group, PageId id) override {
    return std::as_writable_bytes(std::span(slot(group, id, 0), kPageTokens));
  }
  uint64_t* slot(size_t group, PageId page, int32_t i) {
    return &slots_[group][static_cast<size_t>(page * kPageTokens + i)];
  }
  int64_t copies = 0;

 private:
  std::vector<std::vector<uint64_t>> slots_;
};

struct FakeModelOptions {
  int32_t vocab = 40;
  int32_t context = 4096;
  std::vector<int32_t> windows = {0};  // one group each
  // What a step costs on the clock, when there is one.
  FakeClock* clock = nullptr;
  double step_ms = 5, token_ms = 0.2, attended_ms = 1e-5;
  std::function<double()> noise = [] { return 1.0; };
  bool greedy_run = false;  // logits that greedily repeat a cycle: for penalties and stops
};

class FakeModel final : public Model {
 public:
  explicit FakeModel(FakeModelOptions options) : o_(std::move(options)) {
    for (size_t g = 0; g < o_.windows.size(); ++g) {
      groups_.push_back({o_.windows[g], {static_cast<int32_t>(g)}, kPageTokens * sizeof(uint64_t)});
    }
  }
  int32_t vocab_size() const override { return o_.vocab; }
  int32_t context_length() const override { return o_.context; }
  const std::vector<KvGroup>& kv_groups() const override { return groups_; }
  StatusOr<std::unique_ptr<KvPool>> make_kv_pool(std::span<const int32_t> pages) override {
    auto pool = std::make_unique<FakeKvPool>(pages);
    pool_ = pool.get();
    return std::unique_ptr<KvPool>(std::move(pool));
  }

  Status step(std::span<const TokenSpan> spans, KvPool& kv, std::span<float> logits, std::span<float> hidden) override {
    auto& pool = static_cast<FakeKvPool&>(kv);
    ++steps;
    if (before_step) before_step(spans);
    size_t row = 0, hidden_row = 0;
    double cost = o_.step_ms;
    for (const TokenSpan& span : spans) {
      size_t wanted = 0;
      for (size_t i = 0; i < span.tokens.size(); ++i) {
        if (refused_token >= 0 && span.tokens[i] == refused_token)
          return internal_error("the fake model refuses this token");
        const int32_t position = span.position + static_cast<int32_t>(i);
        const uint64_t state = compute(span, pool, span.tokens[i], position);
        if (span.wants_hidden && i + 1 == span.tokens.size()) {
          const auto out = hidden.subspan(hidden_row++ * kHidden, kHidden);
          write_hidden(state, out);
          if (span.tokens[i] == poisoned_token) out[0] = std::numeric_limits<float>::quiet_NaN();
        }
        cost += o_.token_ms + o_.attended_ms * position;
        if (wanted < span.logit_rows.size() && span.logit_rows[wanted] == static_cast<int32_t>(i)) {
          write_logits(state, span.tokens[i],
                       logits.subspan(row++ * static_cast<size_t>(o_.vocab), static_cast<size_t>(o_.vocab)));
          ++wanted;
        }
      }
      tokens_computed += static_cast<int64_t>(span.tokens.size());
      if (wanted != span.logit_rows.size()) ++faults;
    }
    if (row * static_cast<size_t>(o_.vocab) != logits.size() || hidden_row * kHidden != hidden.size()) ++faults;
    if (o_.clock != nullptr) o_.clock->advance(from_ms(cost * o_.noise()));
    return ok_status();
  }
  int32_t hidden_size() const override { return kHidden; }

  FakeKvPool& pool() { return *pool_; }

  int64_t steps = 0;
  int64_t tokens_computed = 0;
  int64_t faults = 0;           // page tables or rows that break the contract
  TokenId refused_token = -1;   // forward fails when it meets it
  TokenId poisoned_token = -1;  // its row is NaN
  std::function<void(std::span<const TokenSpan>)> before_step;

 private:
  static constexpr size_t kHidden = 3;

  static void write_hidden(uint64_t state, std::span<float> row) {
    for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(mix(state, i + 500) >> 40) / (1 << 23) - 1;
  }

  uint64_t compute(const TokenSpan& span, FakeKvPool& pool, TokenId token, int32_t position) {
    uint64_t state = mix(static_cast<uint64_t>(token) + 1, static_cast<uint64_t>(position) + 77);
    for (size_t g = 0; g < groups_.size(); ++g) {
      const int32_t window = groups_[g].window;
      const int32_t first = window == 0 ? 0 : std::max(0, position - window + 1);
      for (int32_t p = first; p < position; ++p) {
        const PageId page = span.pages[g][static_cast<size_t>(p / kPageTokens)];
        if (page == kNoPage) {
          ++faults;
          continue;
        }
        state = mix(state, *pool.slot(g, page, p % kPageTokens));
      }
    }
    for (size_t g = 0; g < groups_.size(); ++g) {
      const PageId page = span.pages[g][static_cast<size_t>(position / kPageTokens)];
      if (page == kNoPage) {
        ++faults;
        continue;
      }
      *pool.slot(g, page, position % kPageTokens) = mix(state, g + 1000);
    }
    return state;
  }

  void write_logits(uint64_t state, TokenId token, std::span<float> row) const {
    for (size_t v = 0; v < row.size(); ++v) {
      row[v] = static_cast<float>(mix(state, v * 2654435761U + 1) >> 40) * (8.0F / (1 << 24));
    }
    if (o_.greedy_run) row[static_cast<size_t>((token + 1) % o_.vocab)] += 20;
    if (token == poisoned_token) row[0] = std::numeric_limits<float>::quiet_NaN();
  }

  FakeModelOptions o_;
  std::vector<KvGroup> groups_;
  FakeKvPool* pool_ = nullptr;
};

}  // namespace inferens::testing
