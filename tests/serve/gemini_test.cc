// What programs written for Gemini rely on: its candidates and counts, both kinds of stream, both bases, both spellings of
// names, and errors in google.rpc's shape.
#include "serve/api/gemini_call.h"
#include "server_fixture.h"

namespace inferens::testing {
namespace {

using nlohmann::json;

class GeminiTest : public ServerTest {
 protected:
  static json request(json fields, json config = {}) {
    json body = {{"contents", {{{"role", "user"}, {"parts", {{{"text", "Hello"}}}}}}}, {"generationConfig", {{"maxOutputTokens", 8}, {"seed", 5}}}};
    if (!config.is_null()) body["generationConfig"].update(config);
    if (!fields.is_null()) body.update(fields);
    return body;
  }
  static Reply act(const std::string& verb, const json& body, std::string_view base = "/v1beta") { return post(std::string(base) + "/models/tiny:" + verb, body); }
  static json ok(const Reply& reply) {
    EXPECT_EQ(reply.status, 200) << reply.body;
    return parsed(reply);
  }
  static std::string text_of_candidate(const json& response) { return response["candidates"][0]["content"]["parts"][0]["text"]; }
  static void expect_error(const Reply& reply, int code, std::string_view status, std::string_view text) {
    EXPECT_EQ(reply.status, code) << reply.body;
    const json error = parsed(reply)["error"];
    EXPECT_EQ(error["code"], code) << reply.body;
    EXPECT_EQ(error["status"], status);
    EXPECT_TRUE(error["details"].is_array());
    EXPECT_NE(error["message"].get<std::string>().find(text), std::string::npos) << reply.body;
  }
};

TEST_F(GeminiTest, AnAnswerHasTheShapeThatClientsReadOnBothBases) {
  const json body = ok(act("generateContent", request({})));
  EXPECT_EQ(body["candidates"][0]["content"]["role"], "model");
  EXPECT_EQ(body["candidates"][0]["finishReason"], "MAX_TOKENS");
  EXPECT_EQ(body["usageMetadata"]["candidatesTokenCount"], 8);
  EXPECT_EQ(body["usageMetadata"]["totalTokenCount"], body["usageMetadata"]["promptTokenCount"].get<int>() + 8);
  EXPECT_EQ(body["modelVersion"], "tiny");
  EXPECT_EQ(text_of_candidate(ok(act("generateContent", request({}), "/v1"))), text_of_candidate(body));
}

TEST_F(GeminiTest, BothStreamsSayTheSameAsTheWholeAnswer) {
  const std::string whole = text_of_candidate(ok(act("generateContent", request({}))));
  const Reply events = act("streamGenerateContent?alt=sse", request({}));
  EXPECT_TRUE(events.headers.at("content-type").starts_with("text/event-stream"));
  std::string text;
  json last;
  // Anything but "data: " lines breaks its clients.
  for (size_t at = 0; at < events.body.size();) {
    const size_t end = events.body.find("\n\n", at);
    ASSERT_NE(end, std::string::npos);
    ASSERT_TRUE(events.body.substr(at).starts_with("data: {"));
    last = json::parse(events.body.substr(at + 6, end - at - 6));
    text += text_of_candidate(last);
    EXPECT_GT(last["usageMetadata"]["promptTokenCount"], 0);
    at = end + 2;
  }
  EXPECT_EQ(text, whole);
  EXPECT_EQ(last["candidates"][0]["finishReason"], "MAX_TOKENS");
  EXPECT_EQ(last["usageMetadata"]["candidatesTokenCount"], 8);
  const Reply array = act("streamGenerateContent", request({}));
  EXPECT_EQ(array.headers.at("content-type"), "application/json");
  std::string from_array;
  const json chunks = ok(array);
  ASSERT_TRUE(chunks.is_array());
  for (const json& chunk : chunks) from_array += text_of_candidate(chunk);
  EXPECT_EQ(from_array, whole);
}

TEST_F(GeminiTest, NamesMayBeWrittenInBothWays) {
  const json snake = {{"contents", {{{"parts", {{{"text", "Hello"}}}}}}}, {"system_instruction", {{"parts", {{{"text", "Be kind."}}}}}}, {"generation_config", {{"max_output_tokens", 8}, {"seed", 5}}}};
  const json camel = request({{"systemInstruction", {{"parts", {{{"text", "Be kind."}}}}}}});
  EXPECT_EQ(text_of_candidate(ok(act("generateContent", snake))), text_of_candidate(ok(act("generateContent", camel))));
  expect_error(act("generateContent", request({}, {{"max_output_tokens", 3}})), 400, "INVALID_ARGUMENT", "twice");
}

TEST_F(GeminiTest, CandidatesLogprobsAndStops) {
  const json two = ok(act("generateContent", request({}, {{"candidateCount", 2}, {"responseLogprobs", true}, {"logprobs", 3}})));
  ASSERT_EQ(two["candidates"].size(), 2);
  EXPECT_EQ(two["candidates"][1]["index"], 1);
  EXPECT_EQ(two["candidates"][0]["logprobsResult"]["chosenCandidates"].size(), 8);
  EXPECT_EQ(two["candidates"][0]["logprobsResult"]["topCandidates"][0]["candidates"].size(), 3);
  EXPECT_LT(two["candidates"][0]["avgLogprobs"], 0);
  const std::string text = text_of_candidate(ok(act("generateContent", request({}))));
  const json stopped = ok(act("generateContent", request({}, {{"stopSequences", {character_in(text)}}})));
  EXPECT_EQ(stopped["candidates"][0]["finishReason"], "STOP");
}

TEST_F(GeminiTest, CountedTokensAreThoseOfThePrompt) {
  const int used = ok(act("generateContent", request({})))["usageMetadata"]["promptTokenCount"];
  EXPECT_EQ(ok(act("countTokens", {{"contents", request({})["contents"]}}))["totalTokens"], used);
  EXPECT_EQ(ok(act("countTokens", {{"generateContentRequest", request({{"model", "models/tiny"}})}}))["totalTokens"], used);
}

TEST_F(GeminiTest, EveryConfigFieldIsTakenOrRefusedByName) {
  for (const auto& table : gemini_config_tables()) {
    for (const GeminiField& field : table) {
      SCOPED_TRACE(field.info.name);
      const std::string name(field.info.name);
      json config = {{name, {{"a", 1}}}};
      expect_error(act("generateContent", request({}, config)), 400, "INVALID_ARGUMENT", name);
      if (field.info.treatment == Treatment::kRefuse) continue;
      config = {{name, json::parse(field.info.example)}};
      if (name == "logprobs") config["responseLogprobs"] = true;
      if (name == "responseSchema" || name == "responseJsonSchema") config["responseMimeType"] = "application/json";
      EXPECT_EQ(act("generateContent", request({}, config)).status, 200);
    }
  }
}

TEST_F(GeminiTest, EmbeddingsComeAloneAndInBatches) {
  const json content = {{"parts", {{{"text", "Hello there"}}}}};
  const json one = ok(act("embedContent", {{"content", content}}));
  const json batch = ok(act("batchEmbedContents", {{"requests", json::array({{{"model", "models/tiny"}, {"content", content}, {"taskType", "RETRIEVAL_QUERY"}}, {{"content", content}, {"output_dimensionality", 4}}})}}));
  ASSERT_EQ(batch["embeddings"].size(), 2);
  EXPECT_EQ(batch["embeddings"][0], one["embedding"]);
  EXPECT_EQ(batch["embeddings"][1]["values"].size(), 4);
  EXPECT_GT(batch["usageMetadata"]["promptTokenCount"], 2);
  expect_error(act("batchEmbedContents", {{"requests", json::array()}}), 400, "INVALID_ARGUMENT", "requests");
  expect_error(act("batchEmbedContents", {{"requests", json::array({{{"content", 1}}})}}), 400, "INVALID_ARGUMENT", "requests[0].content");
  expect_error(act("embedContent", {{"content", content}, {"outputDimensionality", 100000}}), 400, "INVALID_ARGUMENT", "outputDimensionality");
}

TEST_F(GeminiTest, ErrorsHaveItsShape) {
  expect_error(post("/v1beta/models/absent:generateContent", request({})), 404, "NOT_FOUND", "absent");
  expect_error(act("generateContent", request({{"temprature", 1}})), 400, "INVALID_ARGUMENT", "temprature");
  const json violation = parsed(act("generateContent", request({}, {{"temperature", 3}})))["error"]["details"][0];
  EXPECT_EQ(violation["@type"], "type.googleapis.com/google.rpc.BadRequest");
  EXPECT_EQ(violation["fieldViolations"][0]["field"], "generationConfig.temperature");
  expect_error(act("generateContent", request({{"tools", {{{"googleSearch", json::object()}}}}})), 400, "INVALID_ARGUMENT", "tools");
  expect_error(act("flyToTheMoon", request({})), 404, "NOT_FOUND", "generateContent");
  expect_error(post_text("/v1beta/models/tiny:generateContent", "{"), 400, "INVALID_ARGUMENT", "JSON");
  expect_error(post_text("/v1beta/models/tiny:generateContent", "{\"contents\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}"), 400, "INVALID_ARGUMENT", "nested deeper");
  expect_error(ask(port(), "GET", "/v1beta/nothing"), 404, "NOT_FOUND", "/v1beta/nothing");
  expect_error(act("generateContent", request({{"contents", {{{"parts", {{{"text", std::string(100'000, 'x')}}}}}}}})), 400, "INVALID_ARGUMENT", "tokens");
}

TEST_F(GeminiTest, ContentsThatMakeNoSenseAreRefusedByPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {R"([])", "contents"},
      {R"([1])", "contents[0]"},
      {R"([{"role":"user"}])", "contents[0].parts"},
      {R"([{"role":"robot","parts":[{"text":"x"}]}])", "valid role"},
      {R"([{"parts":[]}])", "contents[0].parts"},
      {R"([{"parts":[{}]}])", "contents[0].parts[0]"},
      {R"([{"parts":[{"text":5}]}])", "contents[0].parts[0].text"},
      {R"([{"parts":[{"inlineData":{"mimeType":"image/png","data":"aaaa"}}]}])", "contents[0].parts[0].inlineData"},
      {R"([{"parts":[{"file_data":{"fileUri":"http://127.0.0.1/"}}]}])", "contents[0].parts[0].fileData"},
      {R"([{"parts":[{"functionResponse":{"name":"f","response":"x"}}]}])", "response"},
  };
  for (const auto& [contents, text] : cases) expect_error(act("generateContent", request({{"contents", json::parse(contents)}})), 400, "INVALID_ARGUMENT", text);
}

TEST_F(GeminiTest, CachedContentIsPinnedAndStandsInFrontOfThePrompt) {
  const json beginning = {{{"role", "user"}, {"parts", {{{"text", std::string(140, 'g') + " kept"}}}}}, {{"role", "model"}, {"parts", {{{"text", "Yes"}}}}}};
  const Reply made = post("/v1beta/cachedContents", {{"model", "models/tiny"}, {"contents", beginning}, {"systemInstruction", {{"parts", {{{"text", "Be kind."}}}}}}, {"ttl", "300s"}, {"displayName", "d"}});
  const json cache = ok(made);
  const std::string name = cache["name"];
  EXPECT_TRUE(name.starts_with("cachedContents/"));
  EXPECT_GT(cache["usageMetadata"]["totalTokenCount"], 140);
  json spelled = request({{"systemInstruction", {{"parts", {{{"text", "Be kind."}}}}}}});
  spelled["contents"].insert(spelled["contents"].begin(), beginning.begin(), beginning.end());
  const json whole = ok(act("generateContent", spelled));
  const json with = ok(act("generateContent", request({{"cachedContent", name}})));
  EXPECT_EQ(text_of_candidate(with), text_of_candidate(whole));
  EXPECT_GE(with["usageMetadata"]["cachedContentTokenCount"], 128);
  EXPECT_EQ(with["usageMetadata"]["promptTokenCount"], whole["usageMetadata"]["promptTokenCount"]);
  expect_error(act("generateContent", request({{"cachedContent", name}, {"systemInstruction", {{"parts", {{{"text", "x"}}}}}}})), 400, "INVALID_ARGUMENT", "cachedContent");
  EXPECT_EQ(ok(ask(port(), "GET", "/v1beta/" + name)), cache);
  EXPECT_EQ(ok(ask(port(), "GET", "/v1beta/cachedContents"))["cachedContents"].size(), 1);
  const json later = ok(ask(port(), "PATCH", "/v1/" + name + "?updateMask=ttl", R"({"ttl":"3000s"})"));
  EXPECT_GT(later["expireTime"].get<std::string>(), cache["expireTime"].get<std::string>());
  EXPECT_EQ(ok(ask(port(), "DELETE", "/v1/" + name)), json::object());
  expect_error(ask(port(), "GET", "/v1/" + name), 404, "NOT_FOUND", name);
  expect_error(act("generateContent", request({{"cachedContent", name}})), 404, "NOT_FOUND", name);
  for (const char* ttl : {"300", "-3s", "s", "99999999999s", "1e9s"}) expect_error(post("/v1beta/cachedContents", {{"model", "models/tiny"}, {"contents", beginning}, {"ttl", ttl}}), 400, "INVALID_ARGUMENT", "ttl");
  expect_error(post("/v1beta/cachedContents", {{"model", "models/tiny"}, {"contents", beginning}, {"expireTime", "2020-01-01T00:00:00Z"}}), 400, "INVALID_ARGUMENT", "ahead");
  EXPECT_TRUE(becomes_idle(*server_));
}

// One path, three APIs: the fields that each one's clients send decide.
TEST_F(GeminiTest, ModelsAreListedInTheShapeOfWhoeverAsks) {
  const auto models = [](std::string_view path, std::string_view headers) { return parsed(ask(port(), "GET", path, "", headers)); };
  for (const json& list : {models("/v1/models", "x-goog-api-key: k\r\n"), models("/v1/models", "x-goog-api-client: google-genai-sdk/3\r\n"), models("/v1/models?key=k", ""), models("/v1beta/models", "")}) {
    EXPECT_EQ(list["models"][0]["name"], "models/tiny");
    EXPECT_GT(list["models"][0]["inputTokenLimit"], 0);
  }
  EXPECT_EQ(models("/v1/models/tiny", "x-goog-api-key: k\r\n")["name"], "models/tiny");
  EXPECT_EQ(models("/v1beta/models/tiny", "")["name"], "models/tiny");
  EXPECT_EQ(models("/v1/models/tiny", "anthropic-version: 2023-06-01\r\n")["type"], "model");
  EXPECT_EQ(models("/v1/models/tiny", "")["object"], "model");
  EXPECT_EQ(models("/openai/v1/models/tiny", "x-goog-api-key: k\r\n")["object"], "model");
  expect_error(ask(port(), "GET", "/v1beta/models/absent"), 404, "NOT_FOUND", "absent");
}

}  // namespace
}  // namespace inferens::testing
