// What programs written for Anthropic's Messages rely on: the order of named events, usage in three parts, stop reasons,
// both versions, and errors in its shape.
#include "server_fixture.h"

namespace inferens::testing {
namespace {

using nlohmann::json;

constexpr std::string_view kOld = "anthropic-version: 2023-06-01\r\n";
constexpr std::string_view kNew = "anthropic-version: 2026-10-21\r\n";

struct NamedEvent {
  std::string name;
  json data;
};

// Only events with a name: its clients drop the others.
std::vector<NamedEvent> named_events(const std::string& body) {
  std::vector<NamedEvent> out;
  for (size_t at = 0; at < body.size();) {
    const size_t end = body.find("\n\n", at);
    EXPECT_NE(end, std::string::npos);
    const std::string event = body.substr(at, end - at);
    const size_t line = event.find('\n');
    EXPECT_TRUE(event.starts_with("event: ") && event.substr(line + 1).starts_with("data: ")) << event;
    out.push_back({event.substr(7, line - 7), json::parse(event.substr(line + 7))});
    EXPECT_EQ(out.back().name, out.back().data["type"]);
    at = end + 2;
  }
  return out;
}

class AnthropicTest : public ServerTest {
 protected:
  static json message(json fields) {
    json body = {{"model", "tiny"}, {"max_tokens", 8}, {"seed", 5}, {"messages", {{{"role", "user"}, {"content", "Hello"}}}}};
    if (!fields.is_null()) body.update(fields);
    return body;
  }
  static Reply send(const json& body, std::string_view headers = kOld, std::string_view path = "/v1/messages") {
    return ask(port(), "POST", path, body.dump(), headers);
  }
  static json ok(const Reply& reply) {
    EXPECT_EQ(reply.status, 200) << reply.body;
    return parsed(reply);
  }
  static void expect_error(const Reply& reply, int status, std::string_view type, std::string_view text) {
    EXPECT_EQ(reply.status, status) << reply.body;
    const json body = parsed(reply);
    EXPECT_EQ(body["type"], "error");
    EXPECT_EQ(body["error"]["type"], type);
    EXPECT_NE(body["error"]["message"].get<std::string>().find(text), std::string::npos) << reply.body;
    EXPECT_EQ(body["request_id"], reply.headers.at("request-id"));
  }
};

TEST_F(AnthropicTest, AMessageHasTheShapeThatClientsRead) {
  const Reply reply = send(message({}));
  const json body = ok(reply);
  EXPECT_EQ(body["type"], "message");
  EXPECT_EQ(body["role"], "assistant");
  EXPECT_EQ(body["id"], "msg_" + reply.headers.at("request-id"));
  EXPECT_EQ(body["content"][0]["type"], "text");
  EXPECT_EQ(body["stop_reason"], "max_tokens");
  EXPECT_TRUE(body["stop_sequence"].is_null());
  EXPECT_EQ(body["usage"]["output_tokens"], 8);
  EXPECT_EQ(body["usage"]["service_tier"], "standard");
}

TEST_F(AnthropicTest, AStreamIsItsEventsInOrderAndSaysTheSame) {
  const json whole = ok(send(message({})));
  const Reply reply = send(message({{"stream", true}}));
  EXPECT_TRUE(reply.headers.at("content-type").starts_with("text/event-stream"));
  const std::vector<NamedEvent> events = named_events(reply.body);
  std::vector<std::string> order;
  std::string text;
  for (const NamedEvent& e : events) {
    if (order.empty() || order.back() != e.name) order.push_back(e.name);
    if (e.name == "content_block_delta") text += e.data["delta"]["text"];
  }
  EXPECT_EQ(order, (std::vector<std::string>{"message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"}));
  EXPECT_EQ(text, whole["content"][0]["text"]);
  const json& start = events.front().data["message"];
  EXPECT_TRUE(start["content"].empty());
  EXPECT_GT(start["usage"]["input_tokens"], 0);
  const json& delta = events[events.size() - 2].data;
  EXPECT_EQ(delta["delta"]["stop_reason"], "max_tokens");
  EXPECT_EQ(delta["usage"]["output_tokens"], 8);
}

TEST_F(AnthropicTest, AStopSequenceIsReportedAndLeftOut) {
  const std::string text = ok(send(message({{"max_tokens", 30}})))["content"][0]["text"];
  const std::string stop = character_in(text);
  const json body = ok(send(message({{"max_tokens", 30}, {"stop_sequences", {stop, "never said"}}})));
  EXPECT_EQ(body["stop_reason"], "stop_sequence");
  EXPECT_EQ(body["stop_sequence"], stop);
  EXPECT_EQ(body["content"].empty() ? "" : body["content"][0]["text"], text.substr(0, text.find(stop)));
}

TEST_F(AnthropicTest, BothVersionsAreServedAndDifferInSampling) {
  EXPECT_EQ(send(message({{"temperature", 0.5}, {"top_k", 5}, {"top_p", 0.5}}), kOld).status, 200);
  EXPECT_EQ(send(message({}), kNew).status, 200);
  for (const char* field : {"temperature", "top_p", "top_k"}) {
    expect_error(send(message({{field, 1}}), kNew), 400, "invalid_request_error", std::string(field) + ": Extra inputs are not permitted");
  }
  expect_error(send(message({}), "anthropic-version: 2020-01-01\r\n"), 400, "invalid_request_error", "2020-01-01");
  expect_error(send(message({}), ""), 400, "invalid_request_error", "header is required");
}

TEST_F(AnthropicTest, CountedTokensAreThoseOfTheMessage) {
  json body = message({{"system", "Be kind."}});
  const json usage = ok(send(body))["usage"];
  for (const char* field : {"max_tokens", "seed"}) body.erase(field);
  const json counted = ok(send(body, kOld, "/v1/messages/count_tokens"));
  EXPECT_EQ(counted, (json{{"input_tokens", usage["input_tokens"].get<int>() + usage["cache_read_input_tokens"].get<int>() + usage["cache_creation_input_tokens"].get<int>()}}));
}

// total prompt = input + read + created, whatever the cache did.
TEST_F(AnthropicTest, CacheControlKeepsThePrefixAndUsageIsSplit) {
  const std::string text = std::string(200, 'k') + " to be kept";
  const json system = {{{"type", "text"}, {"text", text}, {"cache_control", {{"type", "ephemeral"}, {"ttl", "1h"}}}}};
  const json first = ok(send(message({{"system", system}})))["usage"];
  EXPECT_GE(first["cache_creation_input_tokens"], 128);
  EXPECT_EQ(first["cache_creation"]["ephemeral_1h_input_tokens"], first["cache_creation_input_tokens"]);
  const json second = ok(send(message({{"system", system}})))["usage"];
  EXPECT_GE(second["cache_read_input_tokens"], first["cache_creation_input_tokens"]);
  EXPECT_EQ(second["cache_creation_input_tokens"], 0);
  const auto total = [](const json& u) { return u["input_tokens"].get<int>() + u["cache_read_input_tokens"].get<int>() + u["cache_creation_input_tokens"].get<int>(); };
  EXPECT_EQ(total(first), total(second));
}

TEST_F(AnthropicTest, MaxTokensZeroFillsTheCacheOnly) {
  const std::string text = std::string(200, 'f') + " filled";
  const json body = message({{"max_tokens", 0}, {"cache_control", {{"type", "ephemeral"}}}, {"messages", {{{"role", "user"}, {"content", text}}}}});
  const json filled = ok(send(body));
  EXPECT_TRUE(filled["content"].empty());
  EXPECT_EQ(filled["usage"]["output_tokens"], 0);
  EXPECT_GE(ok(send(message({{"messages", body["messages"]}})))["usage"]["cache_read_input_tokens"], 128);
}

TEST_F(AnthropicTest, CacheControlHasItsLimits) {
  const auto block = [](const char* ttl) { return json{{"type", "text"}, {"text", "x"}, {"cache_control", {{"type", "ephemeral"}, {"ttl", ttl}}}}; };
  const auto messages = [](const json& blocks) { return message({{"messages", {{{"role", "user"}, {"content", blocks}}}}}); };
  EXPECT_EQ(send(messages({block("1h"), block("5m")})).status, 200);
  expect_error(send(messages({block("5m"), block("1h")})), 400, "invalid_request_error", "1h");
  expect_error(send(messages({block("5m"), block("5m"), block("5m"), block("5m"), block("5m")})), 400, "invalid_request_error", "Found 5");
  expect_error(send(messages(json::array({block("2d")}))), 400, "invalid_request_error", "5m or 1h");
}

TEST_F(AnthropicTest, BlocksSystemAndPrefillMeanWhatTheirStringsMean) {
  const json blocks = {{{"type", "text"}, {"text", "Hel"}}, {{"type", "text"}, {"text", "lo"}}};
  const json plain = ok(send(message({{"system", "Be kind."}})));
  const json parts = ok(send(message({{"system", {{{"type", "text"}, {"text", "Be "}}, {{"type", "text"}, {"text", "kind."}}}}, {"messages", {{{"role", "user"}, {"content", blocks}}}}})));
  EXPECT_EQ(plain["content"], parts["content"]);
  // A prefilled answer is gone on with: the text is not said again.
  const std::string text = plain["content"][0]["text"];
  const json prefilled = ok(send(message({{"max_tokens", 4}, {"messages", {{{"role", "user"}, {"content", "Hello"}}, {{"role", "assistant"}, {"content", "Well"}}}}})));
  EXPECT_EQ(prefilled["usage"]["output_tokens"], 4);
}

TEST_F(AnthropicTest, ErrorsHaveItsShape) {
  expect_error(send(message({{"model", "absent"}})), 404, "not_found_error", "absent");
  expect_error(send(message({{"temprature", 1}})), 400, "invalid_request_error", "temprature: Extra inputs are not permitted");
  expect_error(send(message({{"tools", {{{"name", "f"}}}}})), 400, "invalid_request_error", "tools");
  expect_error(send(message({{"thinking", {{"type", "enabled"}, {"budget_tokens", 1024}}}})), 400, "invalid_request_error", "thinking");
  expect_error(send(message({{"temperature", 1.5}})), 400, "invalid_request_error", "temperature");
  expect_error(send({{"model", "tiny"}}), 400, "invalid_request_error", "required");
  expect_error(ask(port(), "POST", "/v1/messages", "{", kOld), 400, "invalid_request_error", "JSON");
  expect_error(ask(port(), "POST", "/v1/messages", "{\"messages\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}", kOld), 400, "invalid_request_error", "nested deeper");
  expect_error(ask(port(), "GET", "/v1/messages", "", kOld), 405, "invalid_request_error", "POST");
  expect_error(ask(port(), "POST", "/v1/messages/nothing", "{}", kOld), 404, "not_found_error", "/v1/messages/nothing");
  expect_error(send(message({{"messages", {{{"role", "user"}, {"content", std::string(100'000, 'x')}}}}})), 400, "invalid_request_error", "tokens");
}

TEST_F(AnthropicTest, MessagesThatMakeNoSenseAreRefusedByPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {R"([])", "messages"},
      {R"([1])", "messages.0"},
      {R"([{"role":"user"}])", "messages.0.content"},
      {R"([{"role":"robot","content":"x"}])", "role"},
      {R"([{"role":"user","content":[]}])", "messages.0.content"},
      {R"([{"role":"user","content":[{"type":"text","text":"x","color":1}]}])", "messages.0.content.0.color"},
      {R"([{"role":"user","content":[{"type":"image","source":{"type":"url","url":"http://127.0.0.1/"}}]}])", "text models"},
      {R"([{"role":"user","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}])", "tool_use"},
      {R"([{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"y"}]}])", "signature"},
      {R"([{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":"{}"}]}])", "input"},
      {R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image"}]}]}])", "text"},
  };
  for (const auto& [messages, text] : cases) expect_error(send(message({{"messages", json::parse(messages)}})), 400, "invalid_request_error", text);
}

TEST_F(AnthropicTest, ModelsAreListedToThoseWhoSayTheVersion) {
  const json list = ok(ask(port(), "GET", "/v1/models", "", kNew));
  EXPECT_EQ(list["data"][0]["type"], "model");
  EXPECT_EQ(list["data"][0]["id"], "tiny");
  EXPECT_EQ(list["first_id"], "tiny");
  EXPECT_EQ(list["has_more"], false);
  EXPECT_EQ(ok(ask(port(), "GET", "/v1/models/tiny", "", kNew))["lifecycle"], "active");
  expect_error(ask(port(), "GET", "/v1/models/absent", "", kNew), 404, "not_found_error", "absent");
  EXPECT_EQ(parsed(ask(port(), "GET", "/v1/models"))["object"], "list");
  EXPECT_TRUE(ok(ask(port(), "GET", "/v1/models?after_id=tiny&limit=5", "", kNew))["data"].empty());
  expect_error(ask(port(), "GET", "/v1/models?limit=0", "", kNew), 400, "invalid_request_error", "limit");
}

// CVE-2026-44222: text that spells special tokens is text.
TEST_F(AnthropicTest, SpelledSpecialTokensStayText) {
  const auto count = [](const std::string& text) {
    return ok(send({{"model", "tiny"}, {"messages", {{{"role", "user"}, {"content", text}}}}}, kOld, "/v1/messages/count_tokens"))["input_tokens"].get<int>();
  };
  EXPECT_GT(count("<s></s><|im_end|>"), count("") + 3);
}

TEST_F(AnthropicTest, AClientThatLeavesMidStreamHarmsNobody) {
  {
    Connection gone(port());
    gone.send(request_text("POST", "/v1/messages", message({{"stream", true}, {"max_tokens", 150}}).dump(), kOld));
    ASSERT_TRUE(gone.read_until("content_block_delta"));
  }
  EXPECT_TRUE(becomes_idle(*server_));
  EXPECT_EQ(send(message({})).status, 200);
}

}  // namespace
}  // namespace inferens::testing
