// The chat on a real terminal (a pty), over a model that costs nothing or takes its time.
#include "cli/chat.h"

#include <sys/stat.h>

#include <thread>

#include "../engine/fake_model.h"
#include "base/file.h"
#include "child.h"
#include "engine/engine.h"

namespace inferens::testing {
namespace {

class ChatOnTerminal : public CliTest {
 protected:
  // Runs in the child. Every step of the model takes `step_ms`.
  int chat(int step_ms) {
    auto file = GgufFile::open(model());
    std::shared_ptr<const Tokenizer> tokenizer = std::move(Tokenizer::from_gguf(*file).value());
    auto fake = std::make_unique<FakeModel>(FakeModelOptions{.vocab = tokenizer->vocab_size(), .context = 600});
    fake->before_step = [step_ms](std::span<const TokenSpan>) { std::this_thread::sleep_for(std::chrono::milliseconds(step_ms)); };
    Generator::Parts parts;
    parts.model = std::move(fake);
    parts.tokenizer = tokenizer;
    parts.chat_template = ChatTemplate::parse(std::string(*file->get_string("tokenizer.chat_template")), "", "").value();
    parts.info.name = "fake";
    EngineOptions engine;
    engine.kv_bytes = size_t{1} << 20;  // the fake fills it at the start
    auto generator = Generator::make(std::move(parts), engine);
    if (!generator.ok()) return 90;
    ChatOptions options;
    options.model_name = "fake";
    options.verbose = true;
    options.history_path = home_ + "/history";
    options.sampling.max_tokens = max_tokens_;
    options.sampling.seed = 1;
    options.sampling.logit_bias = {std::to_string(*tokenizer->eos()) + "=-100"};
    return Chat(**generator, options).run().ok() ? 0 : 91;
  }
  Terminal start(int step_ms = 0) { return Terminal([this, step_ms] { return chat(step_ms); }); }

  int64_t max_tokens_ = 5;
};

// What the model must be given for a first message, by the template and the tokenizer themselves.
size_t prompt_tokens_of(const std::string& model_path, const std::string& text) {
  GgufFile file = GgufFile::open(model_path).value();
  auto tokenizer = Tokenizer::from_gguf(file).value();
  auto chat_template = ChatTemplate::parse(std::string(file.get_string("tokenizer.chat_template").value()), "", "").value();
  ChatPrompt prompt;
  prompt.messages.emplace_back();
  prompt.messages.back().role = "user";
  prompt.messages.back().content = text;
  return tokenizer->encode_pieces(chat_template->render(prompt, system_clock()).value(), true).size();
}

TEST_F(ChatOnTerminal, TheTalkIsKeptAndForgottenOnClear) {
  Terminal t = start();
  ASSERT_TRUE(t.sees(">>> "));
  t.type("hello\n");
  ASSERT_TRUE(t.sees("TTFT"));
  ASSERT_TRUE(t.sees(">>> "));
  t.type("/show\n");
  ASSERT_TRUE(t.sees("messages in the talk: 2"));
  t.type("again\n");
  ASSERT_TRUE(t.sees("TTFT"));
  t.type("/show\n");
  ASSERT_TRUE(t.sees("messages in the talk: 4"));
  t.type("/clear\n");
  ASSERT_TRUE(t.sees("forgotten"));
  t.type("/show\n");
  ASSERT_TRUE(t.sees("messages in the talk: 0"));
  t.type("/bye\n");
  EXPECT_EQ(t.exit_code(), 0);
}

TEST_F(ChatOnTerminal, CtrlCStopsTheAnswerAndNotTheProgram) {
  max_tokens_ = 500;
  Terminal t = start(20);
  ASSERT_TRUE(t.sees(">>> "));
  t.type("go\n");
  ASSERT_TRUE(t.sees("go\r\n"));
  ASSERT_TRUE(t.sees_bytes(10));
  t.type("\x03");
  ASSERT_TRUE(t.sees("[stopped]"));
  ASSERT_TRUE(t.sees(">>> "));
  t.type("/show\n");
  ASSERT_TRUE(t.sees("messages in the talk: 2"));  // the part that was said stays in the talk
  t.type("/bye\n");
  EXPECT_EQ(t.exit_code(), 0);
}

TEST_F(ChatOnTerminal, CtrlCAtThePromptDropsTheLine) {
  Terminal t = start();
  ASSERT_TRUE(t.sees(">>> "));
  t.type("half a thought");
  ASSERT_TRUE(t.sees("half a thought"));
  t.type("\x03");
  ASSERT_TRUE(t.sees("Ctrl-C again"));
  ASSERT_TRUE(t.sees(">>> "));
  t.type("/show\n");
  ASSERT_TRUE(t.sees("messages in the talk: 0"));
  t.type("/bye\n");
  EXPECT_EQ(t.exit_code(), 0);
}

TEST_F(ChatOnTerminal, CtrlDAndTwoCtrlCLeave) {
  {
    Terminal t = start();
    ASSERT_TRUE(t.sees(">>> "));
    t.type("\x04");
    EXPECT_EQ(t.exit_code(), 0);
  }
  Terminal t = start();
  ASSERT_TRUE(t.sees(">>> "));
  t.type("\x03");
  ASSERT_TRUE(t.sees("Ctrl-C again"));
  ASSERT_TRUE(t.sees(">>> "));
  t.type("\x03");
  EXPECT_EQ(t.exit_code(), 0);
}

TEST_F(ChatOnTerminal, AMessageCanHaveSeveralLines) {
  Terminal t = start();
  ASSERT_TRUE(t.sees(">>> "));
  t.type("one\\\n");
  ASSERT_TRUE(t.sees("... "));
  t.type("two\n");
  EXPECT_TRUE(t.sees("prompt " + std::to_string(prompt_tokens_of(model(), "one\ntwo")) + " tokens"));
  t.type("/clear\n");
  ASSERT_TRUE(t.sees("forgotten"));
  t.type("\"\"\"\n");
  ASSERT_TRUE(t.sees("... "));
  t.type("/one\n");
  ASSERT_TRUE(t.sees("... "));
  t.type("two\"\"\"\n");
  EXPECT_TRUE(t.sees("prompt " + std::to_string(prompt_tokens_of(model(), "/one\ntwo")) + " tokens"));
  t.type("/bye\n");
  EXPECT_EQ(t.exit_code(), 0);
}

TEST_F(ChatOnTerminal, ALineCanBeEditedAndFoundAgain) {
  Terminal t = start();
  ASSERT_TRUE(t.sees(">>> "));
  t.type("ab\xC3\xA4\x7f" "c\n");  // backspace takes the whole character back
  EXPECT_TRUE(t.sees("prompt " + std::to_string(prompt_tokens_of(model(), "abc")) + " tokens"));
  ASSERT_TRUE(t.sees(">>> "));
  t.type("/clear\n");
  ASSERT_TRUE(t.sees("forgotten"));
  ASSERT_TRUE(t.sees(">>> "));
  t.type("\x10\x10\n");  // Ctrl-P twice: the line before the last
  EXPECT_TRUE(t.sees("prompt " + std::to_string(prompt_tokens_of(model(), "abc")) + " tokens"));
  t.type("/bye\n");
  EXPECT_EQ(t.exit_code(), 0);
  struct stat st {};
  ASSERT_EQ(::stat((home_ + "/history").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600U);
  EXPECT_NE(read_file(home_ + "/history").value().find("abc"), std::string::npos);
}

TEST_F(ChatOnTerminal, SettingsAreCheckedAndAWrongOneChangesNothing) {
  Terminal t = start();
  ASSERT_TRUE(t.sees(">>> "));
  t.type("/set temperature 0.25\n/set temperature 99x\n/set nonsense 1\n/show\n");
  EXPECT_TRUE(t.sees("'99x' is not a number"));
  EXPECT_TRUE(t.sees("there is no setting 'nonsense'"));
  EXPECT_TRUE(t.sees("temperature 0.25"));
  t.type("/frob\n");
  EXPECT_TRUE(t.sees("there is no command '/frob'"));
  t.type("/system Be brief.\n/show\n");
  EXPECT_TRUE(t.sees("system: Be brief."));
  t.type("/help\n");
  EXPECT_TRUE(t.sees("/clear"));
  t.type("/bye\n");
  EXPECT_EQ(t.exit_code(), 0);
}

TEST_F(ChatOnTerminal, AMessageThatDoesNotFitIsRefusedAndTheTalkGoesOn) {
  Terminal t = start();
  ASSERT_TRUE(t.sees(">>> "));
  for (int i = 0; i < 2; ++i) {
    t.type(std::string(300, 'x') + "\\\n");
    ASSERT_TRUE(t.sees("... "));
  }
  t.type("end\n");
  ASSERT_TRUE(t.sees("the context is 600 tokens"));
  t.type("/show\n");
  ASSERT_TRUE(t.sees("messages in the talk: 0"));
  t.type("hello\n");
  ASSERT_TRUE(t.sees("TTFT"));
  t.type("/bye\n");
  EXPECT_EQ(t.exit_code(), 0);
}

}  // namespace
}  // namespace inferens::testing
