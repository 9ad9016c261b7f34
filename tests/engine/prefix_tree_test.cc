// The prefix tree over real pools: what it finds, what it must never find, and what it gives up first.
#include <gtest/gtest.h>

#include "engine/kv_cache.h"
#include "fake_model.h"
#include "harness.h"

namespace inferens::testing {
namespace {

std::vector<TokenId> count_up(TokenId from, int n) {
  std::vector<TokenId> out;
  for (int i = 0; i < n; ++i) out.push_back(from + i);
  return out;
}

// A cache whose pages hold, in every token's slot, a hash of the tokens up to there.
class Cache {
 public:
  explicit Cache(std::vector<int32_t> windows, int32_t pages, Nanos time_to_live = 0) {
    for (const int32_t w : windows) groups_.push_back({w, {0}, kPageTokens * sizeof(uint64_t)});
    const std::vector<int32_t> counts(windows.size(), pages);
    auto pool = std::make_unique<FakeKvPool>(counts);
    memory_ = pool.get();
    kv = std::make_unique<KvCache>(groups_, counts, std::move(pool), true, time_to_live);
  }

  // Runs a prompt as a sequence would; returns how much of it was cached.
  int32_t run(const std::vector<TokenId>& tokens, const std::string& salt = "", bool keep_pages = false) {
    KvState state;
    state.reset(groups_.size());
    const int32_t hit = kv->attach_prefix(state, salt, tokens, now);
    expect_content(state, tokens, hit);
    EXPECT_TRUE(kv->reserve(state, static_cast<int32_t>(tokens.size())));
    uint64_t hash = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
      hash = mix(hash, static_cast<uint64_t>(tokens[i]));
      if (static_cast<int32_t>(i) < hit) continue;
      for (size_t g = 0; g < groups_.size(); ++g)
        *memory_->slot(g, state.pages[g][i / kPageTokens], static_cast<int32_t>(i % kPageTokens)) = hash;
    }
    state.length = static_cast<int32_t>(tokens.size());
    kv->publish(state, salt, tokens, now);
    kv->slide(state, now);
    if (keep_pages) {
      held.push_back(std::move(state));
    } else {
      kv->release(state, now);
    }
    check();
    return hit;
  }

  void expect_content(const KvState& state, const std::vector<TokenId>& tokens, int32_t length) {
    uint64_t hash = 0;
    for (int32_t i = 0; i < length; ++i) {
      hash = mix(hash, static_cast<uint64_t>(tokens[static_cast<size_t>(i)]));
      for (size_t g = 0; g < groups_.size(); ++g) {
        const int32_t window = groups_[g].window;
        if (window != 0 && i <= length - window) continue;  // the next token does not see it
        const PageId page = state.pages[g][static_cast<size_t>(i / kPageTokens)];
        ASSERT_NE(page, kNoPage) << "token " << i << " of a hit of " << length << " lacks its page";
        ASSERT_EQ(*memory_->slot(g, page, i % kPageTokens), hash) << "token " << i << " is another prompt's";
      }
    }
  }

  void check() {
    std::vector<const KvState*> states;
    for (const KvState& s : held) states.push_back(&s);
    const Status status = kv->check(states);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  Nanos now = 1;
  std::unique_ptr<KvCache> kv;
  std::vector<KvState> held;

 private:
  std::vector<KvGroup> groups_;
  FakeKvPool* memory_ = nullptr;
};

TEST(PrefixTree, HitsAreExactToTheToken) {
  Cache c({0}, 100);
  auto first = count_up(1000, 200);
  EXPECT_EQ(c.run(first), 0);
  for (const int shared : {1, 63, 64, 65, 128, 150, 199}) {
    auto other = first;
    other.resize(static_cast<size_t>(shared));
    other.push_back(7);  // never the first's next token
    EXPECT_EQ(c.run(other), shared);
  }
  EXPECT_EQ(c.run(first), 200);
}

TEST(PrefixTree, ATenantNeverSeesAnothersPrompt) {
  Cache c({0}, 100);
  const auto prompt = count_up(0, 130);
  EXPECT_EQ(c.run(prompt, EngineCore::tree_salt("alice", "")), 0);
  EXPECT_EQ(c.run(prompt, EngineCore::tree_salt("bob", "")), 0);
  EXPECT_EQ(c.run(prompt, EngineCore::tree_salt("alice", "x")), 0);
  EXPECT_EQ(c.run(prompt, EngineCore::tree_salt("alice", "")), 130);
}

TEST(PrefixTree, RandomPromptsNeverFindWrongTokens) {
  // Small alphabets make shared beginnings of every length, within pages and across.
  for (const std::vector<int32_t>& windows : std::vector<std::vector<int32_t>>{{0}, {0, 100}, {70}, {0, 64, 200}}) {
    RandomSequence random(3);
    Cache c(windows, 24);
    std::vector<std::vector<TokenId>> seen;
    int64_t hits = 0;
    for (int i = 0; i < 1500; ++i) {
      std::vector<TokenId> prompt;
      if (!seen.empty() && random.uniform() < 0.7) {
        prompt = seen[random.below(seen.size())];
        prompt.resize(random.below(prompt.size() + 1));
      }
      const auto own = random_prompt(random, random.between(1, 150), 2);
      prompt.insert(prompt.end(), own.begin(), own.end());
      if (prompt.size() > 600) prompt.resize(600);
      hits += c.run(prompt);
      ++c.now;
      if (seen.size() < 40)
        seen.push_back(prompt);
      else
        seen[random.below(40)] = prompt;
      if (::testing::Test::HasFatalFailure()) return;
    }
    EXPECT_GT(hits, 10'000);
    EXPECT_GT(c.kv->tree().stats().evicted_pages, 100);
  }
}

TEST(PrefixTree, TheLeastRecentlyUsedPromptGoesFirstAndItsEndBeforeItsBeginning) {
  Cache c({0}, 6);
  const auto a = count_up(1000, 128), b = count_up(2000, 128);
  c.run(a);
  ++c.now;
  c.run(b);
  ++c.now;
  EXPECT_EQ(c.run(a), 128);  // a is the newer one now
  ++c.now;
  EXPECT_EQ(c.run(count_up(3000, 192)), 0);  // two free pages and one of b
  EXPECT_EQ(c.kv->peek_prefix("", a).tokens, 128);
  EXPECT_EQ(c.kv->peek_prefix("", b).tokens, 64);
}

TEST(PrefixTree, PagesInUseAreNotEvicted) {
  Cache c({0}, 4);
  c.run(count_up(1000, 128), "", true);
  EXPECT_EQ(c.run(count_up(2000, 128)), 0);
  EXPECT_EQ(c.run(count_up(3000, 128)), 0);
  EXPECT_EQ(c.kv->peek_prefix("", count_up(1000, 128)).tokens, 128);
  EXPECT_EQ(c.kv->available(0), 2);
  KvState none;
  none.reset(1);
  EXPECT_FALSE(c.kv->reserve(none, 129));
  c.check();
}

TEST(PrefixTree, PinnedPromptsStayUntilTheirTime) {
  Cache c({0}, 4);
  const auto pinned = count_up(1000, 128);
  c.run(pinned);
  EXPECT_EQ(c.kv->tree().pin("", pinned, 1000), 128);
  c.check();
  c.run(count_up(2000, 128));
  c.run(count_up(3000, 128));
  EXPECT_EQ(c.kv->peek_prefix("", pinned).tokens, 128);
  c.now = 1000;
  c.kv->tree().expire(c.now);
  c.check();
  c.run(count_up(4000, 256));
  EXPECT_EQ(c.kv->peek_prefix("", pinned).tokens, 0);
}

TEST(PrefixTree, WhatNobodyAskedForInItsTimeIsDropped) {
  Cache c({0, 100}, 20, 500);
  c.run(count_up(1000, 200));
  c.now = 400;
  c.run(count_up(2000, 200));
  c.now = 502;
  c.kv->tree().expire(c.now);
  c.check();
  EXPECT_EQ(c.kv->peek_prefix("", count_up(1000, 200)).tokens, 0);
  EXPECT_EQ(c.kv->peek_prefix("", count_up(2000, 200)).tokens, 200);
}

TEST(PrefixTree, ASharedPromptIsFoundBehindASlidingWindow) {
  // 300 shared tokens, far more than the window, then different questions: the hit needs the window before it only.
  Cache c({0, 100}, 60);
  const auto shared = count_up(1000, 300);
  for (TokenId question = 0; question < 4; ++question) {
    auto prompt = shared;
    const auto own = count_up(question * 100, 40);
    prompt.insert(prompt.end(), own.begin(), own.end());
    EXPECT_EQ(c.run(prompt), question == 0 ? 0 : 300);
  }
}

TEST(PrefixTree, AHitIsNotUsedWhenItsWindowIsGone) {
  Cache c({0, 128}, 60);
  const auto prompt = count_up(1000, 640);
  c.run(prompt);
  // All window pages but the last two, which the end of the prompt sees, are evicted first.
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(c.kv->tree().evict(1));
  EXPECT_EQ(c.kv->peek_prefix("", prompt).tokens, 640);
  EXPECT_EQ(c.kv->peek_prefix("", std::span(prompt).first(600)).tokens, 0);
  c.check();
  // Computed again, the pages are filled in beside those of the other group.
  auto other = prompt;
  other.resize(600);
  EXPECT_EQ(c.run(other), 0);
  EXPECT_EQ(c.kv->peek_prefix("", std::span(prompt).first(600)).tokens, 600);
}

TEST(PrefixTree, AContinuedPageIsNotFoundWithTheWindowPageOfItsBeginning) {
  // The tree has 15 tokens of a page; a sequence that went on far beyond its window offers the whole page, but of the
  // window's layers only what it still holds.
  Cache c({0, 64}, 20);
  KvState begun, far;
  begun.reset(2);
  far.reset(2);
  const auto tokens = count_up(0, 192);
  ASSERT_TRUE(c.kv->reserve(begun, 15));
  begun.length = 15;
  c.kv->publish(begun, "", std::span(tokens).first(15), 1);
  c.kv->release(begun, 1);
  ASSERT_TRUE(c.kv->reserve(far, 192));
  far.length = 192;
  c.kv->slide(far, 2);
  c.kv->publish(far, "", tokens, 2);
  EXPECT_EQ(c.kv->peek_prefix("", std::span(tokens).first(99)).tokens, 0);
  EXPECT_EQ(c.kv->peek_prefix("", tokens).tokens, 192);
  c.kv->release(far, 2);
  c.check();
}

TEST(PrefixTree, TwoWhoComputedTheSameKeepOneCopy) {
  Cache c({0}, 20);
  KvState a, b;
  a.reset(1);
  b.reset(1);
  const auto tokens = count_up(0, 128);
  ASSERT_TRUE(c.kv->reserve(a, 128));
  ASSERT_TRUE(c.kv->reserve(b, 128));
  a.length = b.length = 128;
  c.kv->publish(a, "", tokens, 1);
  c.kv->publish(b, "", tokens, 1);
  EXPECT_EQ(a.pages, b.pages);
  EXPECT_EQ(c.kv->pool(0).in_use(), 2);
  EXPECT_EQ(c.kv->tree().stats().duplicate_pages, 2);
  c.kv->release(a, 1);
  c.kv->release(b, 1);
  c.check();
}

TEST(KvCache, ForkedChoicesShareFullPagesAndCopyTheLast) {
  Cache c({0, 100}, 20);
  c.run(count_up(0, 150), "", true);
  KvState twin;
  ASSERT_TRUE(c.kv->fork(c.held[0], twin, 1));
  EXPECT_EQ(twin.pages[0][0], c.held[0].pages[0][0]);
  EXPECT_EQ(twin.pages[0][1], c.held[0].pages[0][1]);
  EXPECT_NE(twin.pages[0][2], c.held[0].pages[0][2]);
  c.held.push_back(twin);
  c.check();
}

TEST(KvCache, AForkWithoutRoomTakesNothing) {
  Cache c({0}, 3);
  c.run(count_up(0, 150), "", true);
  KvState twin;
  EXPECT_FALSE(c.kv->fork(c.held[0], twin, 1));
  c.check();
}

TEST(KvCache, MemoryIsSplitSoThatOneWholeContextFits) {
  const std::vector<KvGroup> groups = {{0, {0}, 1000}, {512, {1}, 5000}};
  for (const int32_t context : {256, 2048, 32768, 131072}) {
    const size_t whole = kv_bytes_for(groups, context);
    for (const size_t bytes : {whole, whole * 3, whole * 50}) {
      const auto pages = split_kv_memory(groups, bytes, context);
      ASSERT_EQ(pages.size(), 2U);
      EXPECT_LE(static_cast<size_t>(pages[0]) * 1000 + static_cast<size_t>(pages[1]) * 5000, bytes);
      KvCache kv(groups, pages, std::make_unique<FakeKvPool>(std::vector<int32_t>{1, 1}), true, 0);
      EXPECT_GE(kv.capacity_tokens(), context) << bytes;
    }
  }
  EXPECT_TRUE(split_kv_memory(groups, 100, 2048).empty());
}

TEST(PagePool, LostAndDoubledPagesAreNoticed) {
  PagePool pool(3);
  const PageId a = pool.allocate();
  const std::vector<int32_t> one = {1, 0, 0}, none = {0, 0, 0};
  EXPECT_TRUE(pool.check(one).ok());
  EXPECT_FALSE(pool.check(none).ok());
  pool.release(a);
  EXPECT_TRUE(pool.check(none).ok());
  EXPECT_FALSE(pool.check(one).ok());
}

}  // namespace
}  // namespace inferens::testing
