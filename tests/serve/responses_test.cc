// What programs on OpenAI's Responses API rely on: the object, the events in order, stored responses and their chains,
// background ones that are asked for later, and who may see them.
#include <thread>

#include "serve/api/responses_call.h"
#include "serve/response_store.h"
#include "server_fixture.h"

namespace inferens::testing {
namespace {

using nlohmann::json;

class ResponsesTest : public ServerTest {
 protected:
  static json request(json fields) {
    json body = {{"model", "tiny"}, {"input", "Hello"}, {"max_output_tokens", 8}, {"seed", 5}};
    if (!fields.is_null()) body.update(fields);
    return body;
  }
  static json ok(const Reply& reply) {
    EXPECT_EQ(reply.status, 200) << reply.body;
    return parsed(reply);
  }
  static json create(json fields) { return ok(post("/v1/responses", request(std::move(fields)))); }
  static Reply get(const std::string& path) { return ask(port(), "GET", "/v1/responses/" + path); }
  static std::string text_of(const json& response) { return response["output"][0]["content"][0]["text"]; }
  static json wait_for(const std::string& id) {
    for (int i = 0; i < 5000; ++i) {
      json response = ok(get(id));
      if (response["status"] != "queued" && response["status"] != "in_progress") return response;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return {};
  }
};

TEST_F(ResponsesTest, AResponseHasTheShapeThatClientsRead) {
  const json r = create({{"instructions", "Be kind."}, {"metadata", {{"a", "b"}}}});
  EXPECT_TRUE(r["id"].get<std::string>().starts_with("resp_"));
  EXPECT_EQ(r["object"], "response");
  EXPECT_EQ(r["status"], "incomplete");
  EXPECT_EQ(r["incomplete_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(r["output"][0]["type"], "message");
  EXPECT_EQ(r["output"][0]["content"][0]["type"], "output_text");
  EXPECT_EQ(r["instructions"], "Be kind.");
  EXPECT_EQ(r["metadata"], (json{{"a", "b"}}));
  EXPECT_EQ(r["usage"]["output_tokens"], 8);
  EXPECT_EQ(r["usage"]["total_tokens"], r["usage"]["input_tokens"].get<int>() + 8);
  EXPECT_EQ(r["usage"]["output_tokens_details"]["reasoning_tokens"], 0);
  EXPECT_TRUE(r["error"].is_null());
}

TEST_F(ResponsesTest, AStreamIsItsEventsInOrderAndSaysTheSame) {
  const json whole = create({});
  const Reply reply = post("/v1/responses", request({{"stream", true}}));
  ASSERT_EQ(reply.status, 200);
  std::vector<std::string> order;
  std::string text;
  json last;
  int sequence = 0;
  for (size_t at = 0; at < reply.body.size();) {
    const size_t end = reply.body.find("\n\n", at);
    ASSERT_NE(end, std::string::npos);
    const std::string event = reply.body.substr(at, end - at);
    const size_t line = event.find('\n');
    last = json::parse(event.substr(line + sizeof("data: ")));
    EXPECT_EQ("event: " + last["type"].get<std::string>(), event.substr(0, line));
    EXPECT_EQ(last["sequence_number"], sequence++);
    if (order.empty() || order.back() != last["type"]) order.push_back(last["type"]);
    if (last["type"] == "response.output_text.delta") text += last["delta"];
    at = end + 2;
  }
  EXPECT_EQ(order, (std::vector<std::string>{"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.output_text.delta",
                                             "response.output_text.done", "response.content_part.done", "response.output_item.done", "response.incomplete"}));
  EXPECT_EQ(text, text_of(whole));
  EXPECT_EQ(text_of(last["response"]), text);
  EXPECT_EQ(last["response"]["usage"]["output_tokens"], 8);
}

TEST_F(ResponsesTest, AStoredResponseIsReadAgainUntilItIsDeleted) {
  const json made = create({});
  const std::string id = made["id"];
  EXPECT_EQ(ok(get(id)), made);
  EXPECT_EQ(ok(ask(port(), "DELETE", "/v1/responses/" + id))["deleted"], true);
  EXPECT_EQ(get(id).status, 404);
  EXPECT_EQ(ask(port(), "DELETE", "/v1/responses/" + id).status, 404);
  const std::string unstored = create({{"store", false}})["id"];
  EXPECT_EQ(get(unstored).status, 404);
}

TEST_F(ResponsesTest, AnEarlierResponseIsGoneOnWithAndItsInstructionsAreNot) {
  const json first = create({{"instructions", "Be kind."}});
  const json second = create({{"input", "More"}, {"previous_response_id", first["id"]}});
  const json spelled = create({{"input", {{{"role", "user"}, {"content", "Hello"}}, {{"role", "assistant"}, {"content", text_of(first)}}, {{"role", "user"}, {"content", "More"}}}}});
  EXPECT_EQ(text_of(second), text_of(spelled));
  EXPECT_EQ(second["usage"]["input_tokens"], spelled["usage"]["input_tokens"]);
  EXPECT_EQ(second["previous_response_id"], first["id"]);
  const Reply missing = post("/v1/responses", request({{"previous_response_id", "resp_absent"}}));
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(param_of(missing), "previous_response_id");
}

TEST_F(ResponsesTest, ABackgroundResponseIsQueuedAndDoneLater) {
  const json now = create({});
  const json queued = create({{"background", true}});
  EXPECT_EQ(queued["status"], "queued");
  EXPECT_TRUE(queued["output"].empty());
  const json done = wait_for(queued["id"]);
  EXPECT_EQ(done["status"], "incomplete");
  EXPECT_EQ(text_of(done), text_of(now));
  EXPECT_TRUE(becomes_idle(*server_));
}

TEST_F(ResponsesTest, ABackgroundResponseIsCancelledAndItsMemoryIsBack) {
  const std::string id = create({{"background", true}, {"max_output_tokens", 200}})["id"];
  const json cancelled = ok(post("/v1/responses/" + id + "/cancel", json::object()));
  EXPECT_NE(cancelled["status"], "queued");
  EXPECT_NE(cancelled["status"], "in_progress");
  EXPECT_TRUE(becomes_idle(*server_));
  EXPECT_EQ(ok(get(id))["status"], cancelled["status"]);
  const std::string foreground = create({})["id"];
  EXPECT_EQ(post("/v1/responses/" + foreground + "/cancel", json::object()).status, 400);
  EXPECT_EQ(post("/v1/responses/" + foreground + "/fly", json::object()).status, 404);
}

TEST_F(ResponsesTest, InputItemsAreListedInBothOrders) {
  const json input = {{{"role", "user"}, {"content", "A"}}, {{"role", "assistant"}, {"content", {{{"type", "output_text"}, {"text", "B"}}}}}, {{"role", "user"}, {"content", "C"}}};
  const std::string id = create({{"input", input}})["id"];
  const json newest_first = ok(get(id + "/input_items"));
  ASSERT_EQ(newest_first["data"].size(), 3);
  EXPECT_EQ(newest_first["data"][0]["content"][0], (json{{"type", "input_text"}, {"text", "C"}}));
  const json page = ok(get(id + "/input_items?order=asc&limit=2"));
  EXPECT_EQ(page["has_more"], true);
  EXPECT_EQ(page["data"][1]["content"][0]["type"], "output_text");
  const json rest = ok(get(id + "/input_items?order=asc&after=" + page["last_id"].get<std::string>()));
  EXPECT_EQ(rest["data"].size(), 1);
  EXPECT_EQ(rest["data"][0]["content"][0]["text"], "C");
  EXPECT_EQ(get(id + "/input_items?limit=0").status, 400);
}

TEST_F(ResponsesTest, InputTokensAreThoseOfTheResponse) {
  const json counted = ok(post("/v1/responses/input_tokens", {{"model", "tiny"}, {"input", "Hello"}}));
  EXPECT_EQ(counted["input_tokens"], create({})["usage"]["input_tokens"]);
}

TEST_F(ResponsesTest, LogprobsComeWhenIncluded) {
  const json with = create({{"include", {"message.output_text.logprobs"}}, {"top_logprobs", 2}});
  EXPECT_EQ(with["output"][0]["content"][0]["logprobs"].size(), 8);
  EXPECT_EQ(with["output"][0]["content"][0]["logprobs"][0]["top_logprobs"].size(), 2);
  EXPECT_TRUE(create({})["output"][0]["content"][0]["logprobs"].empty());
}

TEST_F(ResponsesTest, EveryFieldIsTakenOrRefusedByName) {
  for (const ResponsesField& field : responses_tables()[0]) {
    SCOPED_TRACE(field.info.name);
    const std::string name(field.info.name);
    json body = request({});
    if (!field.info.example.empty()) {
      body[name] = json::parse(field.info.example);
      EXPECT_EQ(post("/v1/responses", body).status, 200);
    }
    body[name] = field.info.kinds == kObject ? json("x") : json{{"a", 1}};
    const Reply wrong = post("/v1/responses", body);
    EXPECT_EQ(wrong.status, 400) << wrong.body;
    EXPECT_TRUE(param_of(wrong).starts_with(name)) << wrong.body;
  }
  const std::pair<json, const char*> bad[] = {{{{"background", true}, {"store", false}}, "background"},
                                              {{{"background", true}, {"stream", true}}, "background"},
                                              {{{"top_logprobs", 2}}, "top_logprobs"},
                                              {{{"input", json::array()}}, "input"},
                                              {{{"no_such_field", 1}}, "no_such_field"},
                                              {{{"include", {"file_search_call.results"}}}, "include"}};
  for (const auto& [fields, param] : bad) EXPECT_EQ(param_of(post("/v1/responses", request(fields))), param);
}

TEST_F(ResponsesTest, InputThatMakesNoSenseIsRefusedByPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {R"([1])", "input[0]"},
      {R"([{"content":"x"}])", "input[0].role"},
      {R"([{"role":"robot","content":"x"}])", "input[0].role"},
      {R"([{"role":"user","content":[{"type":"input_image","image_url":"http://127.0.0.1/"}]}])", "input[0].content"},
      {R"([{"type":"item_reference","id":"x"}])", "input[0]"},
      {R"([{"type":"function_call","call_id":"a","name":"f","arguments":{}}])", "input[0].arguments"},
      {R"([{"type":"function_call_output","output":"x"}])", "input[0].call_id"},
  };
  for (const auto& [input, param] : cases) {
    const Reply reply = post("/v1/responses", request({{"input", json::parse(input)}}));
    EXPECT_EQ(reply.status, 400) << reply.body;
    EXPECT_EQ(param_of(reply), param);
  }
}

TEST(ResponseStoreTest, KeepsSoManyAndShowsThemToTheirOwnKeyOnly) {
  ResponseStore store;
  for (size_t i = 0; i < ResponseStore::kMostResponses + 10; ++i) {
    StoredResponse response;
    response.id = "resp_" + std::to_string(i);
    response.key_id = "a";
    store.put(std::move(response));
  }
  EXPECT_FALSE(store.find("resp_9", "a"));
  EXPECT_TRUE(store.find("resp_10", "a"));
  EXPECT_FALSE(store.find("resp_10", "b"));
  EXPECT_FALSE(store.erase("resp_10", "b"));
  StoredResponse large;
  large.id = "large";
  large.text = std::string(ResponseStore::kMostBytes, 'x');
  store.put(std::move(large));
  EXPECT_FALSE(store.find("resp_20", "a")) << "more bytes are kept than allowed";
}

}  // namespace
}  // namespace inferens::testing
