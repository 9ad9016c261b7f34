// Keys: who has none gets nothing, nobody sees another's, and the file holds no secret.
#include "serve/auth.h"

#include "server_fixture.h"
#include "store/sha256.h"

namespace inferens::testing {
namespace {

using nlohmann::json;

std::string line(const std::string& name, const std::string& secret, const char* rest = "") { return name + " " + sha256_digest(secret) + rest + "\n"; }

TEST(ApiKeysTest, FindsKeysByTheirSecretOnly) {
  const auto keys = ApiKeys::parse("# team\n" + line("ann", "s3cret") + "\n" + line("bob", "other", " admin"), "keys");
  ASSERT_TRUE(keys.ok()) << keys.status().message();
  EXPECT_EQ(keys->find("s3cret")->name, "ann");
  EXPECT_FALSE(keys->find("s3cret")->admin);
  EXPECT_TRUE(keys->find("other")->admin);
  for (const char* wrong : {"", "s3cre", "s3cret ", "S3CRET", "ann"}) EXPECT_EQ(keys->find(wrong), nullptr);
  EXPECT_EQ(keys->find(sha256_digest("s3cret")), nullptr);  // the file is no key
}

TEST(ApiKeysTest, RefusesFilesThatWouldLockOrLeaveOpen) {
  for (const std::string& text : {std::string(""), std::string("# none\n"), std::string("ann s3cret\n"), std::string("ann sha256:12\n"), "a b " + line("x", "y"),
                                  line("ann", "a") + line("ann", "b"), line("ann", "a", " root"), std::string("ann\n")}) {
    const auto keys = ApiKeys::parse(text, "keys");
    ASSERT_FALSE(keys.ok()) << text;
    EXPECT_NE(keys.status().message().find("keys"), std::string::npos);
  }
}

TEST(BearerTest, TakesTheTokenWhateverTheSchemesCase) {
  EXPECT_EQ(bearer_token("Bearer abc"), "abc");
  EXPECT_EQ(bearer_token("bearer  abc"), "abc");
  EXPECT_EQ(bearer_token("Basic abc"), "");
  EXPECT_EQ(bearer_token("Bearer"), "");
}

class KeyedServerTest : public ServerTest {
 protected:
  static void SetUpTestSuite() {
    ServerOptions options = tiny_server_options();
    options.service.keys = *ApiKeys::parse(line("ann", "a-key") + line("bob", "b-key") + line("root", "r-key", " admin"), "keys");
    server_ = start_server(std::move(options));
  }
  static Reply as(const std::string& key, std::string_view method, std::string_view path, const std::string& body = "") {
    return ask(port(), method, path, body, "Authorization: Bearer " + key + "\r\n");
  }
};

TEST_F(KeyedServerTest, EverythingButHealthNeedsAKey) {
  for (const auto& [method, path] : {std::pair("POST", "/v1/chat/completions"), std::pair("GET", "/v1/models"), std::pair("GET", "/metrics"), std::pair("GET", "/nothing"), std::pair("POST", "/tokenize")}) {
    EXPECT_EQ(ask(port(), method, path).status, 401) << path;
    EXPECT_EQ(as("wrong", method, path).status, 401) << path;
  }
  EXPECT_EQ(ask(port(), "GET", "/health").status, 200);
  EXPECT_EQ(as("a-key", "GET", "/v1/models").status, 200);
  EXPECT_EQ(ask(port(), "GET", "/v1/models", "", "x-api-key: a-key\r\n").status, 200);
}

TEST_F(KeyedServerTest, WhatBelongsToAllNeedsAnAdmin) {
  for (const char* path : {"/metrics", "/v1/system", "/v1/ps"}) {
    EXPECT_EQ(as("a-key", "GET", path).status, 403) << path;
    EXPECT_EQ(as("r-key", "GET", path).status, 200) << path;
  }
  EXPECT_EQ(as("a-key", "POST", "/v1/stop", R"({"model":"tiny"})").status, 403);
}

// CVE-2025-46570: a cached prefix tells what others asked.
TEST_F(KeyedServerTest, AKeyDoesNotFindThePrefixesOfAnother) {
  const std::string body = completion({{"prompt", std::string(150, 'k')}}).dump();
  const auto cached = [&](const char* key) { return parsed(as(key, "POST", "/v1/completions", body))["usage"]["prompt_tokens_details"]["cached_tokens"].get<int>(); };
  EXPECT_EQ(cached("a-key"), 0);
  EXPECT_GT(cached("a-key"), 0);
  EXPECT_EQ(cached("b-key"), 0);
}

TEST_F(KeyedServerTest, ATimelineIsShownToItsOwnKeyAndAdminsOnly) {
  const Reply reply = as("a-key", "POST", "/v1/completions", completion({}).dump());
  const std::string path = "/v1/requests/" + reply.headers.at("x-request-id") + "/timeline";
  EXPECT_EQ(as("a-key", "GET", path).status, 200);
  EXPECT_EQ(as("b-key", "GET", path).status, 404);
  EXPECT_EQ(as("r-key", "GET", path).status, 200);
}

}  // namespace
}  // namespace inferens::testing
