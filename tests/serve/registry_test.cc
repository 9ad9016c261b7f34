// Several models in one server: loaded when asked for, gone when idle or when others need the room, never while in use.
#include "serve/model_registry.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "server_fixture.h"

namespace inferens::testing {
namespace {

using nlohmann::json;

ModelSpec spec(const std::string& name, const std::string& file) {
  ModelSpec model;
  model.name = name;
  model.options.model_path = std::string(INFERENS_TEST_DATA) + "/model/tiny/" + file;
  model.options.threads = 1;
  model.options.kv_memory = size_t{4} << 20;
  return model;
}

std::vector<ModelSpec> two() { return {spec("a", "llama-f32.gguf"), spec("b", "qwen2-q4_0.gguf")}; }

bool is_loaded(const ModelRegistry& registry, const std::string& name) {
  for (const ModelStatus& model : registry.models()) {
    if (model.name == name) return model.loaded;
  }
  return false;
}

bool leaves_memory(const ModelRegistry& registry, const std::string& name) {
  for (int i = 0; i < 10'000 && is_loaded(registry, name); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return !is_loaded(registry, name);
}

class RegistryTest : public ::testing::Test {
 protected:
  std::shared_ptr<WorkQueue> workers_ = std::make_shared<WorkQueue>(1);
};

TEST_F(RegistryTest, LoadsOnDemandAndOnceForAllWhoWait) {
  ModelRegistry registry(two(), {}, workers_);
  EXPECT_FALSE(is_loaded(registry, "a"));
  std::atomic<int> answered{0};
  std::atomic<LoadedModel*> seen{nullptr};
  std::atomic<bool> same{true};
  for (int i = 0; i < 5; ++i) {
    registry.with_model("a", [&](StatusOr<ModelLease> model) {
      LoadedModel* before = nullptr;
      if (!seen.compare_exchange_strong(before, model->get())) same = same && before == model->get();
      ++answered;
    });
  }
  ASSERT_TRUE(registry.load("a").ok());
  while (answered < 5) std::this_thread::yield();
  EXPECT_TRUE(same);
  EXPECT_TRUE(is_loaded(registry, "a"));
  EXPECT_FALSE(is_loaded(registry, "b"));
}

TEST_F(RegistryTest, UnknownAndBrokenModelsAreToldApart) {
  ModelRegistry registry({spec("broken", "no-such-file.gguf")}, {}, workers_);
  EXPECT_EQ(registry.load("other").status().code(), StatusCode::kNotFound);
  const auto broken = registry.load("broken");
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.status().message().find("no-such-file"), std::string::npos);
  EXPECT_FALSE(registry.load("broken").ok());  // and it is tried again
}

TEST_F(RegistryTest, AnIdleModelLeavesAndOneInUseStays) {
  RegistryOptions options;
  options.keep_alive = 0;
  ModelRegistry registry(two(), options, workers_);
  {
    const auto held = registry.load("a");
    ASSERT_TRUE(held.ok());
    ASSERT_TRUE(registry.load("b").ok());
    EXPECT_TRUE(leaves_memory(registry, "b"));
    EXPECT_TRUE(is_loaded(registry, "a"));
  }
  EXPECT_TRUE(leaves_memory(registry, "a"));
}

TEST_F(RegistryTest, ModelsMakeRoomForOthersButNotWhileInUse) {
  uint64_t needed = 0;
  {
    ModelRegistry probe(two(), {}, workers_);
    ASSERT_TRUE(probe.load("a").ok());
    ASSERT_TRUE(probe.load("b").ok());
    for (const ModelStatus& model : probe.models()) needed += model.bytes;
  }
  RegistryOptions options;
  options.memory = needed - 1;
  ModelRegistry registry(two(), options, workers_);
  {
    const auto held = registry.load("a");
    ASSERT_TRUE(held.ok());
    const auto second = registry.load("b");
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.status().code(), StatusCode::kUnavailable);
    EXPECT_TRUE(is_loaded(registry, "a"));
  }
  ASSERT_TRUE(registry.load("b").ok());
  EXPECT_TRUE(leaves_memory(registry, "a"));
}

TEST_F(RegistryTest, AStoppedModelAnswersWhatItHasBegunAndComesBackWhenAsked) {
  ServerOptions options = tiny_server_options();
  const auto server = start_server(std::move(options));
  const uint16_t port = server->http().port();
  json body = {{"model", "tiny"}, {"prompt", "x"}, {"max_tokens", 200}, {"ignore_eos", true}, {"stream", true}};
  Connection running(port);
  running.send(request_text("POST", "/v1/completions", body.dump()));
  ASSERT_TRUE(running.read_until("data: "));
  EXPECT_EQ(ask(port, "POST", "/v1/stop", R"({"model":"tiny"})").status, 200);
  EXPECT_TRUE(parsed(ask(port, "GET", "/v1/ps"))["models"].empty());
  EXPECT_EQ(ask(port, "POST", "/v1/stop", R"({"model":"tiny"})").status, 404);
  EXPECT_EQ(sse_payloads(running.read_reply().body).back(), "[DONE]");
  body["stream"] = false;
  EXPECT_EQ(ask(port, "POST", "/v1/completions", body.dump()).status, 200);
  EXPECT_EQ(parsed(ask(port, "GET", "/v1/ps"))["models"][0]["model"], "tiny");
}

}  // namespace
}  // namespace inferens::testing
