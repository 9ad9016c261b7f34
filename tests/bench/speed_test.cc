// Measuring speed: figures for what was asked, by a clock that can be foretold, and an error when a model's answers
// contradict each other, however fast they come.
#include "bench/speed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/speed_report.h"
#include "model/load.h"

namespace inferens {
namespace {

std::shared_ptr<const GgufFile> tiny_file(const std::string& name) {
  auto file = GgufFile::open(std::string(INFERENS_TEST_DATA) + "/model/tiny/" + name + ".gguf");
  EXPECT_TRUE(file.ok()) << file.status().to_string();
  return std::make_shared<const GgufFile>(*std::move(file));
}

std::unique_ptr<Model> tiny_model(const std::string& name = "llama-q4_0") {
  auto model = load_model(tiny_file(name), {.threads = 2});
  EXPECT_TRUE(model.ok()) << model.status().to_string();
  return *std::move(model);
}

// A model inside another, to break it in one way or to count what it is asked.
class Wrapped final : public Model {
 public:
  std::unique_ptr<Model> inner = tiny_model();
  std::function<void(std::span<const TokenSpan>, std::span<float>)> after;
  FakeClock* clock = nullptr;

  int32_t vocab_size() const override { return inner->vocab_size(); }
  int32_t context_length() const override { return inner->context_length(); }
  const std::vector<KvGroup>& kv_groups() const override { return inner->kv_groups(); }
  StatusOr<std::unique_ptr<KvPool>> make_kv_pool(std::span<const int32_t> pages) override { return inner->make_kv_pool(pages); }
  Status step(std::span<const TokenSpan> spans, KvPool& kv, std::span<float> logits, std::span<float> hidden) override {
    Status s = inner->step(spans, kv, logits, hidden);
    if (after) after(spans, logits);
    return s;
  }
  int32_t hidden_size() const override { return inner->hidden_size(); }
};

SpeedOptions small() {
  SpeedOptions o;
  o.prompt_tokens = {7, 20};
  o.sequences = {1, 3};
  o.depths = {0, 10};
  o.output_tokens = 5;
  o.decode_context = 3;
  o.chunk = 8;
  o.repetitions = 2;
  return o;
}

TEST(Speed, GivesAFigureForEveryPromptBatchAndDepth) {
  auto model = tiny_model();
  auto results = measure_speed(*model, small());
  ASSERT_TRUE(results.ok()) << results.status().to_string();
  std::vector<std::pair<int, int>> prefill, decode;
  for (const auto& p : results->prefill) prefill.emplace_back(p.prompt_tokens, p.depth);
  for (const auto& d : results->decode) decode.emplace_back(d.sequences, d.context);
  EXPECT_THAT(prefill, testing::ElementsAre(std::pair(7, 0), std::pair(20, 0), std::pair(7, 10), std::pair(20, 10)));
  EXPECT_THAT(decode, testing::ElementsAre(std::pair(1, 3), std::pair(3, 3), std::pair(1, 13), std::pair(3, 13)));
  for (const auto& p : results->prefill) EXPECT_EQ(p.tokens_per_second.samples.size(), 2u);
  for (const auto& d : results->decode) EXPECT_EQ(d.step_seconds.samples.size(), 10u) << "warm-up steps are not in the figures";
}

TEST(Speed, CountsTokensOverTheTimeThatTheModelTook) {
  FakeClock clock;
  Wrapped model;
  // 1 ms per token and 2 ms per step.
  model.after = [&](std::span<const TokenSpan> spans, std::span<float>) {
    clock.advance(from_ms(2));
    for (const auto& s : spans) clock.advance(from_ms(static_cast<double>(s.tokens.size())));
  };
  auto results = measure_speed(model, small(), clock);
  ASSERT_TRUE(results.ok()) << results.status().to_string();
  EXPECT_NEAR(results->prefill[0].tokens_per_second.median, 7 / 0.009, 1e-6);
  EXPECT_NEAR(results->prefill[1].tokens_per_second.median, 20 / 0.026, 1e-6) << "three chunks";
  EXPECT_NEAR(results->decode[0].tokens_per_second.median, 1 / 0.003, 1e-6);
  EXPECT_NEAR(results->decode[1].tokens_per_second.median, 3 / 0.005, 1e-6);
  EXPECT_NEAR(results->decode[1].step_seconds.median, 0.005, 1e-12);
}

TEST(Speed, AsksForTheLastTokenOfAPromptOnly) {
  Wrapped model;
  size_t rows = 0;
  bool decode_seen = false;
  model.after = [&](std::span<const TokenSpan> spans, std::span<float>) {
    for (const auto& s : spans) rows = std::max(rows, s.logit_rows.size());
    decode_seen = decode_seen || spans.size() == 3;
  };
  ASSERT_TRUE(measure_speed(model, small()).ok());
  EXPECT_EQ(rows, 1u);
  EXPECT_TRUE(decode_seen);
}

TEST(Speed, AFastModelWhoseRowsDependOnTheBatchFails) {
  Wrapped model;
  model.after = [&](std::span<const TokenSpan> spans, std::span<float> logits) {
    if (spans.size() == 3) logits[logits.size() - 1] = 1e9f;  // the last row, and only beside others
  };
  auto results = measure_speed(model, small());
  ASSERT_FALSE(results.ok());
  EXPECT_EQ(results.status().code(), StatusCode::kInternal);
  EXPECT_THAT(results.status().message(), testing::HasSubstr("row 2 of 3"));
}

TEST(Speed, AModelWhosePrefillDependsOnTheChunksFails) {
  Wrapped model;
  model.after = [&](std::span<const TokenSpan> spans, std::span<float> logits) {
    if (spans[0].tokens.size() == 8 && !logits.empty()) logits[0] += 1e-6f;
  };
  SpeedOptions o = small();
  o.prompt_tokens = {16};
  auto results = measure_speed(model, o);
  ASSERT_FALSE(results.ok());
  EXPECT_THAT(results.status().message(), testing::HasSubstr("other chunks"));
}

TEST(Speed, ALogitThatIsNotANumberFails) {
  Wrapped model;
  model.after = [&](std::span<const TokenSpan>, std::span<float> logits) {
    if (!logits.empty()) logits[3] = std::numeric_limits<float>::quiet_NaN();
  };
  EXPECT_EQ(measure_speed(model, small()).status().code(), StatusCode::kInternal);
}

TEST(Speed, SequencesBeyondTheContextAreRefusedWithBothNumbers) {
  auto model = tiny_model();
  SpeedOptions o = small();
  o.depths = {model->context_length()};
  auto results = measure_speed(*model, o);
  ASSERT_EQ(results.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(results.status().message(), testing::HasSubstr(std::to_string(model->context_length())));
  o = small();
  o.prompt_tokens = {};
  o.output_tokens = 0;
  EXPECT_EQ(measure_speed(*model, o).status().code(), StatusCode::kInvalidArgument);
}

TEST(Speed, SlidingWindowsAreMeasuredBeyondTheWindow) {
  auto model = tiny_model("gemma3-q8_0");
  int32_t window = 0;
  for (const KvGroup& g : model->kv_groups()) window = std::max(window, g.window);
  ASSERT_GT(window, 0);
  SpeedOptions o = small();
  o.depths = {std::min(model->context_length() - 40, window + 2 * kPageTokens)};
  auto results = measure_speed(*model, o);
  ASSERT_TRUE(results.ok()) << results.status().to_string();
  EXPECT_LT(kv_bytes_read(*model, 1 << 20), int64_t{1 << 20} * static_cast<int64_t>(model->kv_groups()[0].page_bytes + model->kv_groups()[1].page_bytes) / kPageTokens)
      << "what lies before a window is not read";
}

SpeedReport report_of_tiny_model() {
  SpeedReport r;
  auto file = tiny_file("llama-q4_0");
  auto model = load_model(file, {.threads = 2});
  r.program = "inferens 0";
  r.unix_seconds = 1796078172;
  r.machine = describe_machine();
  r.isa = available_isas().back();
  r.threads = 2;
  r.model_name = "tiny, \"quoted\"";
  r.architecture = "llama";
  r.file_bytes = static_cast<int64_t>(file->file_bytes());
  r.bytes = model_bytes(*file, false);
  r.kv_type = "f16";
  r.options = small();
  WorkerPool pool(2);
  r.machine.available_bytes = 64 << 20;  // keeps the large read of this test small
  auto limits = measure_limits(r.isa, pool, r.machine, {.working_sets = {r.bytes.packed}, .seconds = 0.001});
  EXPECT_TRUE(limits.ok()) << limits.status().to_string();
  r.limits = *limits;
  auto results = measure_speed(**model, r.options);
  EXPECT_TRUE(results.ok()) << results.status().to_string();
  r.results = *results;
  return r;
}

TEST(SpeedReport, TableJsonAndCsvSayTheSame) {
  const SpeedReport r = report_of_tiny_model();
  auto json = nlohmann::json::parse(speed_json(r));
  EXPECT_EQ(json["date"], "2026-11-30T22:36:12Z");
  EXPECT_EQ(json["threads"], 2);
  EXPECT_EQ(json["model"]["name"], "tiny, \"quoted\"");
  ASSERT_EQ(json["prefill"].size(), 4u);
  ASSERT_EQ(json["decode"].size(), 4u);
  EXPECT_EQ(json["prefill"][1]["prompt_tokens"], 20);
  EXPECT_EQ(json["prefill"][1]["tokens_per_second"]["median"], r.results.prefill[1].tokens_per_second.median);
  EXPECT_EQ(json["decode"][1]["sequences"], 3);
  EXPECT_GT(json["decode"][1]["bytes_per_step"], r.bytes.packed);
  EXPECT_GT(json["decode"][1]["share_of_read_limit"], 0);
  EXPECT_GT(json["limits"]["int8_operations_per_second"]["all_threads"], 0);
  EXPECT_EQ(json["limits"]["read"].size(), 2u);

  const std::string csv = speed_csv(r);
  std::istringstream lines(csv);
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line);) rows.push_back(line);
  ASSERT_EQ(rows.size(), 9u) << "a header and eight figures";
  EXPECT_THAT(rows[0], testing::StartsWith("date,program,cpu,isa,threads,model,"));
  EXPECT_THAT(rows[1], testing::HasSubstr("\"tiny, \"\"quoted\"\"\""));

  const std::string table = speed_table(r);
  for (const char* part : {"pp20 @ 10", "tg5 @ 13", "machine   ", "limits    int8", "2026-11-30T22:36:12Z"}) EXPECT_THAT(table, testing::HasSubstr(part));
}

TEST(ModelBytes, CountEveryMatrixOfAStepOnce) {
  auto file = tiny_file("llama-q4_0");
  const ModelBytes bytes = model_bytes(*file, false);
  int64_t layers = 0;
  for (const TensorInfo& t : file->tensors()) {
    if (t.dimensions == 2 && t.name.starts_with("blk.")) layers += static_cast<int64_t>(t.elements());
  }
  EXPECT_EQ(bytes.weights, layers);
  EXPECT_GT(bytes.head_weights, 0);
  // 4 bits and a scale of 16 bits per 32 weights at least; the file's other types take more.
  EXPECT_GE(bytes.packed, (bytes.weights + bytes.head_weights) * 18 / 32);
  EXPECT_EQ(model_bytes(*file, true).packed, 4 * (bytes.weights + bytes.head_weights)) << "the float path reads 4 bytes per weight";
}

}  // namespace
}  // namespace inferens
