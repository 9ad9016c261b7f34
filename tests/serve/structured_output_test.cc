// Structured output by the fields of OpenAI and vLLM: what was asked for is what comes, whole or streamed, and what cannot
// be kept is refused with its place before anything is generated.
#include <gmock/gmock.h>

#include <set>

#include "server_fixture.h"

namespace inferens::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

const json kPerson = {{"type", "object"},
                      {"properties", {{"name", {{"type", "string"}, {"maxLength", 10}}}, {"age", {{"type", "integer"}, {"minimum", 0}, {"maximum", 150}}}}},
                      {"required", {"name", "age"}},
                      {"additionalProperties", false}};

class StructuredOutputTest : public ServerTest {
 protected:
  static json free_chat(json fields) {
    json body = {{"model", "tiny"}, {"messages", {{{"role", "user"}, {"content", "Invent someone"}}}}, {"max_tokens", 200}, {"seed", 3}};
    body.update(fields);
    return body;
  }
  static std::string answer(const json& fields) {
    const Reply reply = post("/v1/chat/completions", free_chat(fields));
    EXPECT_EQ(reply.status, 200) << reply.body;
    const json choice = parsed(reply)["choices"][0];
    EXPECT_EQ(choice["finish_reason"], "stop") << reply.body;
    return choice["message"]["content"];
  }
  static void expect_refused(const json& fields, const std::string& param, const std::string& message) {
    const Reply reply = post("/v1/chat/completions", free_chat(fields));
    EXPECT_EQ(reply.status, 400) << reply.body;
    EXPECT_EQ(param_of(reply), param);
    EXPECT_THAT(parsed(reply)["error"]["message"].get<std::string>(), HasSubstr(message));
  }
  static json format(json schema) {
    return {{"response_format", {{"type", "json_schema"}, {"json_schema", {{"name", "s"}, {"strict", true}, {"schema", std::move(schema)}}}}}};
  }
  static void expect_person(const std::string& text) {
    const json person = json::parse(text);
    EXPECT_EQ(person.size(), 2U) << text;
    EXPECT_TRUE(person["name"].is_string()) << text;
    EXPECT_GE(person["age"].get<int>(), 0);
    EXPECT_LE(person["age"].get<int>(), 150);
  }
};

TEST_F(StructuredOutputTest, EveryFieldThatAsksForAFormGetsIt) {
  expect_person(answer(format(kPerson)));
  expect_person(answer({{"guided_json", kPerson}}));
  expect_person(answer({{"guided_json", kPerson.dump()}}));
  expect_person(answer({{"structured_outputs", {{"json", kPerson}}}}));
  EXPECT_THAT(answer({{"guided_regex", "[0-9]{3}-[0-9]{2}"}}), MatchesRegex("[0-9]{3}-[0-9]{2}"));
  EXPECT_THAT(answer({{"structured_outputs", {{"regex", "[a-f]+x"}}}, {"logit_bias", {}}}), MatchesRegex("[a-f]+x"));
  EXPECT_THAT(answer({{"guided_choice", {"red", "green"}}}), MatchesRegex("red|green"));
  EXPECT_THAT(answer({{"structured_outputs", {{"choice", {"red", "green"}}}}}), MatchesRegex("red|green"));
  EXPECT_THAT(answer({{"guided_grammar", "root ::= \"go \" (\"left\" | \"right\")"}}), MatchesRegex("go (left|right)"));
  EXPECT_THAT(answer({{"grammar", "root ::= [xy]{4}"}}), MatchesRegex("[xy]{4}"));
  EXPECT_EQ(answer({{"response_format", {{"type", "text"}}}, {"max_tokens", 200}, {"guided_choice", {"a"}}}), "a");
}

TEST_F(StructuredOutputTest, JsonObjectIsAnObject) {
  // A random model may write on and on; what it has written by then still begins like JSON.
  const json body = parsed(post("/v1/chat/completions", free_chat({{"response_format", {{"type", "json_object"}}}})));
  const json& choice = body["choices"][0];
  const std::string text = choice["message"]["content"];
  EXPECT_EQ(text.front(), '{');
  EXPECT_EQ(json::accept(text), choice["finish_reason"] == "stop") << text;
}

TEST_F(StructuredOutputTest, AStreamIsTheSameTextAndCompletionsTakeTheFieldsToo) {
  json fields = format(kPerson);
  const std::string whole = answer(fields);
  fields["stream"] = true;
  std::string joined;
  for (const std::string& data : sse_payloads(post("/v1/chat/completions", free_chat(fields)).body)) {
    if (data == "[DONE]") continue;
    const json chunk = json::parse(data);
    if (!chunk["choices"].empty() && chunk["choices"][0]["delta"].contains("content")) joined += chunk["choices"][0]["delta"]["content"].get<std::string>();
  }
  EXPECT_EQ(joined, whole);
  json body = {{"model", "tiny"}, {"prompt", {"One:", "Two:"}}, {"max_tokens", 50}, {"n", 2}, {"guided_regex", "(ab|cd){2,4}"}};
  const json choices = parsed(post("/v1/completions", body))["choices"];
  EXPECT_EQ(choices.size(), 4U);
  for (const json& choice : choices) EXPECT_THAT(choice["text"].get<std::string>(), MatchesRegex("(ab|cd){2,4}"));
}

TEST_F(StructuredOutputTest, WhatCannotBeKeptIsRefusedWithItsPlace) {
  json schema = kPerson;
  schema["properties"]["age"]["multipleOf"] = 2.5;
  expect_refused(format(schema), "response_format", "#/properties/age/multipleOf");
  expect_refused({{"guided_json", "{\"type\":"}}, "guided_json", "not JSON");
  expect_refused({{"guided_regex", "(a"}}, "guided_regex", "regex: at character");
  expect_refused({{"guided_choice", json::array()}}, "guided_choice", "choice");
  expect_refused({{"guided_choice", {"a", 1}}}, "guided_choice", "array of strings");
  expect_refused({{"guided_grammar", "start: \"a\" | \"b\""}}, "guided_grammar", "Lark is not");
  expect_refused({{"guided_grammar", "root ::= missing"}}, "guided_grammar", "missing");
  expect_refused({{"response_format", {{"type", "yaml"}}}}, "response_format.type", "json_schema");
  expect_refused({{"response_format", {{"type", "json_schema"}}}}, "response_format.json_schema.schema", "schema");
  expect_refused({{"guided_regex", "a"}, {"guided_choice", {"a"}}}, "guided_regex", "give one");
  EXPECT_THAT(post("/v1/chat/completions", free_chat({{"guided_regex", "a+"}, {"ignore_eos", true}})).body, HasSubstr("ignore_eos"));
  EXPECT_TRUE(becomes_idle(*server_));
}

class StructuredDialectsTest : public StructuredOutputTest {
 protected:
  static json ok(const Reply& reply) {
    EXPECT_EQ(reply.status, 200) << reply.body;
    return parsed(reply);
  }
  static json user() { return json::array({{{"role", "user"}, {"content", "Invent someone"}}}); }
  static Reply ollama(const json& format) {
    const json options = {{"seed", 3}, {"num_predict", 200}, {"temperature", 1}, {"top_k", 0}, {"top_p", 1}, {"repeat_penalty", 1}};
    return post("/api/chat", {{"model", "tiny"}, {"messages", user()}, {"stream", false}, {"options", options}, {"format", format}});
  }
  static Reply anthropic(const json& format) {
    const json body = {{"model", "tiny"}, {"messages", user()}, {"max_tokens", 200}, {"seed", 3}, {"output_config", {{"format", format}}}};
    return ask(port(), "POST", "/v1/messages", body.dump(), "anthropic-version: 2023-06-01\r\n");
  }
  static Reply gemini(json config) {
    const json contents = json::array({{{"role", "user"}, {"parts", json::array({{{"text", "Invent someone"}}})}}});
    config.update({{"maxOutputTokens", 200}, {"seed", 3}});
    return post("/v1beta/models/tiny:generateContent", {{"contents", contents}, {"generationConfig", config}});
  }
  static std::string gemini_text(const json& config) { return ok(gemini(config))["candidates"][0]["content"]["parts"][0]["text"]; }
  static Reply responses(const json& format) { return post("/v1/responses", {{"model", "tiny"}, {"input", "Invent someone"}, {"max_output_tokens", 200}, {"seed", 3}, {"text", {{"format", format}}}}); }
};

TEST_F(StructuredDialectsTest, OneSchemaAndOneSeedGiveOneTextThroughAllOfThem) {
  const std::string text = answer(format(kPerson));
  EXPECT_EQ(ok(ollama(kPerson))["message"]["content"], text);
  EXPECT_EQ(ok(anthropic({{"type", "json_schema"}, {"schema", kPerson}}))["content"][0]["text"], text);
  EXPECT_EQ(gemini_text({{"responseMimeType", "application/json"}, {"responseJsonSchema", kPerson}}), text);
  const json wanted = {{"type", "json_schema"}, {"name", "person"}, {"schema", kPerson}, {"strict", true}};
  const json response = ok(responses(wanted));
  EXPECT_EQ(response["output"][0]["content"][0]["text"], text);
  EXPECT_EQ(response["text"]["format"], wanted);
}

TEST_F(StructuredDialectsTest, GeminisOwnSchemaIsKept) {
  const json schema = {{"type", "OBJECT"},
                       {"properties", {{"a", {{"type", "INTEGER"}, {"format", "int32"}}}, {"b", {{"type", "ARRAY"}, {"items", {{"type", "STRING"}, {"enum", {"x", "y"}}}}, {"minItems", "2"}, {"max_items", 2}}},
                                       {"c", {{"type", "BOOLEAN"}, {"nullable", true}}}}},
                       {"propertyOrdering", {"c", "b", "a"}},
                       {"required", {"a", "b", "c"}}};
  const std::string text = gemini_text({{"responseMimeType", "application/json"}, {"responseSchema", schema}});
  const nlohmann::ordered_json value = nlohmann::ordered_json::parse(text);
  ASSERT_EQ(value.size(), 3U) << text;
  EXPECT_EQ(value.begin().key(), "c");
  EXPECT_TRUE(value["c"].is_boolean() || value["c"].is_null()) << text;
  EXPECT_TRUE(value["a"].is_number_integer()) << text;
  ASSERT_EQ(value["b"].size(), 2U) << text;
  for (const auto& item : value["b"]) EXPECT_TRUE(item == "x" || item == "y") << text;
  EXPECT_THAT(gemini_text({{"responseMimeType", "text/x.enum"}, {"responseSchema", {{"type", "STRING"}, {"enum", {"up", "down"}}}}}), MatchesRegex("up|down"));
}

TEST_F(StructuredDialectsTest, WhatCannotBeKeptIsRefusedInEachOnesShape) {
  const json bad = {{"type", "array"}, {"uniqueItems", true}};
  const auto refused = [](const Reply& reply, const std::string& says) {
    EXPECT_EQ(reply.status, 400) << reply.body;
    EXPECT_THAT(reply.body, HasSubstr(says));
  };
  refused(ollama(bad), "#/uniqueItems");
  refused(ollama("yaml"), "json");
  refused(anthropic({{"type", "json_schema"}, {"schema", bad}}), "#/uniqueItems");
  refused(anthropic({{"type", "json_object"}}), "json_schema");
  refused(responses({{"type", "json_schema"}, {"name", "s"}, {"schema", bad}}), "#/uniqueItems");
  refused(responses({{"type", "json_schema"}, {"name", "s"}}), "text.format.schema");
  refused(gemini({{"responseMimeType", "application/json"}, {"responseSchema", {{"type", "ARRAY"}, {"items", {{"type", "NUMBER"}, {"format", "decimal"}}}}}}), "#/items/format");
  refused(gemini({{"responseSchema", {{"type", "STRING"}}}}), "responseMimeType");
  refused(gemini({{"responseMimeType", "application/xml"}}), "responseMimeType");
  refused(gemini({{"responseMimeType", "application/json"}, {"responseSchema", {{"type", "STRING"}}}, {"responseJsonSchema", {{"type", "string"}}}}), "exclude each other");
  EXPECT_EQ(json::parse(gemini_text({{"responseMimeType", "application/json"}, {"responseJsonSchema", {{"const", 7}}}})), 7);
}

// Public fault reports of other engines, through the front door: each is an answer or a 400, and the server lives.
TEST_F(StructuredOutputTest, HostileFormsHurtNobody) {
  std::string deep = "{}";
  for (int i = 0; i < 60; ++i) deep = R"({"items":)" + deep + "}";
  const std::vector<json> all = {
      {{"guided_json", std::string(100'000, '[')}},
      {{"guided_json", deep}},
      {{"guided_regex", "(a+)+b"}},
      {{"guided_regex", "(a{1000}){1000}"}},
      {{"guided_regex", std::string(65'536, '(')}},
      {{"guided_grammar", "root ::= (\"a\"*)*"}},
      {{"guided_grammar", "root ::= root root | \"\" | \"a\""}},
      {{"guided_grammar", "root ::= " + std::string(60'000, '(')}},
      {{"guided_json", {{"items", {{"type", "number"}}}, {"minItems", 10}, {"maxItems", 1000}}}},
  };
  for (json fields : all) {
    fields["max_tokens"] = 8;
    const Reply reply = post("/v1/chat/completions", free_chat(fields));
    EXPECT_TRUE(reply.status == 200 || reply.status == 400) << reply.body;
  }
  EXPECT_EQ(answer({{"guided_choice", {"alive"}}}), "alive");
  EXPECT_TRUE(becomes_idle(*server_));
}

}  // namespace
}  // namespace inferens::testing
