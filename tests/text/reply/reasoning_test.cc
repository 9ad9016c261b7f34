// Reasoning apart from the answer.
#include "reply_cases.h"

namespace inferens::testing {
namespace {

void expect_split(std::string_view format, std::string_view text, std::string_view reasoning, std::string_view content,
                  bool open = false) {
  const ReadReply read = read_reply(format_named("none", format), text, open);
  EXPECT_EQ(read.reasoning, reasoning) << text;
  EXPECT_EQ(read.content, content) << text;
}

TEST(ReasoningTest, WhatStandsBetweenTheMarkersIsReasoningAndNeverContent) {
  expect_split("think", "<think>\nHm.\n\nSo.\n</think>\n\nYes.\n", "Hm.\n\nSo.", "Yes.\n");
  expect_split("think", "\n<think>a</think>b", "a", "b");
  expect_split("think", "<think></think>b", "", "b");
  expect_split("think", "<think>\n\n</think>\n\nb", "", "b");
  expect_split("think-brackets", "[THINK]a[/THINK]b", "a", "b");
  expect_split("command", "<|START_THINKING|>a<|END_THINKING|>b", "a", "b");
}

TEST(ReasoningTest, APromptThatEndsInsideOfTheReasoningNeedsNoOpeningMarker) {
  expect_split("think", "Hm.\n</think>\n\nYes.", "Hm.", "Yes.", true);
  expect_split("think", "\nHm", "Hm", "", true);
  expect_split("think", "</think>Yes.", "", "Yes.", true);
}

TEST(ReasoningTest, AMarkerInTheAnswerIsText) {
  expect_split("think", "Write <think>x</think> to think", "", "Write <think>x</think> to think");
  expect_split("think", "<think>a</think>b <think>c</think>", "a", "b <think>c</think>");
  expect_split("think", " <thin", "", " <thin");
  expect_split("think", "hello </think> world", "", "hello </think> world");
}

TEST(ReasoningTest, ReasoningThatIsCutOffStaysReasoning) {
  expect_split("think", "<think>a <b </thi", "a <b </thi", "");
  expect_split("think", "<think>a\n\n", "a", "");
}

TEST(ReasoningTest, ACallInsideOfTheReasoningIsThoughtAndNotMade) {
  const ReadReply read =
      read_reply(format_named("hermes", "think"), "<think><tool_call>{\"name\": \"now\"}</tool_call></think>ok");
  EXPECT_TRUE(read.calls.empty());
  EXPECT_EQ(read.reasoning, "<tool_call>{\"name\": \"now\"}</tool_call>");
  EXPECT_EQ(read.content, "ok");
}

TEST(ReasoningTest, ChannelsOfHarmonyAreToldApart) {
  const ReplyFormat harmony = format_named("harmony");
  ReadReply read = read_reply(
      harmony,
      "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>analysis<|message|>So.<|end|><|start|>"
      "assistant<|channel|>commentary<|message|>Wait. <|end|><|start|>assistant<|channel|>final<|message|>Yes <b>.");
  EXPECT_EQ(read.reasoning, "Hm.\nSo.");
  EXPECT_EQ(read.content, "Wait. Yes <b>.");
  read = read_reply(harmony, "No header at all");
  EXPECT_EQ(read.content, "No header at all");
  read = read_reply(harmony, "<|channel|>commentary to=functions.now<|message|>{}<|call|>", false, nullptr);
  EXPECT_TRUE(read.calls.empty());
  EXPECT_EQ(read.content, "{}");
}

TEST(ReasoningTest, TheStateSaysWhetherTheNextByteMayBeReasoning) {
  ReplyParser parser(format_named("none", "think"), true, nullptr);
  EXPECT_TRUE(parser.reasoning());
  parser.push("a</think");
  EXPECT_TRUE(parser.reasoning());
  parser.push(">");
  EXPECT_FALSE(parser.reasoning());
}

TEST(ReplyFormatTest, NamesOfFlagsAreThoseOfTheList) {
  EXPECT_FALSE(parse_tool_format("xml").has_value());
  EXPECT_FALSE(parse_reasoning_format("xml").has_value());
  EXPECT_EQ(parse_reasoning_format("none").value(), nullptr);
  EXPECT_NE(tool_format_names().find("hermes"), std::string::npos);
  EXPECT_NE(reasoning_format_names().find("think-brackets"), std::string::npos);
  const auto markers = visible_markers(format_named("mistral", "think-brackets"), true);
  EXPECT_NE(std::find(markers.begin(), markers.end(), "[TOOL_CALLS]"), markers.end());
  EXPECT_NE(std::find(markers.begin(), markers.end(), "[/THINK]"), markers.end());
}

}  // namespace
}  // namespace inferens::testing
