// One engine behind all APIs: the same seed and settings give the same text through each of them, and what one API's client
// sends in bad faith reaches none of the others.
#include <set>

#include "server_fixture.h"

namespace inferens::testing {
namespace {

using nlohmann::json;

constexpr std::string_view kVersion = "anthropic-version: 2023-06-01\r\n";

class DialectsTest : public ServerTest {
 protected:
  static json ok(const Reply& reply) {
    EXPECT_EQ(reply.status, 200) << reply.body;
    return parsed(reply);
  }
  static json user(const std::string& text) { return json::array({{{"role", "user"}, {"content", text}}}); }

  static std::string openai(const std::string& text, int seed, std::string_view base = "/v1") {
    return ok(post(std::string(base) + "/chat/completions", {{"model", "tiny"}, {"messages", user(text)}, {"max_tokens", 16}, {"seed", seed}}))["choices"][0]["message"]["content"];
  }
  static std::string anthropic(const std::string& text, int seed) {
    return ok(ask(port(), "POST", "/v1/messages", json{{"model", "tiny"}, {"messages", user(text)}, {"max_tokens", 16}, {"seed", seed}}.dump(), kVersion))["content"][0]["text"];
  }
  static std::string gemini(const std::string& text, int seed) {
    const json contents = json::array({{{"role", "user"}, {"parts", json::array({{{"text", text}}})}}});
    return ok(post("/v1beta/models/tiny:generateContent", {{"contents", contents}, {"generationConfig", {{"maxOutputTokens", 16}, {"seed", seed}}}}))["candidates"][0]["content"]["parts"][0]["text"];
  }
  // Its defaults of sampling differ; without them it is the same.
  static json plain(int seed) { return {{"seed", seed}, {"num_predict", 16}, {"temperature", 1}, {"top_k", 0}, {"top_p", 1}, {"repeat_penalty", 1}}; }
  static std::string ollama_chat(const std::string& text, int seed) {
    return ok(post("/api/chat", {{"model", "tiny"}, {"messages", user(text)}, {"stream", false}, {"options", plain(seed)}}))["message"]["content"];
  }
  static std::string ollama_generate(const std::string& text, int seed) {
    return ok(post("/api/generate", {{"model", "tiny"}, {"prompt", text}, {"stream", false}, {"options", plain(seed)}}))["response"];
  }
};

TEST_F(DialectsTest, OneSeedGivesOneTextThroughAllOfThem) {
  std::set<std::string> all;
  for (const int seed : {1, 2, 3}) {
    const std::string text = openai("Tell me something", seed);
    EXPECT_EQ(openai("Tell me something", seed, "/openai/v1"), text);
    EXPECT_EQ(anthropic("Tell me something", seed), text);
    EXPECT_EQ(gemini("Tell me something", seed), text);
    EXPECT_EQ(ollama_chat("Tell me something", seed), text);
    EXPECT_EQ(ollama_generate("Tell me something", seed), text);
    all.insert(text);
  }
  EXPECT_EQ(all.size(), 3) << "the seed has no effect";
}

// threats 2.2: keys are looked for wherever each API's clients put them.
TEST_F(DialectsTest, EveryApiAsksForTheKeyInItsOwnPlace) {
  ServerOptions options = tiny_server_options();
  auto keys = ApiKeys::parse("one sha256:" + std::string("2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683"), "test");  // of "key"
  ASSERT_TRUE(keys.ok());
  options.service.keys = std::move(*keys);
  const auto server = start_server(std::move(options));
  const uint16_t at = server->http().port();
  const auto status = [&](std::string_view path, std::string_view headers) { return ask(at, "GET", path, "", headers).status; };
  EXPECT_EQ(status("/v1/models", "x-api-key: key\r\nanthropic-version: 2023-06-01\r\n"), 200);
  EXPECT_EQ(status("/v1/models", "authorization: Bearer key\r\nanthropic-version: 2026-10-21\r\n"), 200);
  EXPECT_EQ(status("/v1beta/models", "x-goog-api-key: key\r\n"), 200);
  EXPECT_EQ(status("/v1beta/models?key=key", ""), 200);
  EXPECT_EQ(status("/api/tags", "authorization: Bearer key\r\n"), 200);
  for (const char* path : {"/v1/models", "/v1beta/models", "/v1beta/models?key=wrong", "/api/tags"}) EXPECT_EQ(status(path, ""), 401) << path;
  EXPECT_EQ(parsed(ask(at, "GET", "/v1beta/models"))["error"]["status"], "UNAUTHENTICATED");
  EXPECT_EQ(parsed(ask(at, "GET", "/v1/models", "", kVersion))["error"]["type"], "authentication_error");
  EXPECT_TRUE(parsed(ask(at, "GET", "/api/tags"))["error"].is_string());
  EXPECT_EQ(ask(at, "POST", "/api/pull", R"({"model":"x"})", "authorization: Bearer key\r\n").status, 403) << "no admin";
}

// CVE-2026-22778, -54236: one formatter for all APIs, and no addresses or paths of this machine in what it says.
TEST_F(DialectsTest, ErrorsTellNothingOfTheMachine) {
  const std::pair<const char*, const char*> requests[] = {{"/v1/messages", "{}"}, {"/v1/messages", "["}, {"/v1beta/models/x:generateContent", R"({"contents":[{"parts":[{"text":"x"}]}]})"},
                                                          {"/api/chat", R"({"model":"absent","messages":[{"role":"user","content":"x"}]})"}, {"/api/generate", "\xff"}, {"/api/show", R"({"model":"../../etc/passwd"})"}};
  for (const auto& [path, body] : requests) {
    const Reply reply = ask(port(), "POST", path, body, kVersion);
    EXPECT_GE(reply.status, 400);
    EXPECT_LT(reply.status, 500) << path << reply.body;
    EXPECT_EQ(reply.body.find("0x"), std::string::npos) << reply.body;
    EXPECT_EQ(reply.body.find(INFERENS_SOURCE_DIR), std::string::npos) << reply.body;
  }
}

}  // namespace
}  // namespace inferens::testing
