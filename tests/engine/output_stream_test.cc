// Text, stop strings and logprobs of one choice, as a stream.
#include "engine/output_stream.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/utf8.h"
#include "fake_tokenizer.h"

namespace inferens::testing {
namespace {

struct Seen {
  std::string text;
  std::vector<TokenId> tokens;
  std::vector<PositionLogprobs> logprobs;
  int events_of_broken_text = 0;

  void take(std::optional<GenerationEvent> e) {
    if (!e) return;
    if (!is_valid_utf8(e->text)) ++events_of_broken_text;
    text += e->text;
    tokens.insert(tokens.end(), e->tokens.begin(), e->tokens.end());
    logprobs.insert(logprobs.end(), e->logprobs.begin(), e->logprobs.end());
  }
};

PositionLogprobs logprob_of(TokenId token) {
  PositionLogprobs l;
  l.chosen.token = token;
  return l;
}

Seen run(const FakeTokenizer& tokenizer, const GenerationRequest& request, const std::vector<TokenId>& tokens,
         size_t unmatched = 0) {
  OutputStream stream(&tokenizer, request, 0);
  Seen seen;
  for (size_t i = 0; i < tokens.size() && !stream.stopped(); ++i) {
    seen.take(stream.push(tokens[i], logprob_of(tokens[i]), i >= unmatched));
  }
  if (!stream.stopped()) seen.take(stream.finish());
  return seen;
}

TEST(OutputStream, NoPartOfAStopStringIsEverShown) {
  const FakeTokenizer t({"He", "llo", " ST", "OP", "S", "T", " now"});
  GenerationRequest r;
  r.stop = {"STOP"};
  OutputStream stream(&t, r, 0);
  Seen seen;
  for (const TokenId id : {0, 1}) seen.take(stream.push(id, logprob_of(id), true));
  EXPECT_EQ(seen.text, "Hello");
  seen.take(stream.push(2, logprob_of(2), true));
  EXPECT_EQ(seen.text, "Hello ");  // "ST" may become the stop string
  EXPECT_EQ(seen.tokens, (std::vector<TokenId>{0, 1}));
  seen.take(stream.push(3, logprob_of(3), true));
  EXPECT_TRUE(stream.stopped());
  EXPECT_EQ(stream.stop(), 0);
  EXPECT_EQ(seen.text, "Hello ");
  // The token that holds the blank belongs to the output, the one wholly in the stop string does not.
  EXPECT_EQ(seen.tokens, (std::vector<TokenId>{0, 1, 2}));
  EXPECT_EQ(seen.logprobs.size(), 3U);
}

TEST(OutputStream, TheStopStringIsTheEndWhenAskedFor) {
  const FakeTokenizer t({"ab", "c", "d"});
  GenerationRequest r;
  r.stop = {"bc"};
  r.include_stop_in_output = true;
  const Seen seen = run(t, r, {0, 1, 2});
  EXPECT_EQ(seen.text, "abc");
  EXPECT_EQ(seen.tokens, (std::vector<TokenId>{0, 1}));
}

TEST(OutputStream, WhatOnlyLookedLikeAStopStringComesOut) {
  const FakeTokenizer t({"a", "b", "x"});
  GenerationRequest r;
  r.stop = {"aab"};
  EXPECT_EQ(run(t, r, {0, 0, 2, 0, 0}).text, "aaxaa");
  EXPECT_EQ(run(t, r, {0, 0, 2, 0, 0}).tokens.size(), 5U);
}

TEST(OutputStream, StopStringsWaitForTheLeastNumberOfTokens) {
  const FakeTokenizer t({"a", "b"});
  GenerationRequest r;
  r.stop = {"b"};
  EXPECT_EQ(run(t, r, {1, 0, 1, 0}, 2).text, "ba");
}

TEST(OutputStream, CharactersAreNeverSplit) {
  const std::string smile = "\xF0\x9F\x98\x80";
  const FakeTokenizer t({smile.substr(0, 1), smile.substr(1, 2), smile.substr(3), "a", "\xFF"});
  const Seen seen = run(t, {}, {3, 0, 1, 2, 3, 4, 0, 1});
  EXPECT_EQ(seen.text, "a" + smile + "a\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(seen.events_of_broken_text, 0);
  EXPECT_EQ(seen.tokens.size(), 8U);
}

TEST(OutputStream, EveryTokenComesOnceAndInOrderWithTheTextItMade) {
  const FakeTokenizer t({"a", "b", "ab", "\xC3", "\xA9", "aba", "\xE2\x82", "\xAC"});
  RandomSequence random(8);
  for (int i = 0; i < 3000; ++i) {
    GenerationRequest r;
    if (random.uniform() < 0.7)
      r.stop = {"abab", "bbb",
                "\xC3\xA9"
                "a"};
    r.skip_special_tokens = random.uniform() < 0.5;
    std::vector<TokenId> tokens;
    for (uint64_t n = random.below(30); n > 0; --n) tokens.push_back(static_cast<TokenId>(random.below(10)));
    const Seen seen = run(t, r, tokens);
    EXPECT_EQ(seen.events_of_broken_text, 0);
    const std::string all = repair_utf8(t.decode(tokens, r.skip_special_tokens));
    size_t cut = all.size();
    for (const std::string& stop : r.stop) {
      // The first to end wins, so the earliest end decides; of those that end there, the longest.
      for (size_t at = all.find(stop); at != std::string::npos; at = all.find(stop, at + 1)) {
        size_t end = at + stop.size();
        for (const std::string& other : r.stop) {
          const size_t p = all.find(other);
          if (p != std::string::npos) end = std::min(end, p + other.size());
        }
        if (at + stop.size() == end) cut = std::min(cut, at);
        break;
      }
    }
    ASSERT_EQ(seen.text, all.substr(0, cut));
    ASSERT_LE(seen.tokens.size(), tokens.size());
    ASSERT_TRUE(std::equal(seen.tokens.begin(), seen.tokens.end(), tokens.begin()));
    ASSERT_EQ(seen.logprobs.size(), seen.tokens.size());
    ASSERT_TRUE(cut < all.size() || seen.tokens.size() == tokens.size());
  }
}

}  // namespace
}  // namespace inferens::testing
