// Filling in the middle: an editor's user gets what belongs between the two texts, or is told that the model cannot.
#include "serve/fill_in.h"

#include <filesystem>
#include <unistd.h>

#include "formats/gguf.h"
#include "formats/gguf_writer.h"
#include "server_fixture.h"

namespace inferens::testing {
namespace {

using nlohmann::json;

constexpr std::string_view kBefore = "<|fim_prefix|>";
constexpr std::string_view kAfter = "<|fim_suffix|>";
constexpr std::string_view kMiddle = "<|fim_middle|>";

// The tiny model with its three control tokens spelled as those of a model that fills in.
void write_fill_in_model(const std::string& path) {
  const auto file = GgufFile::open(std::string(INFERENS_TEST_DATA) + "/model/tiny/llama-f32.gguf");
  ASSERT_TRUE(file.ok());
  GgufWriter writer;
  for (const auto& [key, value] : file->metadata()) writer.set(key, value);
  const auto tokens = file->get_strings("tokenizer.ggml.tokens");
  ASSERT_TRUE(tokens.ok());
  std::vector<std::string_view> spellings(tokens->begin(), tokens->end());
  spellings[spellings.size() - 3] = kBefore;
  spellings[spellings.size() - 2] = kAfter;
  spellings[spellings.size() - 1] = kMiddle;
  writer.set("tokenizer.ggml.tokens", gguf_array(spellings));
  for (const TensorInfo& t : file->tensors()) {
    ASSERT_TRUE(writer.add_tensor(t.name, t.type, std::span(t.shape).first(t.dimensions), t.data).ok());
  }
  ASSERT_TRUE(writer.write(path).ok());
}

class FillInTest : public ServerTest {
 protected:
  static void SetUpTestSuite() {
    path_ = std::filesystem::temp_directory_path() / ("inferens-fill-in-" + std::to_string(getpid()) + ".gguf");
    ASSERT_NO_FATAL_FAILURE(write_fill_in_model(path_));
    ServerOptions options = tiny_server_options();
    ModelSpec filler = options.models.front();
    filler.name = "filler";
    filler.options.model_path = path_;
    options.models.push_back(std::move(filler));
    server_ = start_server(std::move(options));
  }
  static void TearDownTestSuite() {
    server_.reset();
    std::filesystem::remove(path_);
  }
  static json fill(json fields) {
    json body = completion(std::move(fields));
    body["model"] = "filler";
    return body;
  }
  static std::vector<int> tokens_of(const std::string& text) {
    return parsed(post("/tokenize", {{"model", "filler"}, {"prompt", text}}))["tokens"];
  }
  inline static std::filesystem::path path_;
};

TEST_F(FillInTest, ThePromptIsBothTextsInTheOrderOfTheModelsTraining) {
  constexpr int kFirst = 285;  // of the three, in the tiny model's vocabulary of 288
  std::vector<int> tokens = {kFirst};
  for (const int token : tokens_of("int add(")) tokens.push_back(token);
  tokens.push_back(kFirst + 1);
  for (const int token : tokens_of(") { return a; }")) tokens.push_back(token);
  tokens.push_back(kFirst + 2);
  const json by_hand = parsed(post("/v1/completions", fill({{"prompt", tokens}})));
  const json filled = parsed(post("/v1/completions", fill({{"prompt", "int add("}, {"suffix", ") { return a; }"}})));
  ASSERT_TRUE(filled.contains("choices")) << filled.dump();
  EXPECT_EQ(filled["choices"][0]["text"], by_hand["choices"][0]["text"]);
  EXPECT_EQ(filled["usage"]["prompt_tokens"], tokens.size());
}

// A user's text that spells a marker must not move the gap.
TEST_F(FillInTest, MarkersInTheTextsStayText) {
  const json filled = parsed(post("/v1/completions", fill({{"prompt", std::string("a") + std::string(kMiddle)}, {"suffix", "b"}, {"max_tokens", 1}})));
  EXPECT_EQ(filled["usage"]["prompt_tokens"], 3 + tokens_of(std::string("a") + std::string(kMiddle)).size() + 1);
}

TEST_F(FillInTest, AModelThatWasNotTrainedForItSaysSo) {
  const Reply reply = post("/v1/completions", completion({{"suffix", "b"}}));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(param_of(reply), "suffix");
  EXPECT_EQ(post("/v1/completions", completion({{"suffix", ""}})).status, 200);
}

TEST_F(FillInTest, WhatMakesNoSenseBesideASuffixIsRefused) {
  EXPECT_EQ(param_of(post("/v1/completions", fill({{"suffix", "b"}, {"echo", true}}))), "suffix");
  EXPECT_EQ(param_of(post("/v1/completions", fill({{"suffix", "b"}, {"prompt", {5, 6}}}))), "suffix");
}

}  // namespace
}  // namespace inferens::testing
