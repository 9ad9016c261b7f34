// Metrics that add up: dashboards and bills are made of them.
#include <charconv>
#include <chrono>
#include <map>
#include <thread>

#include "server_fixture.h"

namespace inferens::testing {
namespace {

class MetricsTest : public ServerTest {
 protected:
  // One server each: counters start at 0.
  void SetUp() override { own_ = start_server(tiny_server_options()); }
  void TearDown() override { own_.reset(); }
  static void SetUpTestSuite() {}

  Reply ask_own(std::string_view method, std::string_view path, const std::string& body = "") { return ask(own_->http().port(), method, path, body); }

  // "name{labels}" to value.
  std::map<std::string, double> scrape() {
    const Reply reply = ask_own("GET", "/metrics");
    EXPECT_EQ(reply.status, 200);
    std::map<std::string, double> series;
    for (size_t i = 0; i < reply.body.size();) {
      const size_t end = std::min(reply.body.find('\n', i), reply.body.size());
      const std::string line = reply.body.substr(i, end - i);
      i = end + 1;
      const size_t space = line.rfind(' ');
      if (line.empty() || line[0] == '#' || space == std::string::npos) continue;
      double value = 0;
      std::from_chars(line.data() + space + 1, line.data() + line.size(), value);
      series[line.substr(0, space)] = value;
    }
    return series;
  }
  // Of all series with this name, whatever their labels but for those that must be there.
  double sum(const std::string& name, const std::string& label = "") {
    double total = 0;
    for (const auto& [series, value] : scrape()) {
      if ((series == name || series.starts_with(name + "{")) && series.find(label) != std::string::npos) total += value;
    }
    return total;
  }

  std::unique_ptr<Server> own_;
};

TEST_F(MetricsTest, CountsAgreeWithEachOtherAndWithWhatClientsWereTold) {
  double prompt = 0;
  double generated = 0;
  for (int i = 0; i < 5; ++i) {
    const auto usage = parsed(ask_own("POST", "/v1/completions", completion({{"max_tokens", 3 + i}}).dump()))["usage"];
    prompt += usage["prompt_tokens"].get<double>();
    generated += usage["completion_tokens"].get<double>();
  }
  {
    Connection gone(own_->http().port());
    gone.send(request_text("POST", "/v1/completions", completion({{"stream", true}, {"max_tokens", 200}, {"n", 128}}).dump()));
    ASSERT_TRUE(gone.read_until("data: "));
  }
  ASSERT_TRUE(becomes_idle(*own_));
  // The pages of a request are back a moment before its end is counted.
  for (int i = 0; i < 1000 && sum("vllm:e2e_request_latency_seconds_count") < 6; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(sum("vllm:e2e_request_latency_seconds_count"), 6);
  EXPECT_EQ(sum("vllm:time_to_first_token_seconds_count"), 6);
  EXPECT_EQ(sum("vllm:request_queue_time_seconds_count"), 6);
  EXPECT_EQ(sum("vllm:request_success_total"), 6);
  EXPECT_EQ(sum("vllm:request_success_total", "finished_reason=\"length\""), 5);
  EXPECT_EQ(sum("vllm:request_success_total", "finished_reason=\"abort\""), 1);
  EXPECT_EQ(sum("vllm:prompt_tokens_total"), sum("vllm:request_prompt_tokens_sum"));
  EXPECT_EQ(sum("vllm:generation_tokens_total"), sum("vllm:request_generation_tokens_sum"));
  EXPECT_GE(sum("vllm:prompt_tokens_total"), prompt);
  EXPECT_GE(sum("vllm:generation_tokens_total"), generated);
  EXPECT_EQ(sum("vllm:prompt_tokens_total"), sum("vllm:prompt_tokens_by_source_total"));
  EXPECT_EQ(sum("inferens:class_requests_total", "class=\"chat\""), 6);
}

TEST_F(MetricsTest, NothingRunsAndNothingWaitsAtRest) {
  ask_own("POST", "/v1/completions", completion({}).dump());
  ASSERT_TRUE(becomes_idle(*own_));
  EXPECT_EQ(sum("vllm:num_requests_running"), 0);
  EXPECT_EQ(sum("vllm:num_requests_waiting"), 0);
  EXPECT_EQ(sum("vllm:kv_cache_usage_perc"), 0);
}

TEST_F(MetricsTest, TimeToFirstTokenIsNotAllInTheLowestBucketsAndNeverAboveTheWhole) {
  ask_own("POST", "/v1/completions", completion({{"prompt", std::string(150, 'm')}}).dump());
  EXPECT_GT(sum("vllm:time_to_first_token_seconds_sum"), 0);
  EXPECT_LE(sum("vllm:time_to_first_token_seconds_sum"), sum("vllm:e2e_request_latency_seconds_sum"));
}

TEST_F(MetricsTest, EveryEndpointIsCountedUnderItsRoute) {
  ask_own("GET", "/v1/models/tiny");
  ask_own("GET", "/v1/models/x");
  ask_own("GET", "/made/up/path");
  ask_own("POST", "/v1/completions", "{");
  EXPECT_EQ(sum("http_requests_total", "handler=\"/v1/models/*\",method=\"GET\",status=\"404\""), 1);
  EXPECT_EQ(sum("http_requests_total", "handler=\"/v1/completions\",method=\"POST\",status=\"400\""), 1);
  EXPECT_EQ(sum("http_requests_total", "handler=\"none\""), 1);
}

TEST_F(MetricsTest, WhatTheEngineRefusesIsCounted) {
  EXPECT_EQ(ask_own("POST", "/v1/completions", completion({{"max_tokens", 1'000'000}}).dump()).status, 400);
  EXPECT_EQ(sum("vllm:admission_rejections_total", "reason=\"invalid\""), 1);
}

}  // namespace
}  // namespace inferens::testing
