// Embeddings: the same text has the same numbers however it is sent and whoever else asks; nothing is cut or made up.
#include <array>
#include <cmath>
#include <cstring>

#include "serve/api/openai_embeddings.h"
#include "server_fixture.h"

namespace inferens::testing {
namespace {

using nlohmann::json;

class EmbeddingsTest : public ServerTest {
 protected:
  static Reply embed(json fields) {
    json body = {{"model", "tiny"}, {"input", "Hello there"}};
    if (!fields.is_null()) body.update(fields);  // {} is null
    return post("/v1/embeddings", body);
  }
  static std::vector<std::vector<float>> vectors(const Reply& reply) {
    EXPECT_EQ(reply.status, 200) << reply.body;
    std::vector<std::vector<float>> all;
    const json body = parsed(reply);
    for (const json& item : body["data"]) {
      EXPECT_EQ(item["index"], all.size());
      all.push_back(item["embedding"]);
    }
    return all;
  }
};

// RFC 4648, decoded by hand: the server must not be the judge of its own encoding.
std::string decode_base64(const std::string& text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(c));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 255);
  }
  return bytes;
}

TEST_F(EmbeddingsTest, HaveLengthOneAndTheShapeThatClientsRead) {
  const Reply reply = embed({});
  ASSERT_EQ(reply.status, 200) << reply.body;
  const json body = parsed(reply);
  EXPECT_EQ(body["object"], "list");
  EXPECT_EQ(body["model"], "tiny");
  EXPECT_EQ(body["data"][0]["object"], "embedding");
  EXPECT_GT(body["usage"]["prompt_tokens"], 0);
  EXPECT_EQ(body["usage"]["total_tokens"], body["usage"]["prompt_tokens"]);
  double squares = 0;
  const std::vector<float> embedding = vectors(reply).at(0);
  for (const float x : embedding) squares += double{x} * x;
  EXPECT_NEAR(squares, 1, 1e-5);
}

TEST_F(EmbeddingsTest, Base64HoldsTheSameNumbers) {
  const std::vector<float> numbers = vectors(embed({}))[0];
  const json body = parsed(embed({{"encoding_format", "base64"}}));
  const std::string bytes = decode_base64(body["data"][0]["embedding"]);
  ASSERT_EQ(bytes.size(), numbers.size() * sizeof(float));
  std::vector<float> decoded(numbers.size());
  std::memcpy(decoded.data(), bytes.data(), bytes.size());
  EXPECT_EQ(decoded, numbers);
}

TEST_F(EmbeddingsTest, AListGivesWhatItsTextsGiveAlone) {
  const std::vector<std::string> texts = {"Hello there", "something else", "Hello there", std::string(200, 'e')};
  const auto together = vectors(embed({{"input", texts}}));
  ASSERT_EQ(together.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(together[i], vectors(embed({{"input", texts[i]}}))[0]) << i;
  EXPECT_NE(together[0], together[1]);
}

TEST_F(EmbeddingsTest, TokensGiveWhatTheirTextGives) {
  const json tokens = parsed(post("/tokenize", {{"model", "tiny"}, {"prompt", "Hello there"}}))["tokens"];
  const auto text = vectors(embed({}))[0];
  EXPECT_EQ(vectors(embed({{"input", tokens}}))[0], text);
  EXPECT_EQ(vectors(embed({{"input", {tokens, tokens}}}))[1], text);
}

TEST_F(EmbeddingsTest, GenerationsBesideThemChangeNothing) {
  const auto alone = vectors(embed({}))[0];
  Connection busy(port());
  busy.send(request_text("POST", "/v1/completions", completion({{"stream", true}, {"max_tokens", 200}, {"n", 32}, {"temperature", 1}}).dump()));
  ASSERT_TRUE(busy.read_until("data: "));
  EXPECT_EQ(vectors(embed({{"input", {"a", "Hello there"}}}))[1], alone);
}

TEST_F(EmbeddingsTest, DimensionsAreTheModelsOwnOrRefused) {
  const auto size = static_cast<int64_t>(vectors(embed({}))[0].size());
  EXPECT_EQ(embed({{"dimensions", size}}).status, 200);
  const Reply reply = embed({{"dimensions", size - 1}});
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(param_of(reply), "dimensions");
}

TEST_F(EmbeddingsTest, InputsThatCannotBeAreRefusedByName) {
  for (const json& input : {json(""), json::array(), json({"a", ""}), json({1, "a"}), json({json::array()}), json({-1}), json(5), json({{"a", 1}}), json({1'000'000}), json(std::vector<std::string>(2049, "a"))}) {
    const Reply reply = embed({{"input", input}});
    EXPECT_EQ(reply.status, 400) << input.dump().substr(0, 80) << reply.body;
    EXPECT_EQ(param_of(reply), "input") << input.dump().substr(0, 80);
  }
  const Reply long_text = embed({{"input", {"a", std::string(2000, 'x')}}});
  EXPECT_EQ(parsed(long_text)["error"]["code"], "context_length_exceeded");
  EXPECT_NE(long_text.body.find("input[1]"), std::string::npos);
}

TEST_F(EmbeddingsTest, AClientThatGoesLeavesNothingRunning) {
  const std::string body = json{{"model", "tiny"}, {"input", std::vector<std::string>(2000, std::string(150, 'g'))}}.dump();
  for (int i = 0; i < 5; ++i) {
    Connection connection(port());
    connection.send(request_text("POST", "/v1/embeddings", body));
    connection.reset();
  }
  EXPECT_TRUE(becomes_idle(*server_));
  EXPECT_EQ(embed({}).status, 200);
}

}  // namespace
}  // namespace inferens::testing
