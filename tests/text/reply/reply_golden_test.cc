// Turns of the assistant as the models' own chat templates write them (tests/golden/reply), read back.
#include "base/file.h"
#include "base/random.h"
#include "reply_cases.h"

namespace inferens::testing {
namespace {

using nlohmann::json;

json golden(const std::string& name) {
  const auto text = read_file(std::string(INFERENS_TEST_DATA) + "/reply/" + name);
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text.ok() ? json::parse(*text) : json();
}

ReplyFormat format_of(const json& c) {
  return format_named(c["format"].get<std::string>(), c["reasoning_format"].get<std::string>());
}

TEST(ReplyGoldenTest, WhatATemplateWritesIsReadBack) {
  const json replies = golden("replies.json");
  const auto tools = tool_set(replies["tools"].dump());
  for (const json& c : replies["cases"]) {
    SCOPED_TRACE(c["model"].get<std::string>() + " " + c["turn"].get<std::string>());
    const ReadReply read = read_reply(format_of(c), c["reply"].get<std::string>(), c["open"].get<bool>(), tools);
    EXPECT_EQ(without_blanks(read.content), c["content"].get<std::string>());
    EXPECT_EQ(read.reasoning, c["reasoning"].get<std::string>());
    EXPECT_EQ(read.calls_ended, static_cast<int32_t>(read.calls.size()));
    ASSERT_EQ(read.calls.size(), c["calls"].size());
    for (size_t i = 0; i < read.calls.size(); ++i) {
      EXPECT_EQ(read.calls[i].name, c["calls"][i]["name"].get<std::string>());
      EXPECT_EQ(json::parse(read.calls[i].arguments, nullptr, false), c["calls"][i]["arguments"])
          << read.calls[i].arguments;
    }
  }
}

TEST(ReplyGoldenTest, AFormatIsFoundByItsTemplate) {
  for (const json& c : golden("detect.json")) {
    SCOPED_TRACE(c["model"].get<std::string>());
    const ReplyFormat format = detect_reply_format(c["template"].get<std::string>());
    const ReplyFormat wanted = format_of(c);
    EXPECT_EQ(tool_format_info(format.tools).name, tool_format_info(wanted.tools).name);
    EXPECT_EQ(format.reasoning, wanted.reasoning);
  }
}

// The pieces that tokens come in depend on the vocabulary, and on what waits for the reader: they must not show.
TEST(ReplyGoldenTest, EveryCutOfAReplyGivesTheSame) {
  const json replies = golden("replies.json");
  const auto tools = tool_set(replies["tools"].dump());
  RandomSequence random(7);
  for (const json& c : replies["cases"]) {
    SCOPED_TRACE(c["model"].get<std::string>() + " " + c["turn"].get<std::string>());
    const auto text = c["reply"].get<std::string>();
    const ReplyFormat format = format_of(c);
    const bool open = c["open"].get<bool>();
    const ReadReply whole = read_reply(format, text, open, tools);
    for (size_t cut = 0; cut <= text.size(); ++cut) {
      ASSERT_EQ(read_in_pieces(format, text, {cut}, open, tools), whole) << "cut at " << cut;
    }
    for (int i = 0; i < 20; ++i) {
      std::vector<size_t> cuts;
      for (size_t at = 0; at < text.size(); at += static_cast<size_t>(random.between(1, 9))) cuts.push_back(at);
      ASSERT_EQ(read_in_pieces(format, text, cuts, open, tools), whole);
    }
  }
}

// A reply that is cut off (by max_tokens) is read as far as it goes: what was shown is never taken back.
TEST(ReplyGoldenTest, ACutReplyIsTheBeginningOfTheWholeOne) {
  const json replies = golden("replies.json");
  const auto tools = tool_set(replies["tools"].dump());
  for (const json& c : replies["cases"]) {
    SCOPED_TRACE(c["model"].get<std::string>() + " " + c["turn"].get<std::string>());
    const auto text = c["reply"].get<std::string>();
    const ReplyFormat format = format_of(c);
    const ReadReply whole = read_reply(format, text, c["open"].get<bool>(), tools);
    for (size_t end = 0; end < text.size(); ++end) {
      ReplyParser parser(format, c["open"].get<bool>(), tools);
      ReadReply part;
      part.take(parser.push(std::string_view(text).substr(0, end)));
      ASSERT_TRUE(whole.content.starts_with(part.content)) << end;
      ASSERT_TRUE(whole.reasoning.starts_with(part.reasoning)) << end;
      ASSERT_LE(part.calls.size(), whole.calls.size());
      for (size_t i = 0; i < part.calls.size(); ++i) {
        ASSERT_EQ(part.calls[i].name, whole.calls[i].name);
        ASSERT_TRUE(whole.calls[i].arguments.starts_with(part.calls[i].arguments)) << end;
      }
    }
  }
}

}  // namespace
}  // namespace inferens::testing
