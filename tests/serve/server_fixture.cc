#include "server_fixture.h"

#include <chrono>
#include <thread>

#include "base/utf8.h"
#include "engine/engine_stats.h"

namespace inferens::testing {

ServerOptions tiny_server_options() {
  ServerOptions options;
  ModelSpec tiny;
  tiny.name = "tiny";
  tiny.options.model_path = std::string(INFERENS_TEST_DATA) + "/model/tiny/llama-f32.gguf";
  tiny.options.threads = 1;
  tiny.options.kv_memory = size_t{16} << 20;
  options.models = {tiny};
  options.load_at_start = {"tiny"};
  options.http.port = 0;
  return options;
}

std::unique_ptr<Server> start_server(ServerOptions options) {
  auto server = Server::start(std::move(options));
  EXPECT_TRUE(server.ok()) << server.status().message();
  return server.ok() ? std::move(*server) : nullptr;
}

::testing::AssertionResult is_idle(Server& server) {
  for (const ModelLease& model : server.registry().loaded()) {
    const EngineStats stats = model->generator->stats();
    if (stats.live_requests != 0) return ::testing::AssertionFailure() << stats.live_requests << " requests live";
    if (stats.running_sequences != 0 || stats.waiting_sequences != 0) return ::testing::AssertionFailure() << "sequences live";
    for (const EngineStats::Pages& pages : stats.pages) {
      if (pages.free + pages.cached != pages.total) return ::testing::AssertionFailure() << pages.total - pages.free - pages.cached << " pages lost";
    }
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult becomes_idle(Server& server) {
  constexpr auto kPatience = std::chrono::seconds(30);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!is_idle(server) && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return is_idle(server);
}

nlohmann::json ServerTest::completion(nlohmann::json fields) {
  nlohmann::json body = {{"model", "tiny"}, {"prompt", "Hello there"}, {"max_tokens", 8}, {"temperature", 0}, {"ignore_eos", true}};
  if (!fields.is_null()) body.update(fields);  // {} is null
  return body;
}

nlohmann::json ServerTest::chat(nlohmann::json fields) {
  nlohmann::json body = {{"model", "tiny"}, {"messages", {{{"role", "user"}, {"content", "Hello"}}}}, {"max_tokens", 8}, {"temperature", 0}, {"ignore_eos", true}};
  if (!fields.is_null()) body.update(fields);  // {} is null
  return body;
}

std::string character_in(const std::string& text) {
  size_t at = text.size() / 2;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return text.substr(at, decode_utf8(text, at).length);
}

nlohmann::json parsed(const Reply& reply) { return nlohmann::json::parse(reply.body, nullptr, false); }

std::string param_of(const Reply& reply) {
  const nlohmann::json body = parsed(reply);
  if (!body.is_object() || !body.contains("error") || !body["error"]["param"].is_string()) return "(none) " + reply.body;
  return body["error"]["param"];
}

}  // namespace inferens::testing
