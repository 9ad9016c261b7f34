// Every field of the tables × {valid, out of range, wrong type, null, twice}, and fields that nobody knows: a client must
// get what it asked for, or a 400 that names the field. Nothing is ignored and nothing is a server's fault.
#include <cmath>

#include "serve/api/openai_call.h"
#include "serve/api/openai_embeddings.h"
#include "server_fixture.h"

namespace inferens::testing {
namespace {

using nlohmann::json;

struct Endpoint {
  const char* path;
  std::vector<FieldInfo> fields;
  json base;
};

template <class Tables>
std::vector<FieldInfo> fields_of(const Tables& tables) {
  std::vector<FieldInfo> all;
  for (const auto& table : tables) {
    for (const auto& field : table) all.push_back(field.info);
  }
  return all;
}

// What some fields are allowed with only.
json companions(std::string_view field) {
  if (field == "stream_options") return {{"stream", true}};
  if (field == "top_logprobs") return {{"logprobs", true}};
  return json::object();
}

json value_of_wrong_kind(unsigned kinds) {
  if ((kinds & kObject) == 0) return json::object();
  return "text";
}

class EveryFieldTest : public ServerTest {
 protected:
  static std::vector<Endpoint> endpoints() {
    return {{"/v1/chat/completions", fields_of(openai_chat_tables()), chat({})},
            {"/v1/completions", fields_of(openai_completion_tables()), completion({})},
            {"/v1/embeddings", fields_of(openai_embedding_tables()), {{"model", "tiny"}, {"input", "Hi"}}}};
  }

  template <class F>
  static void for_each_field(F&& f) {
    for (const Endpoint& endpoint : endpoints()) {
      for (const FieldInfo& field : endpoint.fields) {
        SCOPED_TRACE(std::string(endpoint.path) + " " + std::string(field.name));
        f(endpoint, field);
      }
    }
  }

  static Reply try_value(const Endpoint& endpoint, const FieldInfo& field, const json& value) {
    json body = endpoint.base;
    body.update(companions(field.name));
    // Pairs of fields that exclude each other: the two limits, and a constraint of the output and ignore_eos.
    if (field.name == "max_completion_tokens") body.erase("max_tokens");
    body.erase("ignore_eos");
    body[std::string(field.name)] = value;
    return post(endpoint.path, body);
  }

  static void expect_refused(const Reply& reply, std::string_view field) {
    EXPECT_EQ(reply.status, 400) << reply.body;
    EXPECT_EQ(param_of(reply), field);
  }
};

TEST_F(EveryFieldTest, AValidValueIsTaken) {
  for_each_field([](const Endpoint& endpoint, const FieldInfo& field) {
    if (field.treatment == Treatment::kRefuse) return;
    ASSERT_FALSE(field.example.empty());
    const Reply reply = try_value(endpoint, field, json::parse(field.example));
    EXPECT_EQ(reply.status, 200) << reply.body;
  });
}

TEST_F(EveryFieldTest, ANumberOutsideItsRangeIsRefusedByName) {
  for_each_field([](const Endpoint& endpoint, const FieldInfo& field) {
    if (std::isfinite(field.low)) expect_refused(try_value(endpoint, field, field.low - 1), field.name);
    if (!std::isfinite(field.high)) return;
    if ((field.kinds & kNumber) != 0) return expect_refused(try_value(endpoint, field, field.high + 1), field.name);
    expect_refused(try_value(endpoint, field, static_cast<int64_t>(field.high) + 1), field.name);
    expect_refused(try_value(endpoint, field, UINT64_MAX), field.name);
  });
}

TEST_F(EveryFieldTest, AnotherTypeIsRefusedByName) {
  for_each_field([](const Endpoint& endpoint, const FieldInfo& field) {
    if (field.treatment == Treatment::kRefuse) return;
    expect_refused(try_value(endpoint, field, value_of_wrong_kind(field.kinds)), field.name);
    if ((field.kinds & kBoolean) == 0) expect_refused(try_value(endpoint, field, true), field.name);
    if ((field.kinds & (kNumber | kInteger)) == 0) expect_refused(try_value(endpoint, field, 1), field.name);
    if ((field.kinds & kNumber) == 0) expect_refused(try_value(endpoint, field, 1.5), field.name);
  });
}

TEST_F(EveryFieldTest, NullMeansAbsent) {
  for_each_field([](const Endpoint& endpoint, const FieldInfo& field) {
    const Reply reply = try_value(endpoint, field, nullptr);
    if (field.required) return expect_refused(reply, field.name);
    EXPECT_EQ(reply.status, 200) << reply.body;
  });
}

TEST_F(EveryFieldTest, WhatIsNotOfferedIsRefusedByName) {
  for_each_field([](const Endpoint& endpoint, const FieldInfo& field) {
    if (field.treatment != Treatment::kRefuse) return;
    const Reply reply = try_value(endpoint, field, {{"some", "thing"}});
    expect_refused(reply, field.name);
    EXPECT_NE(reply.body.find("not supported"), std::string::npos) << reply.body;
    if (field.harmless.empty()) return;
    const std::string first(field.harmless.substr(0, field.harmless.find('|')));
    EXPECT_EQ(try_value(endpoint, field, json::parse(first)).status, 200) << first;
  });
}

TEST_F(EveryFieldTest, AFieldGivenTwiceIsRefused) {
  for_each_field([](const Endpoint& endpoint, const FieldInfo& field) {
    if (field.example.empty()) return;
    json body = endpoint.base;
    body.erase(std::string(field.name));
    std::string text = body.dump();
    text.pop_back();
    const std::string pair = ",\"" + std::string(field.name) + "\":" + std::string(field.example);
    expect_refused(post_text(endpoint.path, text + pair + pair + "}"), field.name);
  });
}

TEST_F(EveryFieldTest, AnUnknownFieldIsRefusedByName) {
  for (const Endpoint& endpoint : endpoints()) {
    for (const char* name : {"temprature", "x", "chat_parser", "grammar_triggers"}) {
      json body = endpoint.base;
      body[name] = 1;
      expect_refused(post(endpoint.path, body), name);
    }
  }
}

TEST_F(EveryFieldTest, ALenientServerIgnoresUnknownFieldsAndNothingElse) {
  ServerOptions options = tiny_server_options();
  options.lenient = true;
  const auto lenient = start_server(std::move(options));
  EXPECT_EQ(ask(lenient->http().port(), "POST", "/v1/completions", completion({{"vendor", 1}}).dump()).status, 200);
  EXPECT_EQ(ask(lenient->http().port(), "POST", "/v1/completions", completion({{"suffix", "x"}}).dump()).status, 400);
}

// Rules between fields.
TEST_F(EveryFieldTest, FieldsThatContradictEachOtherAreRefused) {
  const std::pair<json, const char*> chats[] = {
      {{{"max_completion_tokens", 4}}, "max_tokens"},
      {{{"top_logprobs", 2}}, "top_logprobs"},
      {{{"stream_options", {{"include_usage", true}}}}, "stream_options"},
      {{{"stream", true}, {"prompt_logprobs", 1}}, "prompt_logprobs"},
      {{{"continue_final_message", true}}, "continue_final_message"},
      {{{"max_tokens", 0}}, "max_tokens"},
  };
  for (const auto& [fields, param] : chats) expect_refused(post("/v1/chat/completions", chat(fields)), param);
  const std::pair<json, const char*> completions[] = {
      {{{"n", 3}, {"best_of", 2}}, "best_of"},
      {{{"best_of", 2}, {"stream", true}}, "best_of"},
      {{{"max_tokens", 0}}, "max_tokens"},
      {{{"prompt", json(std::vector<std::string>(100, "a"))}, {"n", 2}}, "n"},
  };
  for (const auto& [fields, param] : completions) expect_refused(post("/v1/completions", completion(fields)), param);
}

// CVE-2026-34756, CVE-2024-8939, CVE-2026-73559, PYSEC-2026-4350: counts that other servers multiplied before they looked.
TEST_F(EveryFieldTest, HugeCountsAndListsAreRefusedAtOnce) {
  for (const char* path : {"/v1/chat/completions", "/v1/completions"}) {
    const json base = std::string_view(path) == "/v1/completions" ? completion({}) : chat({});
    for (const char* field : {"\"n\":1000000000", "\"n\":-1", "\"n\":1e400", "\"n\":\"1\"", "\"n\":1.5", "\"best_of\":1000000000",
                              "\"max_tokens\":99999999999", "\"logprobs\":21", "\"logprobs\":2147483648", "\"top_logprobs\":2147483648",
                              "\"seed\":123456789012345678901234567890"}) {
      json body = base;
      body.erase("max_tokens");
      std::string text = body.dump();
      text.pop_back();
      EXPECT_EQ(post_text(path, text + "," + field + "}").status, 400) << field;
    }
  }
  expect_refused(post("/v1/completions", completion({{"prompt", std::vector<std::string>(1'000'000, "a")}})), "prompt");
  const Reply tokens = post("/v1/completions", completion({{"prompt", std::vector<int>(1'000'000, 5)}}));
  EXPECT_EQ(tokens.status, 400);
  EXPECT_EQ(parsed(tokens)["error"]["code"], "context_length_exceeded");
  EXPECT_EQ(param_of(tokens), "prompt");
}

TEST_F(EveryFieldTest, MessagesThatMakeNoSenseAreRefusedByPlace) {
  const std::pair<json, const char*> cases[] = {
      {json::array(), "messages"},
      {{1}, "messages[0]"},
      {{{{"role", "user"}}}, "messages[0].content"},
      {{{{"content", "x"}}}, "messages[0].role"},
      {{{{"role", "robot"}, {"content", "x"}}}, "messages[0].role"},
      {{{{"role", "user"}, {"content", 5}}}, "messages[0].content"},
      {{{{"role", "user"}, {"content", "x"}, {"color", 1}}}, "messages[0].color"},
      {{{{"role", "user"}, {"content", {{{"type", "image_url"}, {"image_url", {{"url", "http://127.0.0.1/"}}}}}}}}, "messages[0].content"},
      {{{{"role", "user"}, {"content", {{{"type", "input_audio"}}}}}}, "messages[0].content"},
      {{{{"role", "assistant"}, {"content", "x"}, {"function_call", {{"name", "f"}}}}}, "messages[0].function_call"},
      {{{{"role", "tool"}, {"content", "x"}}}, "messages[0].tool_call_id"},
  };
  for (const auto& [messages, param] : cases) {
    const Reply reply = post("/v1/chat/completions", chat({{"messages", messages}}));
    EXPECT_EQ(reply.status, 400) << reply.body;
    EXPECT_EQ(param_of(reply), param) << messages.dump();
  }
}

}  // namespace
}  // namespace inferens::testing
