// What the server does with bytes that are not a nice request: smuggling, floods, slow and vanished clients; and what it
// promises to proper ones: kept connections, pipelining, chunked bodies, an end in good order.
#include <array>
#include <charconv>
#include <chrono>
#include <thread>

#include "engine/engine_stats.h"
#include "server_fixture.h"

namespace inferens::testing {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

class HttpTest : public ServerTest {
 protected:
  static Reply raw(std::string_view bytes) {
    Connection connection(port());
    connection.send(bytes);
    return connection.read_reply();
  }
  static void expect_alive() { EXPECT_EQ(post("/v1/completions", completion({})).status, 200); }
  static std::string streaming_request(int tokens) {
    return request_text("POST", "/v1/completions", completion({{"stream", true}, {"max_tokens", tokens}, {"n", tokens > 100 ? 64 : 1}}).dump());
  }
};

TEST_F(HttpTest, AConnectionServesManyRequestsOneAfterTheOther) {
  Connection connection(port());
  for (int i = 0; i < 3; ++i) {
    connection.send(request_text("POST", "/v1/completions", completion({}).dump()));
    EXPECT_EQ(connection.read_reply().status, 200);
    connection.send(streaming_request(4));
    EXPECT_EQ(connection.read_reply().status, 200);
    connection.send(request_text("GET", "/nothing", ""));
    EXPECT_EQ(connection.read_reply().status, 404);
  }
}

TEST_F(HttpTest, RequestsSentAheadAreAnsweredInOrder) {
  Connection connection(port());
  connection.send(streaming_request(6) + request_text("GET", "/v1/models", "") + request_text("POST", "/v1/completions", completion({}).dump()));
  EXPECT_EQ(connection.read_reply().headers["transfer-encoding"], "chunked");
  EXPECT_EQ(parsed(connection.read_reply())["object"], "list");
  EXPECT_EQ(parsed(connection.read_reply())["object"], "text_completion");
}

TEST_F(HttpTest, ABodyInChunksAndOneThatWaitsForContinueAreRead) {
  const std::string body = completion({}).dump();
  std::array<char, 16> hex;
  const auto end = std::to_chars(hex.data(), hex.data() + hex.size(), body.size(), 16).ptr;
  const Reply chunked = raw("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" +
                            std::string(hex.data(), end) + "\r\n" + body + "\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.status, 200) << chunked.body;
  Connection waiting(port());
  waiting.send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
  ASSERT_TRUE(waiting.read_until("100 Continue\r\n\r\n"));
  waiting.send(body);
  EXPECT_EQ(waiting.read_reply().status, 200);
}

TEST_F(HttpTest, AClientOfHttp10GetsItsStreamUntilTheConnectionEnds) {
  const std::string body = completion({{"stream", true}}).dump();
  const Reply reply = raw("POST /v1/completions HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.headers.contains("transfer-encoding"));
  EXPECT_EQ(sse_payloads(reply.body).back(), "[DONE]");
}

TEST_F(HttpTest, HeadTellsTheSizeAndSendsNoBody) {
  Connection connection(port());
  connection.send(request_text("HEAD", "/health", "") + request_text("GET", "/health", ""));
  ASSERT_TRUE(connection.read_until("{\"status\""));
  EXPECT_EQ(connection.received().find("{\"status\""), connection.received().rfind("{\"status\""));
}

TEST_F(HttpTest, WrongMethodsTypesAndPlacesHaveTheirOwnStatus) {
  EXPECT_EQ(ask(port(), "GET", "/v1/completions").status, 405);
  EXPECT_EQ(ask(port(), "GET", "/v1/completions").headers["allow"], "POST");
  EXPECT_EQ(ask(port(), "GET", "/v1/nothing").status, 404);
  EXPECT_EQ(ask(port(), "DELETE", "/../../etc/passwd").status, 404);
  EXPECT_EQ(raw("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}").status, 415);
  EXPECT_EQ(raw("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}").status, 415);
  EXPECT_EQ(post_text("/v1/completions", "").status, 400);
}

TEST_F(HttpTest, BodiesThatAreNotOneSoundObjectAreRefused) {
  const std::string depth(100'000, '[');
  const std::string cases[] = {"{", "[]", "1", "\"x\"", "{} {}", "{\"a\":\"\xff\"}", R"({"model":"\ud800"})", std::string("{\"a\":\0}", 7), "{\"a\":" + depth,
                               "{\"a\":" + depth + std::string(100'000, ']') + "}", R"({"model":"tiny","prompt":"a","prompt":"b"})"};
  for (const std::string& body : cases) EXPECT_EQ(post_text("/v1/completions", body).status, 400) << body.substr(0, 40);
  expect_alive();
}

// Two readings of where a request ends let one client speak with another's voice.
TEST_F(HttpTest, AmbiguousLengthsAreRefusedAndTheConnectionEnds) {
  const std::string head = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
  const std::string cases[] = {
      head + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
      head + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
      head + "Content-Length: -2\r\n\r\n",
      head + "Content-Length: 99999999999999999999999\r\n\r\n",
      head + "Transfer-Encoding: gzip\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\n\r\n-2\r\nab\r\n0\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nab\r\n0\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      "GET /health HTTP/1.1\r\nHost: localhost\r\nHost: 127.0.0.1\r\n\r\n",
      "GET /health HTTP/1.1\nHost: localhost\n\n",
      "GET /health HTTP/3.0\r\nHost: localhost\r\n\r\n",
      "GET health HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
  };
  for (const std::string& bytes : cases) {
    Connection connection(port());
    connection.send(bytes + request_text("GET", "/health", ""));
    const Reply reply = connection.read_reply();
    EXPECT_TRUE(reply.status == 400 || reply.status == 413) << reply.status << " " << bytes;
    EXPECT_TRUE(connection.ended_by_server()) << bytes;
  }
  expect_alive();
}

TEST_F(HttpTest, FieldsAndBodiesBeyondTheLimitsAreRefused) {
  EXPECT_EQ(raw("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Big: " + std::string(100'000, 'a') + "\r\n\r\n").status, 431);
  std::string many = "GET /health HTTP/1.1\r\nHost: localhost\r\n";
  for (int i = 0; i < 20'000; ++i) many += "x" + std::to_string(i) + ": 1\r\n";
  EXPECT_EQ(raw(many + "\r\n").status, 431);
  EXPECT_EQ(raw("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n").status, 413);
  expect_alive();
}

// DNS rebinding, and pages of strangers.
TEST_F(HttpTest, StrangeHostsAndOriginsAreRefused) {
  EXPECT_EQ(raw("GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 403);
  EXPECT_EQ(raw("GET /health HTTP/1.1\r\nHost: 127.0.0.1.evil.example:80\r\n\r\n").status, 403);
  for (const char* host : {"localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:9", "[::1]:80", "192.168.1.5"}) {
    EXPECT_EQ(raw(std::string("GET /health HTTP/1.1\r\nHost: ") + host + "\r\n\r\n").status, 200) << host;
  }
  EXPECT_EQ(raw("GET /health HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n").status, 403);
  EXPECT_EQ(raw("GET /health HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n").status, 403);
  const Reply own = raw("GET /health HTTP/1.1\r\nHost: localhost:5\r\nOrigin: http://localhost:5\r\n\r\n");
  EXPECT_EQ(own.status, 200);
  EXPECT_FALSE(own.headers.contains("access-control-allow-origin"));
}

TEST_F(HttpTest, CorsIsAnsweredOnlyForOriginsThatWereAllowed) {
  ServerOptions options = tiny_server_options();
  options.service.cors_origins = {"https://app.example"};
  options.service.allowed_hosts = {"llm.example"};
  const auto server = start_server(std::move(options));
  const uint16_t at = server->http().port();
  const Reply allowed = ask(at, "GET", "/v1/models", "", "Origin: https://app.example\r\n");
  EXPECT_EQ(allowed.headers.at("access-control-allow-origin"), "https://app.example");
  EXPECT_EQ(ask(at, "OPTIONS", "/v1/chat/completions", "", "Origin: https://app.example\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n").status, 204);
  EXPECT_EQ(ask(at, "GET", "/v1/models", "", "Origin: https://other.example\r\n").status, 403);
  Connection named(at);
  named.send("GET /health HTTP/1.1\r\nHost: llm.example\r\n\r\n");
  EXPECT_EQ(named.read_reply().status, 200);
}

TEST_F(HttpTest, NoErrorTellsAPathOfThisMachineOrAnAddress) {
  const std::string bodies[] = {"{", R"({"model":"x","messages":[]})", R"({"model":"tiny","messages":[{"role":"user","content":5}]})", completion({{"stop_token_ids", {99999999}}}).dump()};
  for (const char* path : {"/v1/completions", "/v1/chat/completions", "/tokenize"}) {
    for (const std::string& body : bodies) {
      const std::string text = post_text(path, body).body;
      EXPECT_EQ(text.find("0x"), std::string::npos) << text;
      EXPECT_EQ(text.find(INFERENS_SOURCE_DIR), std::string::npos) << text;
    }
  }
}

TEST_F(HttpTest, SlowSendersAreCutAndOthersGoOn) {
  ServerOptions options = tiny_server_options();
  options.http.limits.header = 100ms;
  options.http.limits.idle = 100ms;
  options.http.limits.body_grace = 100ms;
  options.http.limits.linger = 50ms;
  const auto server = start_server(std::move(options));
  const uint16_t at = server->http().port();
  Connection silent(at);
  Connection slow_header(at);
  slow_header.send("POST /v1/completions HTTP/1.1\r\nHost: lo");
  Connection slow_body(at);
  slow_body.send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{");
  EXPECT_TRUE(silent.ended_by_server());
  EXPECT_TRUE(slow_header.ended_by_server());
  EXPECT_TRUE(slow_body.ended_by_server());
  EXPECT_EQ(ask(at, "POST", "/v1/completions", completion({}).dump()).status, 200);
}

// The engine must be free again whatever the client was waiting for when it went.
TEST_F(HttpTest, AClientThatGoesLeavesNothingRunning) {
  const std::string long_prompt(1500, 'w');
  const json requests[] = {
      completion({{"max_tokens", 200}, {"n", 64}, {"stream", true}}),
      completion({{"max_tokens", 200}, {"n", 64}}),
      completion({{"max_tokens", 50}, {"prompt", long_prompt}, {"stream", true}, {"n", 4}}),
      completion({{"max_tokens", 50}, {"prompt", {long_prompt + "a", long_prompt + "b", long_prompt + "c"}}}),
  };
  for (const json& body : requests) {
    for (const bool rude : {false, true}) {
      for (const auto wait : {0ms, 3ms, 30ms}) {
        Connection connection(port());
        connection.send(request_text("POST", "/v1/completions", body.dump()));
        std::this_thread::sleep_for(wait);
        rude ? connection.reset() : connection.close();
      }
    }
  }
  EXPECT_TRUE(becomes_idle(*server_));
  expect_alive();
}

TEST_F(HttpTest, AClientThatReadsNothingIsCutAndOthersGoOn) {
  ServerOptions options = tiny_server_options();
  options.http.limits.write_stall = 200ms;
  const auto server = start_server(std::move(options));
  const uint16_t at = server->http().port();
  Connection deaf(at);
  // Many answers wanted, none read: the socket's buffers fill, then the write stalls.
  json body = completion({{"n", 100}, {"logprobs", 5}, {"stream", true}, {"max_tokens", 200}});
  deaf.send(request_text("POST", "/v1/completions", body.dump()));
  ASSERT_TRUE(deaf.read_until("data: "));
  EXPECT_EQ(ask(at, "POST", "/v1/completions", completion({}).dump()).status, 200);
  EXPECT_TRUE(becomes_idle(*server));
}

TEST_F(HttpTest, DrainingFinishesAnswersAndTakesNoNewOnes) {
  const auto server = start_server(tiny_server_options());
  const uint16_t at = server->http().port();
  Connection running(at);
  running.send(streaming_request(200));
  ASSERT_TRUE(running.read_until("data: "));
  Connection idle(at);
  idle.send(request_text("GET", "/health", ""));
  EXPECT_EQ(idle.read_reply().status, 200);
  server->http().drain();
  EXPECT_TRUE(idle.ended_by_server());
  const Reply reply = running.read_reply();
  EXPECT_EQ(sse_payloads(reply.body).back(), "[DONE]");
  EXPECT_TRUE(server->wait());
  EXPECT_FALSE(Connection(at).connected());
}

TEST_F(HttpTest, AStreamThatOutlivesTheDrainEndsWithAnError) {
  ServerOptions options = tiny_server_options();
  options.http.drain = 20ms;
  const auto server = start_server(std::move(options));
  Connection running(server->http().port());
  running.send(request_text("POST", "/v1/completions", completion({{"stream", true}, {"max_tokens", 200}, {"n", 128}}).dump()));
  ASSERT_TRUE(running.read_until("data: "));
  server->http().drain();
  const Reply reply = running.read_reply();
  const json last = json::parse(sse_payloads(reply.body).back(), nullptr, false);
  EXPECT_TRUE(last.contains("error")) << reply.body.substr(reply.body.size() - std::min<size_t>(200, reply.body.size()));
  EXPECT_FALSE(server->wait());
}

TEST_F(HttpTest, AbortingInTheMiddleOfAnswersEndsCleanly) {
  const auto server = start_server(tiny_server_options());
  Connection running(server->http().port());
  running.send(request_text("POST", "/v1/completions", completion({{"stream", true}, {"max_tokens", 200}, {"n", 128}}).dump()));
  ASSERT_TRUE(running.read_until("data: "));
  server->http().abort();
  EXPECT_FALSE(server->wait());
}

}  // namespace
}  // namespace inferens::testing
