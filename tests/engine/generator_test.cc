// The front: prompts of all kinds become tokens on the caller's thread, and what cannot be answered is refused before
// it queues, with both numbers.
#include "engine/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "engine/engine.h"
#include "fake_tokenizer.h"
#include "harness.h"

namespace inferens::testing {
namespace {

// Renders "role:content" of every message, one trusted piece each.
class FakeTemplate final : public ChatTemplate {
 public:
  StatusOr<std::vector<PromptPiece>> render(const ChatPrompt& prompt, const Clock&) const override {
    rendered_on = std::this_thread::get_id();
    std::vector<PromptPiece> out;
    for (const ChatMessage& m : prompt.messages) out.push_back({m.role + m.content, true});
    if (out.empty()) return invalid_argument("no messages");
    return out;
  }
  const std::string& source() const override { return source_; }
  mutable std::thread::id rendered_on;

 private:
  std::string source_ = "fake";
};

std::unique_ptr<Generator> make_generator(std::shared_ptr<const ChatTemplate> chat_template, Status problem = {}) {
  FakeModelOptions model;
  model.greedy_run = true;
  Generator::Parts parts;
  parts.model = std::make_unique<FakeModel>(model);
  parts.tokenizer = std::make_shared<FakeTokenizer>(FakeTokenizer::letters(40));
  parts.chat_template = std::move(chat_template);
  parts.template_problem = std::move(problem);
  auto made = Generator::make(std::move(parts), with_pages({2}));
  EXPECT_TRUE(made.ok());
  return std::move(*made);
}

GenerationRequest text_request(std::string prompt, int32_t max_tokens) {
  GenerationRequest r;
  r.prompt = std::move(prompt);
  r.max_tokens = max_tokens;
  r.sampling.temperature = 0;
  return r;
}

Outcome answer(Generator& g, GenerationRequest request) {
  Outcome o;
  const Status status = g.generate_and_wait(std::move(request), [&](GenerationEvent&& e) { o.take(std::move(e)); });
  if (!status.ok()) o.error = status;
  return o;
}

TEST(Generator, TextTokensAndChatsAreAnswered) {
  const auto chat_template = std::make_shared<FakeTemplate>();
  const auto g = make_generator(chat_template);
  EXPECT_EQ(answer(*g, text_request("xa", 3)).choices[0].text, "bcd");
  GenerationRequest r = text_request("", 3);
  r.prompt = std::vector<TokenId>{5};
  EXPECT_EQ(answer(*g, r).choices[0].text, "ghi");
  ChatMessage message;
  message.role = "user";
  message.content = "hi";
  r.prompt = ChatPrompt{{message}, "", "", true, false};
  EXPECT_EQ(answer(*g, r).choices[0].text, "jkl");
  EXPECT_EQ(chat_template->rendered_on, std::this_thread::get_id());
}

TEST(Generator, APromptLongerThanTheContextIsRefusedWithBothNumbers) {
  const auto g = make_generator(nullptr);
  EXPECT_EQ(g->model_info().context, 128);
  const Outcome o = answer(*g, text_request(std::string(128, 'a'), -1));
  EXPECT_EQ(o.error.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(o.error.message(), ::testing::HasSubstr("128 tokens and leaves no room"));
  EXPECT_THAT(answer(*g, text_request(std::string(300, 'a'), 5)).error.message(), ::testing::HasSubstr("300"));
  EXPECT_THAT(answer(*g, text_request(std::string(100, 'a'), 29)).error.message(), ::testing::HasSubstr("129"));
  EXPECT_TRUE(answer(*g, text_request(std::string(100, 'a'), 28)).error.ok());
}

TEST(Generator, WithoutALimitTheAnswerFillsTheContext) {
  const auto g = make_generator(nullptr);
  GenerationRequest r = text_request(std::string(100, 'a'), -1);
  r.ignore_eos = true;
  const Outcome o = answer(*g, r);
  EXPECT_EQ(o.usage.completion_tokens, 28);
  EXPECT_EQ(o.choices[0].finish, FinishReason::kLength);
}

TEST(Generator, AModelWithoutATemplateStillTakesRawPrompts) {
  GenerationRequest chat;
  ChatMessage message;
  message.role = "user";
  message.content = "hi";
  chat.prompt = ChatPrompt{{message}, "", "", true, false};
  const auto none = make_generator(nullptr);
  EXPECT_EQ(answer(*none, chat).error.code(), StatusCode::kFailedPrecondition);
  const auto broken = make_generator(nullptr, invalid_argument("line 3: unknown tag"));
  EXPECT_THAT(answer(*broken, chat).error.message(), ::testing::HasSubstr("line 3: unknown tag"));
  EXPECT_TRUE(answer(*broken, text_request("a", 2)).error.ok());
}

TEST(Generator, UnusableStopStringsAreRefused) {
  const auto g = make_generator(nullptr);
  GenerationRequest r = text_request("a", 2);
  r.stop = {"x", ""};
  EXPECT_THAT(answer(*g, r).error.message(), ::testing::HasSubstr("empty"));
  r.stop = {std::string(100'000, 'x')};
  EXPECT_THAT(answer(*g, r).error.message(), ::testing::HasSubstr("100000"));
  r.stop.assign(65, "x");
  EXPECT_THAT(answer(*g, r).error.message(), ::testing::HasSubstr("65"));
}

TEST(Generator, EchoGivesThePromptBackWordForWord) {
  const auto g = make_generator(nullptr);
  GenerationRequest r = text_request("xyza", 1);
  r.echo = true;
  EXPECT_EQ(answer(*g, r).prompt_text, "xyza");
}

TEST(Generator, CancelFromAnotherThreadEndsTheRequest) {
  const auto g = make_generator(nullptr);
  GenerationRequest r = text_request("a", -1);
  r.ignore_eos = true;
  std::promise<FinishReason> end;
  const auto id = g->generate(r, [&](GenerationEvent&& e) {
    if (e.kind == GenerationEvent::Kind::kFinished) end.set_value(e.finish);
  });
  ASSERT_TRUE(id.ok());
  g->cancel(*id);
  const FinishReason reason = end.get_future().get();
  EXPECT_TRUE(reason == FinishReason::kCancelled || reason == FinishReason::kLength);
}

TEST(Generator, AFileThatIsNoModelIsRefusedByName) {
  GeneratorOptions options;
  options.model_path = "/nowhere/model.gguf";
  const auto g = Generator::load(options);
  ASSERT_FALSE(g.ok());
  EXPECT_THAT(g.status().message(), ::testing::HasSubstr("/nowhere/model.gguf"));
}

}  // namespace
}  // namespace inferens::testing
