// Messages, tools and variables as templates see them.
#include <gtest/gtest.h>

#include <string>

#include "text/chat_template.h"

namespace inferens {
namespace {

StatusOr<std::string> render(const std::string& source, const ChatPrompt& prompt) {
  auto parsed = ChatTemplate::parse(source, "<s>", "</s>");
  if (!parsed.ok()) return parsed.status();
  auto pieces = (*parsed)->render(prompt, system_clock());
  if (!pieces.ok()) return pieces.status();
  std::string text;
  for (const PromptPiece& piece : *pieces) text += piece.text;
  return text;
}

ChatPrompt one_message(const std::string& role, const std::string& content) {
  ChatPrompt prompt;
  ChatMessage message;
  message.role = role;
  message.content = content;
  prompt.messages = {message};
  return prompt;
}

TEST(ChatTemplateTest, AMessageShowsWhatItHasAndNothingElse) {
  ChatPrompt prompt = one_message("user", "hi");
  EXPECT_EQ(render("{{ messages[0]|tojson }}", prompt).value(), R"({"role": "user", "content": "hi"})");
  prompt.messages[0].has_content = false;
  EXPECT_EQ(render("{{ messages[0].content is none }}{{ messages[0].name is defined }}", prompt).value(), "TrueFalse");
  prompt.messages[0].tool_calls = {
      {"c1", "f", R"({"b": 1, "a": [2.50, null]})"}, {"", "g", "plain"}, {"c3", "h", "[1]"}};
  EXPECT_EQ(render("{{ messages[0].tool_calls|tojson }}", prompt).value(),
            R"([{"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"b": 1, "a": [2.5, null]}}}, )"
            R"({"type": "function", "function": {"name": "g", "arguments": "plain"}}, )"
            R"({"id": "c3", "type": "function", "function": {"name": "h", "arguments": "[1]"}}])");
}

TEST(ChatTemplateTest, RaisedTextComesBackWordForWord) {
  const auto result =
      render("{{ raise_exception('Roles must alternate: \"' ~ messages[0].role ~ '\"') }}", one_message("user", "x"));
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(result.status().message(), "Roles must alternate: \"user\"");
}

TEST(ChatTemplateTest, ToolsKeepTheirOrderAndTheirNumbers) {
  ChatPrompt prompt = one_message("user", "x");
  EXPECT_EQ(render("{{ tools is none }}", prompt).value(), "True");
  prompt.tools_json = R"([{"z": 1, "a": {"y": 1e3, "b": -0.5, "i": 9007199254740993}, "é": "\u00e9<"}])";
  EXPECT_EQ(render("{{ tools|tojson }}", prompt).value(),
            R"([{"z": 1, "a": {"y": 1000.0, "b": -0.5, "i": 9007199254740993}, "é": "é<"}])");
}

TEST(ChatTemplateTest, WrongToolsAndVariablesAreTheCallersError) {
  ChatPrompt prompt = one_message("user", "x");
  for (const std::string json :
       {"{", "{}", "5", "[1", "[1]x", "[\"\\ud800\"]", "[18446744073709551615]", "[123456789012345678901234567890]"}) {
    prompt.tools_json = json;
    const auto result = render("x", prompt);
    EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument) << json;
    EXPECT_EQ(result.status().message().find("tools: "), 0u) << result.status().message();
  }
  prompt.tools_json = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_NE(render("x", prompt).status().message().find("nested more than"), std::string::npos);
  prompt.tools_json.clear();
  for (const std::string name :
       {"messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "continue_final_message"}) {
    prompt.template_kwargs_json = "{\"" + name + "\": 1}";
    EXPECT_EQ(render("x", prompt).status().code(), StatusCode::kInvalidArgument) << name;
    EXPECT_NE(render("x", prompt).status().message().find("'" + name + "'"), std::string::npos);
  }
  prompt.template_kwargs_json = "[]";
  EXPECT_EQ(render("x", prompt).status().code(), StatusCode::kInvalidArgument);
  prompt.template_kwargs_json = R"({"enable_thinking": false})";
  EXPECT_EQ(render("{{ enable_thinking }}", prompt).value(), "False");
}

TEST(ChatTemplateTest, TheFinalMessageIsLeftOpen) {
  ChatPrompt prompt = one_message("assistant", "The sky is ");
  prompt.continue_final_message = true;
  EXPECT_EQ(render("<a>{{ messages[0].content }}<end>{% if add_generation_prompt %}<gen>{% endif %}", prompt).value(),
            "<a>The sky is ");
  EXPECT_EQ(render("<a>{{ messages[0].content|trim }}<end>", prompt).value(), "<a>The sky is");
  EXPECT_FALSE(render("<a>{{ messages[0].content|length }}<end>", prompt).ok());
  EXPECT_FALSE(render("<a><end>", prompt).ok());
  prompt.messages[0].has_content = false;
  EXPECT_FALSE(render("{{ messages[0].content }}", prompt).ok());
  prompt.messages.clear();
  EXPECT_FALSE(render("{{ messages[0].content }}", prompt).ok());
}

TEST(ChatTemplateTest, ABrokenTemplateIsReportedWhenItIsRead) {
  const auto parsed = ChatTemplate::parse("line one\n{% for m in messages %}{{ m.content }", "", "");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.status().message().find("chat template line 2: "), 0u) << parsed.status().message();
}

TEST(ChatTemplateTest, TheSourceIsKept) {
  EXPECT_EQ(ChatTemplate::parse("{{ 1 }}\r\n", "", "").value()->source(), "{{ 1 }}\r\n");
}

}  // namespace
}  // namespace inferens
