// Stop strings: found however the text is cut into tokens, never shown in part, and nothing else held back.
#include "engine/stop_matcher.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace inferens {
namespace {

using namespace std::string_view_literals;

struct Outcome {
  std::string text;
  int stop = -1;
  bool operator==(const Outcome&) const = default;
};

Outcome feed(StopMatcher& matcher, const std::vector<std::string>& pieces) {
  Outcome outcome;
  for (const std::string& piece : pieces) {
    auto result = matcher.push(piece);
    outcome.text += result.text;
    outcome.stop = result.stop;
  }
  if (outcome.stop < 0) outcome.text += matcher.finish();
  return outcome;
}

// By definition: the first position at which some stop string ends, and the longest that ends there.
Outcome by_definition(const std::string& text, const std::vector<std::string>& stops, bool include_stop) {
  for (size_t end = 1; end <= text.size(); ++end) {
    int best = -1;
    for (size_t i = 0; i < stops.size(); ++i) {
      if (stops[i].empty() || !std::string_view(text).substr(0, end).ends_with(stops[i])) continue;
      if (best < 0 || stops[i].size() > stops[static_cast<size_t>(best)].size()) best = static_cast<int>(i);
    }
    if (best >= 0) return {text.substr(0, include_stop ? end : end - stops[static_cast<size_t>(best)].size()), best};
  }
  return {text, -1};
}

TEST(StopMatcher, FindsAStopStringThatSpansSeveralTokens) {
  StopMatcher matcher({"O P Q"});
  EXPECT_EQ(feed(matcher, {" L", " M", " N", " O", " P", " Q", " R"}), (Outcome{" L M N ", 0}));
}

TEST(StopMatcher, ShowsNothingOfTextThatTurnsIntoAStopString) {
  StopMatcher matcher({"DEFGHIJ"});
  for (const char* piece : {"DE", "FG", "HI"}) {
    auto result = matcher.push(piece);
    EXPECT_EQ(result.text, "");
    EXPECT_EQ(result.stop, -1);
  }
  auto result = matcher.push("JK");
  EXPECT_EQ(result.text, "");
  EXPECT_EQ(result.stop, 0);
  EXPECT_EQ(matcher.push("more").text, "");
}

TEST(StopMatcher, HoldsBackOnlyWhatCanStillBecomeAStopString) {
  StopMatcher matcher({"</answer>"});
  EXPECT_EQ(matcher.push("5 < 6").text, "5 < 6");
  EXPECT_EQ(matcher.push(" and </an").text, " and ");
  EXPECT_EQ(matcher.held(), 4u);
  EXPECT_EQ(matcher.push("imal>").text, "</animal>");
  EXPECT_EQ(matcher.push("</answer").text, "");
  EXPECT_EQ(matcher.finish(), "</answer");
  EXPECT_EQ(matcher.held(), 0u);
}

TEST(StopMatcher, KeepsTheStopStringWhenAskedTo) {
  StopMatcher matcher({"\n\n", "END"}, true);
  EXPECT_EQ(feed(matcher, {"a\nb EN", "D c"}), (Outcome{"a\nb END", 1}));
}

TEST(StopMatcher, WithoutStopStringsEverythingGoesThroughAtOnce) {
  StopMatcher none({}), empty({"", ""});
  EXPECT_EQ(none.push("any \xff\0 text"sv).text, "any \xff\0 text"sv);
  EXPECT_EQ(empty.push("text").text, "text");
  EXPECT_EQ(empty.held(), 0u);
}

TEST(StopMatcher, WorksOnBytesInsideCharacters) {
  // é is C3 A9 and è is C3 A8: the first byte alone decides nothing.
  StopMatcher matcher({"é"});
  EXPECT_EQ(matcher.push("caf\xC3").text, "caf");
  EXPECT_EQ(matcher.push("\xA8").text, "\xC3\xA8");
  EXPECT_EQ(matcher.push("x\xC3").text, "x");
  EXPECT_EQ(matcher.push("\xA9").stop, 0);
}

TEST(StopMatcher, TheStopStringThatEndsFirstWinsAndOfThoseThatEndTogetherTheLongest) {
  StopMatcher overlapping({"abcd", "bc"});
  EXPECT_EQ(feed(overlapping, {"xabcd"}), (Outcome{"xa", 1}));
  StopMatcher together({"c", "abc", "bc", "abc"});
  EXPECT_EQ(feed(together, {"xabc"}), (Outcome{"x", 1}));
}

TEST(StopMatcher, AnySplitOfTheSameBytesGivesTheSameTextAndTheSameStop) {
  RandomSequence random(19);
  int stopped = 0;
  for (int round = 0; round < 3000; ++round) {
    const uint64_t alphabet = 1 + random.below(4);
    auto random_text = [&](uint64_t length) {
      std::string s;
      for (uint64_t i = 0; i < length; ++i) s.push_back(static_cast<char>("ab\xC3\xA9"[random.below(alphabet)]));
      return s;
    };
    std::vector<std::string> stops;
    for (uint64_t i = random.below(6); i > 0; --i) stops.push_back(random_text(random.below(9)));
    const std::string text = random_text(random.below(60));
    const bool include_stop = random.below(2) == 1;
    const Outcome expected = by_definition(text, stops, include_stop);
    stopped += expected.stop >= 0;
    for (int split = 0; split < 4; ++split) {
      StopMatcher matcher(stops, include_stop);
      std::vector<std::string> pieces;
      for (size_t at = 0; at < text.size();) {
        const size_t n = split == 0 ? text.size() : random.below(4);  // the whole, or pieces of 0 to 3 bytes
        pieces.push_back(text.substr(at, n));
        at += n;
      }
      const Outcome ours = feed(matcher, pieces);
      ASSERT_EQ(ours.text, expected.text) << "round " << round;
      ASSERT_EQ(ours.stop, expected.stop) << "round " << round;
    }
  }
  EXPECT_GT(stopped, 500);
}

TEST(StopMatcher, ManyLongStopStringsDoNotSlowTheTextDown) {
  // Text that almost matches everywhere: matching by trial would take 10^6 × 10^3 × 10 steps.
  std::vector<std::string> stops;
  for (int i = 0; i < 10; ++i) stops.push_back(std::string(1000, 'a') + static_cast<char>('b' + i));
  StopMatcher matcher(stops);
  size_t shown = 0;
  for (int i = 0; i < 10000; ++i) shown += matcher.push(std::string(100, 'a')).text.size();
  EXPECT_EQ(shown, 1000000u - 1000u);
  EXPECT_EQ(matcher.push("k").stop, 9);
}

}  // namespace
}  // namespace inferens
