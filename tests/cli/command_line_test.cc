#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/utf8.h"
#include "child.h"
#include "formats/gguf_writer.h"
#include "text/tokenizer.h"

namespace inferens::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class CommandLine : public CliTest {
 protected:
  // "TOKEN=-100" for the end token: then an answer is as long as --max-tokens says.
  static std::string never_end() {
    auto file = GgufFile::open(model()).value();
    return std::to_string(*Tokenizer::from_gguf(file).value()->eos()) + "=-100";
  }
  Outcome run(std::vector<std::string> more, const std::string& input = "") {
    std::vector<std::string> all = {"run", model(), "--logit-bias", never_end()};
    all.insert(all.end(), more.begin(), more.end());
    return run_cli(all, input);
  }
};

TEST_F(CommandLine, AnAnswerInAPipeIsTheAnswerAndNothingElse) {
  Outcome plain = run({"--seed", "5", "--max-tokens", "20", "Hello"});
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(plain.err, "");
  Outcome json = run({"--seed", "5", "--max-tokens", "20", "Hello", "--json"});
  ASSERT_TRUE(is_valid_utf8(json.out));
  Json object = Json::parse(json.out);
  EXPECT_EQ(plain.out, object["text"].get<std::string>() + "\n");
  EXPECT_EQ(object["finish_reason"], "length");
  EXPECT_EQ(object["seed"], 5);
  EXPECT_EQ(object["usage"]["completion_tokens"], 20);
  EXPECT_EQ(object["usage"]["total_tokens"], 20 + object["usage"]["prompt_tokens"].get<int>());
  EXPECT_GE(object["timings"]["total_ms"].get<double>(), object["timings"]["ttft_ms"].get<double>());
}

TEST_F(CommandLine, TheSameSeedGivesTheSameAnswerAndAnotherSeedAnother) {
  std::string first = run({"--seed", "1", "--max-tokens", "30", "Hello"}).out;
  EXPECT_EQ(run({"--seed", "1", "--max-tokens", "30", "Hello"}).out, first);
  EXPECT_NE(run({"--seed", "2", "--max-tokens", "30", "Hello"}).out, first);
}

TEST_F(CommandLine, VerboseEndsWithEveryFigureOfTheAnswer) {
  Outcome o = run({"--verbose", "--seed", "9", "--max-tokens", "8", "Hello"});
  EXPECT_THAT(o.err, MatchesRegex("prompt [0-9]+ tokens · TTFT [0-9.]+ s · prefill [0-9.]+ tok/s · output 8 tokens at [0-9.]+ tok/s · total [0-9.]+ s · seed 9\n"));
}

TEST_F(CommandLine, APromptCanComeFromStandardInputOrBeJoinedWithIt) {
  std::string direct = run({"--seed", "1", "--max-tokens", "10", "Hello there"}).out;
  EXPECT_EQ(run({"--seed", "1", "--max-tokens", "10"}, "Hello there\n").out, direct);
  EXPECT_EQ(run({"--seed", "1", "--max-tokens", "10", "Hello", "there"}).out, direct);
  EXPECT_EQ(run({"--seed", "1", "--max-tokens", "10", "Sum up:", "-"}, "a text\n").out, run({"--seed", "1", "--max-tokens", "10", "Sum up:\na text"}).out);
  expect_error(run({}, ""), 2, "the prompt is empty");
  expect_error(run({}, "\xff\xfe"), 2, "not UTF-8");
}

TEST_F(CommandLine, RawLeavesTheTemplateOut) {
  auto prompt_tokens = [&](std::vector<std::string> more) { return Json::parse(run(std::move(more)).out)["usage"]["prompt_tokens"].get<int>(); };
  EXPECT_LT(prompt_tokens({"--json", "--max-tokens", "1", "--raw", "Hello"}), prompt_tokens({"--json", "--max-tokens", "1", "Hello"}));
  EXPECT_LT(prompt_tokens({"--json", "--max-tokens", "1", "Hello"}), prompt_tokens({"--json", "--max-tokens", "1", "--system", "Be brief.", "Hello"}));
  expect_error(run({"--raw", "--system", "x", "Hello"}), 2, "--raw");
}

TEST_F(CommandLine, APromptThatDoesNotFitIsRefusedWithBothNumbersAndARemedy) {
  Outcome o = run({"--ctx", "32", std::string(100, 'x')});
  expect_error(o, 2, "the context is 32 tokens");
  EXPECT_THAT(o.err, HasSubstr("raise --ctx (the model can do 256)"));
  EXPECT_THAT(run({std::string(400, 'x')}).err, HasSubstr("shorten it"));
}

TEST_F(CommandLine, EveryWrongFlagIsRefusedByNameWithoutLoadingAnything) {
  const std::vector<std::vector<std::string>> cases = {
      {"--temperature", "nan"}, {"--temperature", "-0.1"}, {"--temperature", "1,5"}, {"--temperature", "0.5x"}, {"--temperature", ""}, {"--top-k", "-1"}, {"--top-k", "1.5"},
      {"--top-p", "0"}, {"--top-p", "1.1"}, {"--min-p", "2"}, {"--typical-p", "0"}, {"--repeat-penalty", "0"}, {"--presence-penalty", "3"}, {"--frequency-penalty", "inf"},
      {"--seed", "-1"}, {"--seed", "99999999999999999999"}, {"--max-tokens", "0"}, {"--ctx", "0"}, {"--threads", "0"}, {"--kv-type", "q4"}, {"--sampler-order", "x"},
      {"--mirostat", "1"}, {"--mirostat", "3"}, {"--logit-bias", "x=1"}, {"--logit-bias", "1=101"}, {"--logit-bias", "1"}, {"--xtc-probability", "2"}, {"--dry-base", "0.5"}};
  for (const auto& flags : cases) {
    std::vector<std::string> all = {"run", "/no/such/model.gguf", "Hello"};
    all.insert(all.end(), flags.begin(), flags.end());
    expect_error(run_cli(all), 2, flags.front());
  }
  expect_error(run_cli({"run", "/no/such/model.gguf", "--temprature", "1"}), 2, "--temprature");
  expect_error(run_cli({"run", "/no/such/model.gguf", "--stop"}), 2, "--stop");
}

TEST_F(CommandLine, WrongUsageIsToldWithTheWayToHelp) {
  expect_error(run_cli({}), 2, "no verb given; see 'inferens --help'");
  expect_error(run_cli({"frob"}), 2, "'frob' is not a verb");
  expect_error(run_cli({"run"}), 2, "MODEL is required; see 'inferens run --help'");
  expect_error(run_cli({"pull"}), 2, "SOURCE is required");
  expect_error(run_cli({"cp", "one"}), 2, "TO is required");
  expect_error(run_cli({"rm"}), 2, "--incomplete");
}

TEST_F(CommandLine, AFileThatIsNoUsableModelIsNamedWithTheReason) {
  expect_error(run_cli({"run", "/no/such/model.gguf", "Hello"}), 1, "/no/such/model.gguf");
  expect_error(run_cli({"run", "nosuch", "Hello"}), 1, "inferens pull SOURCE");
  std::string page = write("page.gguf", "<!DOCTYPE html><html></html>");
  EXPECT_NE(run_cli({"run", page, "Hello"}).code, 0);
  EXPECT_THAT(run_cli({"run", page, "Hello"}).err, HasSubstr("page.gguf"));
  std::string whole = read_file(model()).value();
  std::string cut = write("cut.gguf", whole.substr(0, whole.size() - 1000));
  EXPECT_THAT(run_cli({"run", cut, "Hello"}).err, HasSubstr("cut.gguf"));
  EXPECT_THAT(run_cli({"show", home_}).err, HasSubstr("give the path of one"));
}

// The tiny model with one metadata key changed or left out.
std::string changed_model(const std::string& model_path, const std::string& path, const std::string& key, const std::optional<GgufValue>& value) {
  GgufFile file = GgufFile::open(model_path).value();
  GgufWriter writer;
  for (const auto& [name, old] : file.metadata()) {
    if (name != key) writer.set(name, old);
  }
  if (value) writer.set(key, *value);
  for (const TensorInfo& t : file.tensors()) EXPECT_TRUE(writer.add_tensor(t.name, t.type, std::span(t.shape).first(t.dimensions), t.data).ok());
  EXPECT_TRUE(writer.write(path).ok());
  return path;
}

TEST_F(CommandLine, AnUnknownArchitectureAndAMissingTokenizerAreNamed) {
  std::string strange = changed_model(model(), home_ + "/strange.gguf", "general.architecture", GgufValue(std::string_view("wavenet")));
  Outcome o = run_cli({"run", strange, "Hello"});
  EXPECT_NE(o.code, 0);
  EXPECT_THAT(o.err, HasSubstr("strange.gguf"));
  EXPECT_THAT(o.err, HasSubstr("wavenet"));
  std::string mute = changed_model(model(), home_ + "/mute.gguf", "tokenizer.ggml.model", std::nullopt);
  o = run_cli({"run", mute, "Hello"});
  EXPECT_NE(o.code, 0);
  EXPECT_THAT(o.err, HasSubstr("mute.gguf"));
  EXPECT_THAT(o.err, HasSubstr("tokenizer.ggml.model"));
  EXPECT_THAT(run_cli({"show", mute}).out, HasSubstr("cannot be run"));
}

TEST_F(CommandLine, ABrokenTemplateIsReportedAndRawStillWorks) {
  std::string broken = changed_model(model(), home_ + "/broken.gguf", "tokenizer.chat_template", GgufValue(std::string_view("{% for x %}")));
  Outcome o = run_cli({"run", broken, "Hello"});
  EXPECT_NE(o.code, 0);
  EXPECT_THAT(o.err, HasSubstr("--raw"));
  EXPECT_EQ(run_cli({"run", broken, "--raw", "--max-tokens", "3", "Hello"}).code, 0);
  EXPECT_EQ(run_cli({"run", broken, "--chat-template", write("t.jinja", "{{ messages[0].content }}"), "--max-tokens", "3", "Hello"}).code, 0);
}

TEST_F(CommandLine, FlagsBeatTheEnvironmentWhichBeatsTheConfigFile) {
  auto tokens = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--json", "Hello"});
    Outcome o = run(std::move(more));
    return o.code == 0 ? Json::parse(o.out)["usage"]["completion_tokens"].get<int>() : -1;
  };
  write("config.toml", "max_tokens = 4\n");
  EXPECT_EQ(tokens({}), 4);
  write("config.toml", "max_tokens = 4\n[run]\nmax-tokens = 3\n");
  EXPECT_EQ(tokens({}), 3);
  ::setenv("INFERENS_MAX_TOKENS", "2", 1);
  EXPECT_EQ(tokens({}), 2);
  EXPECT_EQ(tokens({"--max-tokens", "1"}), 1);
  ::setenv("INFERENS_MAX_TOKENS", "x", 1);
  expect_error(run({"Hello"}), 2, "INFERENS_MAX_TOKENS");
  ::unsetenv("INFERENS_MAX_TOKENS");
  write("config.toml", "\nmax_token = 4\n");
  expect_error(run({"Hello"}), 2, "config.toml:2: 'max_token'");
  write("config.toml", "max_tokens = -4\n");
  expect_error(run({"Hello"}), 2, "config.toml:1: --max-tokens");
  write("config.toml", "[rum]\nmax_tokens = 4\n");
  expect_error(run({"Hello"}), 2, "config.toml:2: [rum]");
  write("config.toml", "verbose = true\n");
  EXPECT_THAT(run({"--max-tokens", "1", "Hello"}).err, HasSubstr("TTFT"));
}

TEST_F(CommandLine, AStopTextEndsTheAnswerBeforeIt) {
  std::string whole = Json::parse(run({"--seed", "3", "--max-tokens", "60", "--json", "Hello"}).out)["text"];
  // A printable piece in the middle.
  size_t at = whole.find_first_of("abcdefghijklmnopqrstuvwxyz", whole.size() / 3);
  ASSERT_NE(at, std::string::npos);
  std::string stop = whole.substr(at, 1);
  Json stopped = Json::parse(run({"--seed", "3", "--max-tokens", "60", "--json", "--stop", stop, "Hello"}).out);
  EXPECT_EQ(stopped["text"], whole.substr(0, whole.find(stop)));
  EXPECT_EQ(stopped["finish_reason"], "stop");
}

TEST_F(CommandLine, AnAnswerHasTheFormThatWasAskedFor) {
  const std::string schema = write("s.json", R"({"type":"array","items":{"enum":[1,2]},"minItems":3,"maxItems":3})");
  auto form = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"run", model(), "--seed", "4", "--max-tokens", "200"});
    flags.push_back("Hello");
    return run_cli(flags);
  };
  const Json list = Json::parse(form({"--json-schema", schema}).out);
  EXPECT_EQ(list.size(), 3U) << list;
  for (const Json& item : list) EXPECT_TRUE(item == 1 || item == 2) << list;
  EXPECT_THAT(form({"--grammar", write("g.gbnf", "root ::= (\"left\" | \"right\") \"!\"\n")}).out, MatchesRegex("(left|right)!\n"));
  EXPECT_EQ(form({"--format", "json"}).out.front(), '{');
  expect_error(form({"--json-schema", write("bad.json", R"({"items":{"uniqueItems":true}})")}), 2, "#/items/uniqueItems");
  expect_error(form({"--json-schema", "no-such-file.json"}), 1, "no-such-file.json");
  expect_error(form({"--format", "xml"}), 2, "json");
  expect_error(form({"--format", "json", "--json-schema", schema}), 2, "give one");
}

TEST_F(CommandLine, AModelIsPulledListedShownCopiedAndRemoved) {
  Outcome pulled = run_cli({"pull", model(), "--as", "tiny:f32"});
  EXPECT_EQ(pulled.code, 0) << pulled.err;
  EXPECT_EQ(pulled.out, "tiny:f32\n");
  EXPECT_THAT(run_cli({"list"}).out, HasSubstr("tiny:f32"));
  Json list = Json::parse(run_cli({"list", "--json"}).out);
  EXPECT_EQ(list[0]["bytes"], std::filesystem::file_size(model()));
  std::string shown = run_cli({"show", "tiny:f32"}).out;
  for (const char* fact : {"architecture     llama", "quantization     F32", "context          256 tokens", "licence          apache-2.0", "Jinja"}) EXPECT_THAT(shown, HasSubstr(fact));
  EXPECT_EQ(Json::parse(run_cli({"show", "tiny:f32", "--json"}).out)["context_length"], 256);
  EXPECT_THAT(run_cli({"show", "tiny:f32", "--template"}).out, HasSubstr("add_generation_prompt"));
  EXPECT_EQ(run_cli({"run", "tiny:f32", "--max-tokens", "2", "Hello"}).code, 0);
  EXPECT_EQ(run_cli({"cp", "tiny:f32", "second"}).code, 0);
  EXPECT_THAT(run_cli({"rm", "tiny:f32"}).out, HasSubstr("0 B freed"));
  EXPECT_THAT(run_cli({"rm", "second"}).out, HasSubstr("kB freed"));
  EXPECT_THAT(run_cli({"list"}).err, HasSubstr("no models"));
}

TEST_F(CommandLine, ASourceIsPulledByTheVerbThatNeedsIt) {
  expect_error(run_cli({"run", "hf:Org/Repo", "Hello"}), 1, "HF_ENDPOINT");
  expect_error(run_cli({"show", "pypi:--evil"}), 2, "is not a source");
}

TEST_F(CommandLine, TokensAreShownOneByOneAndAddUpToTheText) {
  Json json = Json::parse(run_cli({"tokenize", model(), "--json"}, "Hello, world\n").out);
  std::string joined;
  for (const auto& piece : json["pieces"]) joined += piece.get<std::string>();
  EXPECT_EQ(joined, "Hello, world\n");
  EXPECT_EQ(run_cli({"tokenize", model(), "--count"}, "Hello, world\n").out, std::to_string(json["ids"].size()) + "\n");
  EXPECT_THAT(run_cli({"tokenize", model(), "\xF0\x9F\xA6\x99"}).out, HasSubstr("\\xf0"));
}

TEST_F(CommandLine, PerplexityIsMeasuredAndComparedWithAnotherRun) {
  std::string text = write("text.txt", std::string("The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor jugs. ") + std::string(60, 'a'));
  Outcome o = run_cli({"perplexity", model(), text, "--window", "64", "--json"});
  ASSERT_EQ(o.code, 0) << o.err;
  Json measured = Json::parse(o.out);
  EXPECT_NEAR(std::log(measured["perplexity"].get<double>()), measured["mean_nll"].get<double>(), 1e-9);
  const int tokens = std::stoi(run_cli({"tokenize", model(), "--count", "--no-bos"}, read_file(text).value()).out);
  EXPECT_EQ(measured["positions"].get<int>(), tokens - measured["windows"].get<int>());  // the first of a window is not predicted
  EXPECT_THAT(run_cli({"perplexity", model(), text, "--window", "64"}).out, HasSubstr("perplexity    "));
  std::string saved = home_ + "/reference";
  EXPECT_EQ(run_cli({"perplexity", model(), text, "--window", "64", "--save", saved}).code, 0);
  Json against = Json::parse(run_cli({"perplexity", model(), text, "--window", "64", "--kl-against", saved, "--json"}).out);
  EXPECT_LT(std::abs(against["divergence"]["mean_kl"].get<double>()), 1e-4);
  expect_error(run_cli({"perplexity", model(), "/no/such/text"}), 1, "/no/such/text");
  expect_error(run_cli({"perplexity", model(), text, "--window", "8", "--score-from", "7"}), 2, "--score-from");
}

TEST_F(CommandLine, HelpOfEveryVerbFitsATerminalAndExplainsEveryFlag) {
  Outcome top = run_cli({"--help"});
  EXPECT_EQ(top.code, 0);
  EXPECT_THAT(run_cli({"--version"}).out, MatchesRegex("inferens [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  for (const char* verb : {"run", "pull", "list", "show", "rm", "cp", "tokenize", "perplexity"}) {
    EXPECT_THAT(top.out, HasSubstr(std::string("\n  ") + verb + " "));
    Outcome help = run_cli({verb, "--help"});
    EXPECT_EQ(help.code, 0);
    for (const char* part : {"\nUSAGE\n", "\nFLAGS\n", "\nEXAMPLES\n"}) EXPECT_THAT(help.out, HasSubstr(part)) << verb;
    std::istringstream lines(help.out);
    std::string previous;
    for (std::string line; std::getline(lines, line); previous = line) {
      size_t columns = 0;
      for (size_t i = 0; i < line.size(); i += decode_utf8(line, i).length) ++columns;
      EXPECT_LE(columns, 82U) << line;
      // A flag without a text stands alone, followed by the next flag.
      bool bare = previous.starts_with("  --") && previous.find("   ") == std::string::npos;
      EXPECT_TRUE(!bare || line.starts_with("      ")) << previous;
    }
  }
}

}  // namespace
}  // namespace inferens::testing
