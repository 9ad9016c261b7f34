// What programs written for Ollama rely on: lines of JSON, its fields and durations, its errors, its ways with models.
#include <filesystem>

#include "base/utf8.h"
#include "serve/api/ollama_call.h"
#include "server_fixture.h"
#include "store/pull.h"

namespace inferens::testing {
namespace {

using nlohmann::json;

std::vector<json> lines(const Reply& reply) {
  std::vector<json> out;
  for (size_t at = 0; at < reply.body.size();) {
    const size_t end = reply.body.find('\n', at);
    EXPECT_NE(end, std::string::npos) << "a line without an end";
    const std::string line = reply.body.substr(at, end - at);
    EXPECT_FALSE(line.empty()) << "its clients break at an empty line";
    EXPECT_TRUE(is_valid_utf8(line));
    out.push_back(json::parse(line));
    at = end + 1;
  }
  return out;
}

void expect_error(const Reply& reply, int status, std::string_view text) {
  EXPECT_EQ(reply.status, status) << reply.body;
  const json body = parsed(reply);
  ASSERT_TRUE(body.is_object() && body.size() == 1 && body.contains("error")) << reply.body;
  EXPECT_NE(body["error"].get<std::string>().find(text), std::string::npos) << reply.body;
}

class OllamaTest : public ServerTest {
 protected:
  static json generate(json fields) { return with({{"model", "tiny"}, {"prompt", "Hello there"}, {"options", options()}}, std::move(fields)); }
  static json chatting(json fields) { return with({{"model", "tiny"}, {"messages", {{{"role", "user"}, {"content", "Hello"}}}}, {"options", options()}}, std::move(fields)); }
  static json options() { return {{"num_predict", 8}, {"seed", 5}}; }
  static json with(json body, json fields) {
    if (!fields.is_null()) body.update(fields);
    return body;
  }
  static json whole(std::string_view path, json body) {
    body["stream"] = false;
    const Reply reply = post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.headers.at("content-type"), "application/json");
    return parsed(reply);
  }
};

TEST_F(OllamaTest, StreamsByDefaultAndSaysTheSameAsTheWholeAnswer) {
  const json answer = whole("/api/generate", generate({}));
  const Reply reply = post("/api/generate", generate({}));
  EXPECT_EQ(reply.headers.at("content-type"), "application/x-ndjson");
  std::string text;
  const std::vector<json> all = lines(reply);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i]["model"], "tiny");
    EXPECT_EQ(all[i]["done"], i + 1 == all.size());
    text += all[i]["response"];
  }
  EXPECT_EQ(text, answer["response"]);
  EXPECT_EQ(all.back()["context"], answer["context"]);
  EXPECT_EQ(all.back()["eval_count"], answer["eval_count"]);

  const json message = whole("/api/chat", chatting({}))["message"];
  std::string streamed;
  for (const json& line : lines(post("/api/chat", chatting({})))) {
    EXPECT_EQ(line["message"]["role"], "assistant");
    streamed += line["message"]["content"];
  }
  EXPECT_EQ(streamed, message["content"]);
}

TEST_F(OllamaTest, TheLastLineTellsCountsAndDurations) {
  const json last = lines(post("/api/chat", chatting({}))).back();
  EXPECT_EQ(last["eval_count"], 8);
  EXPECT_EQ(last["done_reason"], "length");
  EXPECT_GT(last["prompt_eval_count"], 0);
  for (const char* name : {"total_duration", "prompt_eval_duration", "eval_duration"}) EXPECT_GT(last[name], 0) << name;
  EXPECT_GE(last["total_duration"].get<int64_t>(), last["prompt_eval_duration"].get<int64_t>() + last["eval_duration"].get<int64_t>());
  EXPECT_EQ(last["created_at"].get<std::string>().size(), sizeof("2026-12-01T00:00:00Z") - 1);
}

TEST_F(OllamaTest, GenerateUsesTheChatTemplateAndChatSaysTheSame) {
  const json generated = whole("/api/generate", generate({{"system", "Be kind."}}));
  const json chatted = whole("/api/chat", chatting({{"messages", {{{"role", "system"}, {"content", "Be kind."}}, {{"role", "user"}, {"content", "Hello there"}}}}}));
  EXPECT_EQ(generated["response"], chatted["message"]["content"]);
  EXPECT_NE(generated["prompt_eval_count"], whole("/api/generate", generate({{"raw", true}}))["prompt_eval_count"]);
}

TEST_F(OllamaTest, TheContextOfAnAnswerGoesOnWithIt) {
  const json first = whole("/api/generate", generate({}));
  const auto context = first["context"].get<std::vector<int>>();
  EXPECT_EQ(context.size(), first["prompt_eval_count"].get<size_t>() + first["eval_count"].get<size_t>());
  const json second = whole("/api/generate", generate({{"context", context}, {"prompt", "And more?"}}));
  EXPECT_GT(second["prompt_eval_count"].get<size_t>(), context.size());
  const auto longer = second["context"].get<std::vector<int>>();
  EXPECT_TRUE(std::equal(context.begin(), context.end(), longer.begin()));
  EXPECT_FALSE(whole("/api/generate", generate({{"raw", true}})).contains("context"));
  expect_error(post("/api/generate", generate({{"context", {99999999}}})), 400, "context");
  expect_error(post("/api/generate", generate({{"context", {-1}}})), 400, "context");
}

TEST_F(OllamaTest, AContextLimitOfTheRequestIsKept) {
  const json answer = whole("/api/generate", generate({{"options", {{"num_ctx", 40}, {"seed", 5}}}}));
  EXPECT_LE(answer["prompt_eval_count"].get<int>() + answer["eval_count"].get<int>(), 40);
  expect_error(post("/api/generate", generate({{"prompt", std::string(400, 'x')}, {"options", {{"num_ctx", 40}}}})), 400, "num_ctx 40");
}

TEST_F(OllamaTest, LogprobsComeWhenAskedFor) {
  const json answer = whole("/api/generate", generate({{"logprobs", true}, {"top_logprobs", 2}}));
  ASSERT_EQ(answer["logprobs"].size(), 8);
  EXPECT_EQ(answer["logprobs"][0]["top_logprobs"].size(), 2);
  EXPECT_LE(answer["logprobs"][0]["logprob"], 0);
  EXPECT_FALSE(whole("/api/generate", generate({})).contains("logprobs"));
  expect_error(post("/api/generate", generate({{"top_logprobs", 2}})), 400, "logprobs");
}

TEST_F(OllamaTest, AnEmptyPromptOnlyLoads) {
  EXPECT_EQ(whole("/api/generate", {{"model", "tiny"}})["done_reason"], "load");
  EXPECT_EQ(lines(post("/api/chat", {{"model", "tiny"}, {"messages", json::array()}})).back()["done_reason"], "load");
}

TEST_F(OllamaTest, KeepAliveIsShownByPsAndZeroTakesTheModelOut) {
  const auto models = [] { return parsed(ask(port(), "GET", "/api/ps"))["models"]; };
  whole("/api/generate", {{"model", "tiny"}, {"keep_alive", -1}});
  ASSERT_EQ(models().size(), 1);
  EXPECT_TRUE(models()[0]["expires_at"].get<std::string>().starts_with("9999-"));
  EXPECT_EQ(models()[0]["name"], "tiny");
  EXPECT_GT(models()[0]["size"], 0);
  EXPECT_GT(models()[0]["context_length"], 0);
  whole("/api/generate", {{"model", "tiny"}, {"keep_alive", "1h"}});
  EXPECT_FALSE(models()[0]["expires_at"].get<std::string>().starts_with("9999-"));
  EXPECT_EQ(whole("/api/generate", {{"model", "tiny"}, {"keep_alive", 0}})["done_reason"], "unload");
  EXPECT_TRUE(models().empty());
  whole("/api/generate", {{"model", "tiny"}, {"keep_alive", -1}});
  for (const char* bad : {R"("5 minutes")", R"("m")", R"("")", "1e300", "true", R"("1")"}) {
    expect_error(post_text("/api/generate", R"({"model":"tiny","keep_alive":)" + std::string(bad) + "}"), 400, "keep_alive");
  }
}

TEST_F(OllamaTest, TagsAndShowTellWhatTheModelIs) {
  const json tags = parsed(ask(port(), "GET", "/api/tags"))["models"];
  ASSERT_EQ(tags.size(), 1);
  EXPECT_EQ(tags[0]["name"], "tiny");
  EXPECT_EQ(tags[0]["details"]["family"], "llama");
  EXPECT_EQ(tags[0]["details"]["format"], "gguf");
  const json shown = parsed(post("/api/show", {{"model", "tiny"}}));
  EXPECT_EQ(shown["model_info"]["general.architecture"], "llama");
  EXPECT_TRUE(shown["model_info"]["tokenizer.ggml.tokens"].is_null());
  EXPECT_FALSE(shown["template"].get<std::string>().empty());
  EXPECT_EQ(shown["capabilities"], json::array({"completion"}));
  EXPECT_EQ(parsed(post("/api/show", {{"model", "tiny:latest"}}))["details"], shown["details"]);
  expect_error(post("/api/show", {{"model", "absent"}}), 404, "absent");
  EXPECT_FALSE(parsed(ask(port(), "GET", "/api/version"))["version"].get<std::string>().empty());
  EXPECT_EQ(ask(port(), "GET", "/").body, "Ollama is running");
  Connection head(port());
  head.send(request_text("HEAD", "/", ""));
  EXPECT_TRUE(head.read_until("200 OK"));
}

TEST_F(OllamaTest, EmbeddingsHaveLengthOneAndTheTextDecidesThem) {
  const json both = parsed(post("/api/embed", {{"model", "tiny"}, {"input", {"Hello there", "Other"}}}));
  ASSERT_EQ(both["embeddings"].size(), 2) << both;
  const auto first = both["embeddings"][0].get<std::vector<double>>();
  double squares = 0;
  for (const double x : first) squares += x * x;
  EXPECT_NEAR(squares, 1, 1e-5);
  EXPECT_GT(both["prompt_eval_count"], 2);
  EXPECT_NE(both["embeddings"][0], both["embeddings"][1]);
  EXPECT_EQ(parsed(post("/api/embed", {{"model", "tiny"}, {"input", "Hello there"}}))["embeddings"][0], both["embeddings"][0]);
  EXPECT_EQ(parsed(post("/api/embeddings", {{"model", "tiny"}, {"prompt", "Hello there"}}))["embedding"], both["embeddings"][0]);
  const auto shorter = parsed(post("/api/embed", {{"model", "tiny"}, {"input", "Hello there"}, {"dimensions", 4}}))["embeddings"][0].get<std::vector<double>>();
  ASSERT_EQ(shorter.size(), 4);
  EXPECT_NEAR(shorter[0] * first[1], shorter[1] * first[0], 1e-6);
  expect_error(post("/api/embed", {{"model", "tiny"}, {"input", "x"}, {"dimensions", 100000}}), 400, "dimensions");
  expect_error(post("/api/embed", {{"model", "tiny"}, {"input", {"x", 1}}}), 400, "input");
  expect_error(post("/api/embed", {{"model", "tiny"}, {"input", json::array()}}), 400, "input");
  expect_error(post("/api/embed", {{"model", "tiny"}, {"input", std::string(100'000, 'x')}}), 400, "context");
  expect_error(post("/api/embed", {{"model", "absent"}, {"input", "x"}}), 404, "absent");
  EXPECT_TRUE(becomes_idle(*server_));
}

TEST_F(OllamaTest, ErrorsHaveItsShape) {
  expect_error(post("/api/generate", generate({{"model", "absent"}})), 404, "absent");
  expect_error(post_text("/api/chat", "{"), 400, "JSON");
  expect_error(post_text("/api/chat", R"({"messages":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}"), 400, "nested deeper");
  expect_error(post("/api/generate", {{"prompt", "x"}}), 400, "model");
  expect_error(post("/api/generate", generate({{"temprature", 1}})), 400, "temprature");
  expect_error(post("/api/generate", generate({{"options", {{"temprature", 1}}}})), 400, "options.temprature");
  expect_error(post("/api/generate", generate({{"options", {{"temperature", -1}}}})), 400, "options.temperature");
  expect_error(post("/api/generate", generate({{"raw", true}, {"system", "x"}})), 400, "raw mode does not support template, system, or context");
  expect_error(post("/api/generate", generate({{"think", true}})), 400, "\"tiny\" does not support thinking");
  expect_error(post("/api/generate", generate({{"images", {"aaaa"}}})), 400, "images");
  expect_error(post("/api/generate", generate({{"template", "{{ .Prompt }}"}})), 400, "template");
  expect_error(ask(port(), "GET", "/api/nothing"), 404, "/api/nothing");
  expect_error(ask(port(), "GET", "/api/chat"), 405, "POST");
  expect_error(post("/api/generate", generate({{"prompt", std::string(100'000, 'x')}})), 400, "tokens");
}

TEST_F(OllamaTest, MessagesThatMakeNoSenseAreRefusedByPlace) {
  const std::pair<json, const char*> cases[] = {
      {{1}, "messages[0]"},
      {{{{"role", "robot"}, {"content", "x"}}}, "role"},
      {{{{"role", "user"}}}, "'messages[0]' has no content"},
      {{{{"role", "user"}, {"content", {{{"type", "text"}}}}}}, "messages[0].content"},
      {{{{"role", "user"}, {"content", "x"}, {"images", {"aaaa"}}}}, "messages[0].images"},
      {{{{"role", "assistant"}, {"tool_calls", {{{"function", {{"name", "f"}, {"arguments", "{}"}}}}}}}}, "arguments"},
  };
  for (const auto& [messages, text] : cases) expect_error(post("/api/chat", chatting({{"messages", messages}})), 400, text);
}

TEST_F(OllamaTest, EveryOptionIsTakenOrRefusedByName) {
  for (const auto& table : ollama_option_tables()) {
    for (const OllamaField& field : table) {
      SCOPED_TRACE(field.info.name);
      const std::string name(field.info.name);
      if (field.info.treatment == Treatment::kRefuse) {
        expect_error(post("/api/generate", generate({{"options", {{name, {{"a", 1}}}}}})), 400, "options." + name);
        continue;
      }
      ASSERT_FALSE(field.info.example.empty());
      json options = {{"num_predict", 2}};
      options[name] = json::parse(field.info.example);
      EXPECT_EQ(post("/api/generate", generate({{"options", options}})).status, 200);
      expect_error(post("/api/generate", generate({{"options", {{name, {{"a", 1}}}}}})), 400, "options." + name);
    }
  }
}

TEST_F(OllamaTest, CurlWithoutATypeWorksAsItsDocumentationShows) {
  const std::string body = R"({"model":"tiny","prompt":"Hi","options":{"num_predict":1}})";
  const std::string head = "POST /api/generate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  Connection connection(port());
  connection.send(head + body);
  EXPECT_EQ(connection.read_reply().status, 200);
}

TEST_F(OllamaTest, AServerOfFixedModelsRefusesToChangeTheStore) {
  expect_error(post("/api/pull", {{"model", "smollm2"}}), 400, "without their names");
  expect_error(post("/api/copy", {{"source", "tiny"}, {"destination", "b"}}), 400, "without their names");
  expect_error(ask(port(), "DELETE", "/api/delete", R"({"model":"tiny"})"), 400, "without their names");
  expect_error(post("/api/create", {{"model", "b"}, {"from", "tiny"}}), 400, "without their names");
}

// A server whose models are those of a store, as `inferens serve` without names is.
class OllamaStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "inferens-serve-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    home_ = pattern;
    ModelStore store(home_);
    const auto source = parse_source(std::string(INFERENS_TEST_DATA) + "/model/tiny/llama-f32.gguf");
    ASSERT_TRUE(source.ok());
    PullOptions pull;
    pull.name = "base";
    NoProgress progress;
    ASSERT_TRUE(pull_model(store, *source, pull, system_clock(), progress).ok());
    ServerOptions options = tiny_server_options();
    options.models.clear();
    options.load_at_start.clear();
    options.store = StoreAccess{.home = home_, .serves_all = true, .pull = {}};
    options.registry.more = [home = home_] {
      const ModelStore models(home);
      std::vector<ModelSpec> specs;
      const auto listing = models.list();
      for (const Manifest& manifest : listing->models) {
        ModelSpec spec = tiny_server_options().models[0];
        spec.name = manifest.name;
        spec.options.model_path = models.model_path(manifest);
        specs.push_back(std::move(spec));
      }
      return specs;
    };
    server_ = start_server(std::move(options));
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(home_);
  }
  Reply post(std::string_view path, const json& body) { return ask(server_->http().port(), "POST", path, body.dump()); }
  json answer(const std::string& model, json fields = {}) {
    json body = {{"model", model}, {"prompt", "Hello"}, {"stream", false}, {"options", {{"seed", 3}, {"num_predict", 4}}}};
    if (!fields.is_null()) body.update(fields);
    const Reply reply = post("/api/generate", body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return parsed(reply);
  }
  std::vector<std::string> names() {
    std::vector<std::string> out;
    const json tags = parsed(ask(server_->http().port(), "GET", "/api/tags"));
    for (const json& model : tags["models"]) out.push_back(model["name"]);
    return out;
  }

  std::string home_;
  std::unique_ptr<Server> server_;
};

TEST_F(OllamaStoreTest, ModelsAreCopiedAndDeleted) {
  EXPECT_EQ(post("/api/copy", {{"source", "base"}, {"destination", "other:v1"}}).status, 200);
  EXPECT_EQ(names(), (std::vector<std::string>{"base", "other:v1"}));
  EXPECT_EQ(answer("other:v1")["response"], answer("base")["response"]);
  expect_error(post("/api/copy", {{"source", "absent"}, {"destination", "x"}}), 404, "absent");
  expect_error(post("/api/copy", {{"source", "base"}, {"destination", "../x"}}), 400, "../x");
  EXPECT_EQ(ask(server_->http().port(), "DELETE", "/api/delete", R"({"model":"other:v1"})").status, 200);
  EXPECT_EQ(names(), std::vector<std::string>{"base"});
  expect_error(ask(server_->http().port(), "DELETE", "/api/delete", R"({"model":"other:v1"})"), 404, "other:v1");
  expect_error(post("/api/generate", {{"model", "other:v1"}, {"prompt", "x"}}), 404, "other:v1");
}

TEST_F(OllamaStoreTest, ACreatedModelSpeaksAsItWasMade) {
  const Reply made = post("/api/create", {{"model", "kind"}, {"from", "base"}, {"system", "Be kind."}, {"parameters", {{"temperature", 0}, {"stop", {"zzz"}}}},
                                          {"messages", {{{"role", "user"}, {"content", "A"}}, {{"role", "assistant"}, {"content", "B"}}}}, {"license", "free"}});
  ASSERT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(lines(made).back()["status"], "success");
  const json plain = answer("base", {{"options", {{"temperature", 0}, {"num_predict", 4}}}});
  const json kind = answer("kind", {{"options", {{"num_predict", 4}}}});
  EXPECT_GT(kind["prompt_eval_count"], plain["prompt_eval_count"]);
  const json chat = {{{"role", "system"}, {"content", "Be kind."}}, {{"role", "user"}, {"content", "A"}}, {{"role", "assistant"}, {"content", "B"}}, {{"role", "user"}, {"content", "Hello"}}};
  const json spelled = parsed(post("/api/chat", {{"model", "base"}, {"messages", chat}, {"stream", false}, {"options", {{"temperature", 0}, {"num_predict", 4}}}}));
  EXPECT_EQ(kind["response"], spelled["message"]["content"]);
  const json shown = parsed(post("/api/show", {{"model", "kind"}}));
  EXPECT_EQ(shown["system"], "Be kind.");
  EXPECT_EQ(shown["license"], "free");
  EXPECT_EQ(shown["parameters"], "stop \"zzz\"\ntemperature 0");
  EXPECT_EQ(shown["messages"].size(), 2);
  // The request's own words win.
  EXPECT_EQ(answer("kind", {{"system", "Be rude."}, {"options", {{"num_predict", 4}}}})["done"], true);
}

TEST_F(OllamaStoreTest, AModelfileIsReadByItsInstructions) {
  const std::string file =
      "# a comment\nFROM base\nPARAMETER temperature 0\nPARAMETER stop \"zzz\"\nPARAMETER stop yyy\nSYSTEM \"\"\"Two\nlines\"\"\"\nMESSAGE user Hello there\nLICENSE free\n";
  ASSERT_EQ(post("/api/create", {{"model", "made"}, {"modelfile", file}}).status, 200);
  const json shown = parsed(post("/api/show", {{"model", "made"}}));
  EXPECT_EQ(shown["system"], "Two\nlines");
  EXPECT_EQ(shown["parameters"], "temperature 0\nstop \"zzz\"\nstop \"yyy\"");
  EXPECT_EQ(shown["messages"], json::parse(R"([{"role":"user","content":"Hello there"}])"));
  const std::pair<const char*, const char*> bad[] = {
      {"FROM base\nTEMPLATE \"\"\"{{ .Prompt }}\"\"\"", "line 2, template"}, {"FROM base\nADAPTER ./x", "line 2, adapter"}, {"FROM base\nFLAVOR sweet", "line 2"},
      {"FROM base\nPARAMETER temperature hot", "line 2"}, {"FROM base\nPARAMETER temprature 1", "line 2"}, {"FROM base\nSYSTEM \"\"\"open", "line 2"},
      {"PARAMETER temperature 0", "from"}, {"FROM base\nMESSAGE robot hi", "role"}, {"FROM base\nPARAMETER temperature -3", "temperature"}};
  for (const auto& [text, reason] : bad) expect_error(post("/api/create", {{"model", "bad"}, {"modelfile", text}}), 400, reason);
  expect_error(post("/api/create", {{"model", "bad"}, {"from", "absent"}}), 404, "absent");
  expect_error(post("/api/create", {{"model", "../bad"}, {"from", "base"}}), 400, "../bad");
  expect_error(post("/api/create", {{"model", "bad"}, {"from", "base"}, {"quantize", "q4_0"}}), 400, "quantize");
  expect_error(post("/api/create", {{"model", "bad"}, {"from", "base"}, {"parameters", {{"heat", 1}}}}), 400, "heat");
  EXPECT_EQ(names(), (std::vector<std::string>{"base", "made"}));
}

// CVE-2026-5530, -108836, -85180: a name or address from a client must not make the server call into its network.
TEST_F(OllamaStoreTest, APullOfAddressesAndPathsIsRefused) {
  for (const char* name : {"https://127.0.0.1/x.gguf", "http://127.0.0.1/x.gguf", "127.0.0.1:80/a/b", "registry.example.org/a/b", "/etc/passwd", "../x", "a/../../b"}) {
    EXPECT_EQ(post("/api/pull", {{"model", name}}).status, 400) << name;
  }
  expect_error(post("/api/pull", {{"model", "x"}, {"insecure", true}}), 400, "insecure");
  // No registry is configured: the stream says so, and the whole answer has a status.
  const std::vector<json> streamed = lines(post("/api/pull", {{"model", "x"}}));
  EXPECT_EQ(streamed.front()["status"], "pulling manifest");
  EXPECT_TRUE(streamed.back().contains("error"));
  expect_error(post("/api/pull", {{"model", "x"}, {"stream", false}}), 400, "OLLAMA_REGISTRY");
}

}  // namespace
}  // namespace inferens::testing
