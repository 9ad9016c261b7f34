// The template language against Hugging Face's own renderer: every feature, random templates, and the models' templates
// with whole conversations. The expected texts were made by tests/golden/jinja/make_cases.py.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "text/chat_template.h"
#include "text/jinja/json.h"
#include "text/jinja/template.h"

namespace inferens {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kNow = 1735732800;  // hugging_face.py renders at this second, in UTC

ordered_json read_json(const std::string& name) {
  std::ifstream file(std::string(INFERENS_TEST_DATA) + "/jinja/" + name);
  return ordered_json::parse(file);
}

class JinjaGoldenTest : public testing::Test {
 protected:
  JinjaGoldenTest() {
    setenv("TZ", "UTC", 1);
    tzset();
    clock_.set_unix_seconds(kNow);
  }

  // "out", "raise" or "error", and the text of the first two.
  std::pair<std::string, std::string> render(const std::string& source, const std::string& variables_json) {
    auto parsed = jinja::Template::parse(source);
    if (!parsed.ok()) return {"error", parsed.status().message()};
    auto rendered = parsed->render(
        [&](jinja::Runtime& runtime, jinja::Variables& variables) {
          const jinja::Value all = jinja::parse_json(runtime.budget(), variables_json, "variables");
          for (const auto& [key, value] : all.dict()->entries) variables.insert_or_assign(key.text().str(), value);
        },
        clock_);
    if (rendered.ok()) return {"out", rendered->str()};
    return {rendered.status().message().starts_with("chat template") ? "error" : "raise", rendered.status().message()};
  }

  void expect_all_match(const std::string& name, size_t at_least) {
    const ordered_json golden = read_json(name);
    ordered_json variables = golden["variables"];
    variables.update({{"tools", nullptr},
                      {"documents", nullptr},
                      {"bos_token", "<s>"},
                      {"eos_token", "</s>"},
                      {"add_generation_prompt", true}});
    const std::string variables_json = variables.dump();
    EXPECT_GE(golden["cases"].size(), at_least);
    for (const auto& golden_case : golden["cases"]) {
      const std::string source = golden_case[0], kind = golden_case[1], text = golden_case[2];
      const auto [our_kind, our_text] = render(source, variables_json);
      EXPECT_EQ(our_kind, kind) << source << "\n" << our_text;
      if (kind != "error") {
        EXPECT_EQ(our_text, text) << source;
      }
    }
  }

  FakeClock clock_;
};

TEST_F(JinjaGoldenTest, EveryFeatureRendersAsInHuggingFace) {
  expect_all_match("features.json", 1700);
}
TEST_F(JinjaGoldenTest, RandomTemplatesRenderAsInHuggingFace) {
  expect_all_match("random.json", 2800);
}

ChatMessage to_message(const ordered_json& json) {
  ChatMessage message;
  message.role = json.at("role");
  message.has_content = !json.at("content").is_null();
  if (message.has_content) message.content = json["content"];
  message.name = json.value("name", "");
  message.reasoning_content = json.value("reasoning_content", "");
  message.tool_call_id = json.value("tool_call_id", "");
  for (const auto& call : json.value("tool_calls", ordered_json::array())) {
    const auto& arguments = call["function"]["arguments"];
    message.tool_calls.push_back({call["id"], call["function"]["name"],
                                  arguments.is_string() ? arguments.get<std::string>() : arguments.dump()});
  }
  return message;
}

ChatPrompt to_prompt(const ordered_json& conversation, bool continued) {
  ChatPrompt prompt;
  for (const auto& message : conversation["messages"]) prompt.messages.push_back(to_message(message));
  if (!conversation["tools"].is_null()) prompt.tools_json = conversation["tools"].dump();
  prompt.template_kwargs_json = conversation["extra"].dump();
  prompt.add_generation_prompt = conversation["add_generation_prompt"];
  prompt.continue_final_message = continued;
  return prompt;
}

void expect_models_match(const ordered_json& golden, const Clock& clock) {
  for (const auto& golden_case : golden["cases"]) {
    const std::string name = golden_case[0], conversation = golden_case[1], kind = golden_case[3],
                      text = golden_case[4];
    SCOPED_TRACE(name + ", " + conversation);
    auto parsed = ChatTemplate::parse(golden["templates"][name], "<s>", "</s>");
    auto rendered = parsed.ok()
                        ? (*parsed)->render(to_prompt(golden["conversations"][conversation], golden_case[2]), clock)
                        : StatusOr<std::vector<PromptPiece>>(parsed.status());
    if (kind == "error") {
      EXPECT_FALSE(rendered.ok());
    } else if (kind == "raise") {
      EXPECT_EQ(rendered.status().code(), StatusCode::kInvalidArgument);
      EXPECT_EQ(rendered.status().message(), text);
    } else {
      ASSERT_TRUE(rendered.ok()) << rendered.status().message();
      std::string joined;
      for (const PromptPiece& piece : *rendered) joined += piece.text;
      EXPECT_EQ(joined, text);
    }
  }
}

TEST_F(JinjaGoldenTest, TheModelsOwnTemplatesGiveTheSamePromptBytes) {
  expect_models_match(read_json("models.json"), clock_);
}

TEST_F(JinjaGoldenTest, ManyModelsTemplatesGiveTheSamePromptBytes) {
  if (!std::filesystem::exists(std::string(INFERENS_TEST_DATA) + "/jinja/local_models.json")) {
    GTEST_SKIP() << "no local_models.json; tests/golden/jinja/make_cases.py FOLDER makes it from a folder of templates";
  }
  expect_models_match(read_json("local_models.json"), clock_);
}

}  // namespace
}  // namespace inferens
