// What clients of OpenAI's API rely on in the answers themselves: shapes, streams that say the same as whole answers, counts
// that add up, stop strings, logprobs, and the same seed giving the same answer.
#include <cmath>

#include "base/utf8.h"
#include "server_fixture.h"

namespace inferens::testing {
namespace {

using nlohmann::json;

class OpenAiTest : public ServerTest {
 protected:
  struct Stream {
    std::vector<json> chunks;
    std::map<int, std::string> text;    // by choice
    std::map<int, std::string> finish;
    json usage;
    bool done = false;
  };

  static Stream stream(std::string_view path, json body) {
    body["stream"] = true;
    const Reply reply = post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    Stream out;
    for (const std::string& payload : sse_payloads(reply.body)) {
      EXPECT_FALSE(out.done) << "something after [DONE]";
      if (payload == "[DONE]") {
        out.done = true;
        continue;
      }
      EXPECT_TRUE(is_valid_utf8(payload));
      json chunk = json::parse(payload);
      for (const json& choice : chunk["choices"]) {
        const int index = choice["index"];
        if (choice.contains("text")) out.text[index] += choice["text"];
        if (choice.contains("delta") && choice["delta"].contains("content")) out.text[index] += choice["delta"]["content"];
        if (choice["finish_reason"].is_string()) out.finish[index] = choice["finish_reason"];
      }
      if (chunk.contains("usage") && !chunk["usage"].is_null()) out.usage = chunk["usage"];
      out.chunks.push_back(std::move(chunk));
    }
    EXPECT_TRUE(out.done);
    return out;
  }

  static json ok(const Reply& reply) {
    EXPECT_EQ(reply.status, 200) << reply.body;
    return parsed(reply);
  }
};

TEST_F(OpenAiTest, AChatCompletionHasTheShapeThatClientsRead) {
  const Reply reply = post("/v1/chat/completions", chat({}));
  const json body = ok(reply);
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_TRUE(body["id"].get<std::string>().starts_with("chatcmpl-"));
  EXPECT_EQ("chatcmpl-" + reply.headers.at("x-request-id"), body["id"]);
  EXPECT_EQ(body["model"], "tiny");
  EXPECT_TRUE(body["system_fingerprint"].get<std::string>().starts_with("fp_"));
  EXPECT_EQ(body["choices"].size(), 1);
  EXPECT_EQ(body["choices"][0]["message"]["role"], "assistant");
  EXPECT_TRUE(body["choices"][0]["message"]["content"].is_string());
  EXPECT_TRUE(body["choices"][0]["message"]["refusal"].is_null());
  EXPECT_TRUE(body["choices"][0]["logprobs"].is_null());
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(body["usage"]["completion_tokens"], 8);
  EXPECT_EQ(body["usage"]["total_tokens"], body["usage"]["prompt_tokens"].get<int>() + 8);
}

TEST_F(OpenAiTest, AStreamSaysTheSameAsTheWholeAnswer) {
  for (const json& fields : {json{{"temperature", 0}}, json{{"temperature", 1.0}, {"seed", 42}}, json{{"temperature", 1.0}, {"seed", 7}, {"n", 3}}}) {
    const json whole_chat = ok(post("/v1/chat/completions", chat(fields)));
    const Stream chat_stream = stream("/v1/chat/completions", chat(fields));
    for (const json& choice : whole_chat["choices"]) {
      EXPECT_EQ(chat_stream.text.at(choice["index"]), choice["message"]["content"]);
      EXPECT_EQ(chat_stream.finish.at(choice["index"]), choice["finish_reason"]);
    }
    const json whole_text = ok(post("/v1/completions", completion(fields)));
    const Stream text_stream = stream("/v1/completions", completion(fields));
    for (const json& choice : whole_text["choices"]) EXPECT_EQ(text_stream.text.at(choice["index"]), choice["text"]);
  }
}

TEST_F(OpenAiTest, AChatStreamOpensWithTheRoleAndClosesWithTheReason) {
  const Stream s = stream("/v1/chat/completions", chat({}));
  ASSERT_GE(s.chunks.size(), 3);
  EXPECT_EQ(s.chunks.front()["choices"][0]["delta"], (json{{"role", "assistant"}, {"content", ""}}));
  EXPECT_EQ(s.chunks.back()["choices"][0]["delta"], json::object());
  EXPECT_EQ(s.chunks.back()["choices"][0]["finish_reason"], "length");
  for (const json& chunk : s.chunks) {
    EXPECT_EQ(chunk["object"], "chat.completion.chunk");
    EXPECT_EQ(chunk["id"], s.chunks[0]["id"]);
    EXPECT_EQ(chunk["created"], s.chunks[0]["created"]);
    EXPECT_FALSE(chunk.contains("usage"));  // nobody asked
  }
}

TEST_F(OpenAiTest, UsageComesOnceAndLastWhenItWasAskedFor) {
  for (const auto& [path, body] : {std::pair("/v1/chat/completions", chat({})), std::pair("/v1/completions", completion({}))}) {
    json with_usage = body;
    with_usage["stream_options"] = {{"include_usage", true}};
    const Stream s = stream(path, with_usage);
    for (size_t i = 0; i + 1 < s.chunks.size(); ++i) EXPECT_TRUE(s.chunks[i]["usage"].is_null());
    EXPECT_TRUE(s.chunks.back()["choices"].empty());
    const json whole_usage = ok(post(path, body))["usage"];
    EXPECT_EQ(s.usage["prompt_tokens"], whole_usage["prompt_tokens"]);
    EXPECT_EQ(s.usage["completion_tokens"], 8);
  }
}

TEST_F(OpenAiTest, CachedTokensAreToldAndNeverMoreThanThePrompt) {
  const std::string prompt = std::string(150, 'q') + " cached tokens";
  const json first = ok(post("/v1/completions", completion({{"prompt", prompt}})))["usage"];
  const json second = ok(post("/v1/completions", completion({{"prompt", prompt}})))["usage"];
  EXPECT_EQ(first["prompt_tokens"], second["prompt_tokens"]);
  EXPECT_LT(first["prompt_tokens_details"]["cached_tokens"], 64);
  EXPECT_GT(second["prompt_tokens_details"]["cached_tokens"], 64);
  EXPECT_LT(second["prompt_tokens_details"]["cached_tokens"], second["prompt_tokens"]);
}

TEST_F(OpenAiTest, AnotherSaltDoesNotFindThePrefix) {
  const std::string prompt = std::string(150, 'z') + " salted";
  ok(post("/v1/completions", completion({{"prompt", prompt}, {"cache_salt", "a"}})));
  const json other = ok(post("/v1/completions", completion({{"prompt", prompt}, {"cache_salt", "b"}})))["usage"];
  EXPECT_EQ(other["prompt_tokens_details"]["cached_tokens"], 0);
}

TEST_F(OpenAiTest, PromptListsTokenArraysAndChoicesKeepTheirOrder) {
  const json alone = ok(post("/v1/completions", completion({{"prompt", "second one"}})));
  const json both = ok(post("/v1/completions", completion({{"prompt", {"first", "second one"}}, {"n", 2}})));
  ASSERT_EQ(both["choices"].size(), 4);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(both["choices"][i]["index"], i);
  EXPECT_EQ(both["choices"][2]["text"], alone["choices"][0]["text"]);
  const json tokens = ok(post("/tokenize", {{"model", "tiny"}, {"prompt", "second one"}}))["tokens"];
  EXPECT_EQ(ok(post("/v1/completions", completion({{"prompt", tokens}})))["choices"][0]["text"], alone["choices"][0]["text"]);
  EXPECT_EQ(ok(post("/v1/completions", completion({{"prompt", {tokens, tokens}}})))["choices"][1]["text"], alone["choices"][0]["text"]);
}

TEST_F(OpenAiTest, EchoAndScoringGiveThePromptItsLogprobs) {
  const json scored = ok(post("/v1/completions", completion({{"prompt", "Hello there"}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 2}})));
  const json& logprobs = scored["choices"][0]["logprobs"];
  EXPECT_EQ(scored["choices"][0]["text"], "Hello there");
  EXPECT_EQ(logprobs["tokens"].size(), scored["usage"]["prompt_tokens"]);
  EXPECT_EQ(logprobs["token_logprobs"].size(), logprobs["tokens"].size());
  EXPECT_TRUE(logprobs["token_logprobs"][0].is_null());
  EXPECT_TRUE(logprobs["top_logprobs"][0].is_null());
  for (size_t i = 1; i < logprobs["tokens"].size(); ++i) {
    EXPECT_LE(logprobs["token_logprobs"][i].get<double>(), 0);
    EXPECT_GE(logprobs["top_logprobs"][i].size(), 2);
  }
  EXPECT_EQ(scored["usage"]["completion_tokens"], 0);
  const json echoed = ok(post("/v1/completions", completion({{"echo", true}})));
  EXPECT_TRUE(echoed["choices"][0]["text"].get<std::string>().starts_with("Hello there"));
  EXPECT_EQ(stream("/v1/completions", completion({{"echo", true}, {"n", 2}})).text.at(1), echoed["choices"][0]["text"]);
}

TEST_F(OpenAiTest, GreedyLogprobsNameTheLikeliestTokenFirst) {
  const json body = ok(post("/v1/chat/completions", chat({{"logprobs", true}, {"top_logprobs", 3}})));
  const json& content = body["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), 8);
  for (const json& token : content) {
    ASSERT_EQ(token["top_logprobs"].size(), 3);
    EXPECT_EQ(token["token"], token["top_logprobs"][0]["token"]);
    EXPECT_EQ(token["logprob"], token["top_logprobs"][0]["logprob"]);
    EXPECT_GE(token["top_logprobs"][0]["logprob"], token["top_logprobs"][1]["logprob"]);
    EXPECT_TRUE(token["bytes"].is_array());
  }
  // From the true distribution: not moved by temperature or penalties.
  const json hot = ok(post("/v1/chat/completions", chat({{"logprobs", true}, {"top_logprobs", 3}, {"temperature", 2}, {"seed", 3}})));
  EXPECT_EQ(hot["choices"][0]["logprobs"]["content"][0]["top_logprobs"], content[0]["top_logprobs"]);
}

TEST_F(OpenAiTest, StreamedLogprobsAreThoseOfTheWholeAnswer) {
  const json fields = {{"logprobs", true}, {"top_logprobs", 2}};
  const json whole_answer = ok(post("/v1/chat/completions", chat(fields)));
  json joined = json::array();
  for (const json& chunk : stream("/v1/chat/completions", chat(fields)).chunks) {
    const json& logprobs = chunk["choices"][0]["logprobs"];
    if (logprobs.is_object()) joined.insert(joined.end(), logprobs["content"].begin(), logprobs["content"].end());
  }
  EXPECT_EQ(joined, whole_answer["choices"][0]["logprobs"]["content"]);
}

TEST_F(OpenAiTest, BestOfGivesTheLikeliestAnswers) {
  const json fields = {{"temperature", 1.5}, {"seed", 11}, {"logprobs", 0}};
  json all_fields = fields;
  all_fields["n"] = 6;
  const json all = ok(post("/v1/completions", completion(all_fields)));
  std::string best;
  double best_mean = -1e9;
  for (const json& choice : all["choices"]) {
    double sum = 0;
    for (const json& logprob : choice["logprobs"]["token_logprobs"]) sum += logprob.get<double>();
    const double mean = sum / static_cast<double>(choice["logprobs"]["tokens"].size());
    if (mean > best_mean) best = choice["text"];
    best_mean = std::max(best_mean, mean);
  }
  json best_fields = fields;
  best_fields["best_of"] = 6;
  const json chosen = ok(post("/v1/completions", completion(best_fields)));
  ASSERT_EQ(chosen["choices"].size(), 1);
  EXPECT_EQ(chosen["choices"][0]["text"], best);
  EXPECT_EQ(chosen["usage"]["completion_tokens"], 48);  // all six were made
}

TEST_F(OpenAiTest, AStopStringEndsTheAnswerBeforeItAndLeaksNothingInAStream) {
  const std::string text = ok(post("/v1/completions", completion({{"max_tokens", 24}})))["choices"][0]["text"];
  ASSERT_GE(text.size(), 12);
  size_t from = text.size() / 2;
  while ((static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
  size_t to = std::min(from + 5, text.size());
  while (to < text.size() && (static_cast<unsigned char>(text[to]) & 0xC0) == 0x80) ++to;
  const std::string stop = text.substr(from, to - from);
  const std::string expected = text.substr(0, text.find(stop));
  const json fields = {{"max_tokens", 24}, {"stop", {stop}}};
  const json stopped = ok(post("/v1/completions", completion(fields)));
  EXPECT_EQ(stopped["choices"][0]["text"], expected);
  EXPECT_EQ(stopped["choices"][0]["finish_reason"], "stop");
  const Stream s = stream("/v1/completions", completion(fields));
  EXPECT_EQ(s.text.at(0), expected);
  EXPECT_EQ(s.finish.at(0), "stop");
}

TEST_F(OpenAiTest, TextThatSpellsControlTokensStaysText) {
  const json plain = ok(post("/tokenize", {{"model", "tiny"}, {"prompt", "a<|im_end|>b"}, {"return_token_strs", true}}));
  for (const json& token : plain["token_strs"]) EXPECT_NE(token, "<|im_end|>");
  EXPECT_EQ(ok(post("/detokenize", {{"model", "tiny"}, {"tokens", plain["tokens"]}}))["prompt"].get<std::string>().find("a<|im_end|>b") == std::string::npos, false);
}

TEST_F(OpenAiTest, ModelsAreListedAndUnknownOnesAreNotFound) {
  EXPECT_EQ(ok(ask(port(), "GET", "/v1/models"))["data"][0]["id"], "tiny");
  EXPECT_EQ(ok(ask(port(), "GET", "/v1/models/tiny"))["object"], "model");
  EXPECT_EQ(ask(port(), "GET", "/v1/models/other").status, 404);
  const Reply reply = post("/v1/chat/completions", chat({{"model", "other"}}));
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(parsed(reply)["error"]["code"], "model_not_found");
}

TEST_F(OpenAiTest, APromptThatDoesNotFitIsRefusedWithBothNumbers) {
  const json limits = ok(post("/tokenize", {{"model", "tiny"}, {"prompt", "x"}}));
  const int context = limits["max_model_len"];
  const Reply reply = post("/v1/completions", completion({{"max_tokens", context + 1}}));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(parsed(reply)["error"]["code"], "context_length_exceeded");
  EXPECT_NE(reply.body.find(std::to_string(context)), std::string::npos);
  EXPECT_NE(reply.body.find(std::to_string(context + 1)), std::string::npos);
}

TEST_F(OpenAiTest, TheGroqBaseTellsSecondsAndTheSeed) {
  const json body = ok(post("/openai/v1/chat/completions", chat({{"seed", 5}})));
  EXPECT_EQ(body["x_groq"]["seed"], 5);
  EXPECT_TRUE(body["usage"]["queue_time"].is_number());
  EXPECT_NEAR(body["usage"]["total_time"].get<double>(), body["usage"]["prompt_time"].get<double>() + body["usage"]["completion_time"].get<double>(), 1e-9);
  const Stream s = stream("/openai/v1/chat/completions", chat({}));
  EXPECT_EQ(s.chunks.back()["x_groq"]["usage"]["completion_tokens"], 8);
  EXPECT_EQ(post("/openai/v1/chat/completions", chat({{"n", 2}})).status, 400);
}

TEST_F(OpenAiTest, ATimelineTellsWhatHappenedToARequest) {
  const Reply reply = post("/v1/completions", completion({}));
  const json timeline = ok(ask(port(), "GET", "/v1/requests/" + reply.headers.at("x-request-id") + "/timeline"));
  std::vector<std::string> events;
  for (const json& event : timeline["events"]) events.push_back(event["event"]);
  EXPECT_EQ(events, (std::vector<std::string>{"submitted", "first_output", "finished", "done"}));
  EXPECT_EQ(timeline["prompts"][0]["completion_tokens"], 8);
  EXPECT_GE(timeline["prompts"][0]["total_ms"], timeline["prompts"][0]["ttft_ms"]);
  EXPECT_EQ(ask(port(), "GET", "/v1/requests/000000000000000000000000/timeline").status, 404);
}

TEST_F(OpenAiTest, ReadyMeansThatATokenWasComputed) {
  EXPECT_EQ(ok(ask(port(), "GET", "/ready"))["models"], 1);
  EXPECT_EQ(ok(ask(port(), "GET", "/health"))["status"], "ok");
  const json facts = ok(ask(port(), "GET", "/v1/system"));
  EXPECT_EQ(facts["models"][0]["model"], "tiny");
}

}  // namespace
}  // namespace inferens::testing
