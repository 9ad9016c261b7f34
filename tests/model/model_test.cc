// The forward passes against transformers on the same weights, and the promise that a token's logits are the same bits
// however its sequence was cut, batched or split over threads.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/random.h"
#include "formats/dequantize.h"
#include "formats/gguf.h"
#include "golden_logits.h"
#include "model/load.h"

namespace inferens {
namespace {

const char* const kTiny[] = {"llama-f32", "llama-f16-linear", "llama-q8_0-llama3", "llama-q4_0", "qwen2-q4_0", "qwen2-f16-yarn",
                             "gemma3-q8_0", "gemma3-q4_0-linear", "qwen3-q8_0", "qwen3moe-q4_0", "qwen2moe-q8_0", "llama-moe-f16"};

std::string tiny_path(const std::string& name) { return std::string(INFERENS_TEST_DATA) + "/model/tiny/" + name; }

std::unique_ptr<Model> load(const std::string& path, const LoadOptions& options) {
  auto file = GgufFile::open(path);
  EXPECT_TRUE(file.ok()) << file.status().to_string();
  auto model = load_model(std::make_shared<GgufFile>(*std::move(file)), options);
  EXPECT_TRUE(model.ok()) << model.status().to_string();
  return *std::move(model);
}

// Pages of one sequence: every group gets its own run of pages, deliberately not in order.
struct Pages {
  std::vector<std::vector<PageId>> ids;
  Pages(const Model& model, int32_t tokens, int32_t first) {
    int32_t count = (tokens + kPageTokens - 1) / kPageTokens;
    for (size_t g = 0; g < model.kv_groups().size(); ++g) {
      ids.emplace_back();
      for (int32_t p = 0; p < count; ++p) ids.back().push_back(first + count - 1 - p);
    }
  }
  std::vector<std::span<const PageId>> views() const { return {ids.begin(), ids.end()}; }
};

std::unique_ptr<KvPool> pool_of(Model& model, int32_t pages) {
  std::vector<int32_t> counts(model.kv_groups().size(), pages);
  auto pool = model.make_kv_pool(counts);
  EXPECT_TRUE(pool.ok()) << pool.status().to_string();
  return *std::move(pool);
}

// All logits of `tokens`, prefilled in the given pieces.
std::vector<float> run_in_pieces(Model& model, std::span<const TokenId> tokens, const std::vector<int32_t>& pieces) {
  auto count = static_cast<int32_t>(tokens.size());
  Pages pages(model, count, 0);
  auto kv = pool_of(model, count / kPageTokens + 1);
  std::vector<float> all;
  int32_t at = 0;
  for (int32_t n : pieces) {
    TokenSpan span{tokens.subspan(static_cast<size_t>(at), static_cast<size_t>(n)), at, pages.views(), {}};
    for (int32_t i = 0; i < n; ++i) span.logit_rows.push_back(i);
    std::vector<float> logits(static_cast<size_t>(n) * static_cast<size_t>(model.vocab_size()));
    EXPECT_TRUE(model.forward({&span, 1}, *kv, logits).ok());
    all.insert(all.end(), logits.begin(), logits.end());
    at += n;
  }
  return all;
}

double worst_error(Model& model, const golden::LogitFile& expected) {
  double worst = 0;
  for (const auto& run : expected.runs) {
    std::vector<float> logits = run_in_pieces(model, run.tokens, {static_cast<int32_t>(run.tokens.size())});
    for (const auto& row : run.rows) {
      worst = std::max(worst, row.relative_error(logits.data() + static_cast<size_t>(row.position) * static_cast<size_t>(model.vocab_size())));
    }
  }
  return worst;
}

class TinyModel : public testing::TestWithParam<const char*> {};

TEST_P(TinyModel, TheFloatPathGivesTheLogitsOfTransformers) {
  LoadOptions options;
  options.float_path = true;
  options.kv_type = KvType::kF32;
  auto model = load(tiny_path(GetParam()) + std::string(".gguf"), options);
  EXPECT_LE(worst_error(*model, golden::read(tiny_path(GetParam()) + std::string(".logits"))), 1e-4);
}

TEST_P(TinyModel, LogitsAreTheSameBitsHoweverThePromptIsCut) {
  auto expected = golden::read(tiny_path(GetParam()) + std::string(".logits"));
  const auto& tokens = expected.runs.front().tokens;
  auto n = static_cast<int32_t>(tokens.size());
  for (KvType kv : {KvType::kF32, KvType::kF16, KvType::kBf16, KvType::kQ8_0}) {
    LoadOptions options;
    options.kv_type = kv;
    auto model = load(tiny_path(GetParam()) + std::string(".gguf"), options);
    std::vector<float> whole = run_in_pieces(*model, tokens, {n});
    std::vector<float> one_by_one = run_in_pieces(*model, tokens, std::vector<int32_t>(tokens.size(), 1));
    EXPECT_EQ(std::memcmp(whole.data(), one_by_one.data(), whole.size() * 4), 0) << kv_type_name(kv);
    RandomSequence random(11);
    for (int round = 0; round < 5; ++round) {
      std::vector<int32_t> pieces;
      for (int32_t left = n; left > 0; left -= pieces.back()) pieces.push_back(static_cast<int32_t>(random.between(1, std::min(left, 23))));
      std::vector<float> cut = run_in_pieces(*model, tokens, pieces);
      ASSERT_EQ(std::memcmp(whole.data(), cut.data(), whole.size() * 4), 0) << kv_type_name(kv) << " round " << round;
    }
  }
}

TEST_P(TinyModel, LogitsAreTheSameBitsInsideABatchAndWithAnyNumberOfThreads) {
  auto expected = golden::read(tiny_path(GetParam()) + std::string(".logits"));
  const auto& tokens = expected.runs.front().tokens;
  auto n = static_cast<int32_t>(tokens.size());
  std::vector<float> alone;
  for (int threads : {1, 2, 3, 5}) {
    LoadOptions options;
    options.threads = threads;
    auto model = load(tiny_path(GetParam()) + std::string(".gguf"), options);
    if (alone.empty()) alone = run_in_pieces(*model, tokens, {n});
    // Three sequences step together; each is cut at another place.
    std::vector<Pages> pages;
    for (int32_t s = 0; s < 3; ++s) pages.emplace_back(*model, n, s * (n / kPageTokens + 1));
    auto kv = pool_of(*model, 3 * (n / kPageTokens + 1));
    std::vector<int32_t> at = {0, 0, 0};
    const std::vector<int32_t> steps[3] = {{n - 7, 1, 1, 1, 1, 1, 1, 1}, {5, 9, 1, 1, 20, 1, 1, n - 38}, {1, 1, 1, 1, 1, 1, 1, n - 7}};
    auto vocab = static_cast<size_t>(model->vocab_size());
    for (size_t step = 0; step < 8; ++step) {
      std::vector<TokenSpan> spans;
      for (size_t s = 0; s < 3; ++s) {
        int32_t count = steps[s][step];
        spans.push_back({std::span(tokens).subspan(static_cast<size_t>(at[s]), static_cast<size_t>(count)), at[s], pages[s].views(), {count - 1}});
      }
      std::vector<float> logits(3 * vocab);
      ASSERT_TRUE(model->forward(spans, *kv, logits).ok());
      for (size_t s = 0; s < 3; ++s) {
        at[s] += steps[s][step];
        ASSERT_EQ(std::memcmp(logits.data() + s * vocab, alone.data() + static_cast<size_t>(at[s] - 1) * vocab, vocab * 4), 0)
            << threads << " threads, sequence " << s << ", position " << at[s] - 1;
      }
    }
  }
}

// What the output matrix makes of an embedding are the logits, so those of transformers hold the embedding, too.
TEST_P(TinyModel, AnEmbeddingIsWhatTheLogitsOfTransformersAreMadeOf) {
  auto file = GgufFile::open(tiny_path(GetParam()) + std::string(".gguf"));
  ASSERT_TRUE(file.ok());
  const TensorInfo* head = file->find_tensor("output.weight");
  if (head == nullptr) head = file->find_tensor("token_embd.weight");
  LoadOptions options;
  options.float_path = true;
  options.kv_type = KvType::kF32;
  auto model = load(tiny_path(GetParam()) + std::string(".gguf"), options);
  auto width = static_cast<size_t>(model->hidden_size()), vocab = static_cast<size_t>(model->vocab_size());
  std::vector<float> matrix(width * vocab);
  ASSERT_TRUE(dequantize(head->type, head->data, matrix).ok());
  auto expected = golden::read(tiny_path(GetParam()) + std::string(".logits"));
  const auto& run = expected.runs.front();
  for (const auto& row : run.rows) {
    // Twice in one step, beside a span that wants logits only.
    auto tokens = std::span(run.tokens).first(static_cast<size_t>(row.position) + 1);
    auto count = static_cast<int32_t>(tokens.size()), pages_each = count / kPageTokens + 1;
    std::vector<Pages> pages;
    for (int32_t s = 0; s < 3; ++s) pages.emplace_back(*model, count, s * pages_each);
    auto kv = pool_of(*model, 3 * pages_each);
    std::vector<TokenSpan> spans = {{tokens, 0, pages[0].views(), {}, true}, {tokens, 0, pages[1].views(), {count - 1}}, {tokens, 0, pages[2].views(), {}, true}};
    std::vector<float> hidden(2 * width), logits(vocab), product(vocab);
    ASSERT_TRUE(model->step(spans, *kv, logits, hidden).ok());
    for (size_t i = 0; i < vocab; ++i) {
      double sum = 0;
      for (size_t j = 0; j < width; ++j) sum += double{matrix[i * width + j]} * double{hidden[j]};
      product[i] = static_cast<float>(sum);
    }
    EXPECT_LE(row.relative_error(product.data()), 1e-4) << row.position;
    EXPECT_LE(row.relative_error(logits.data()), 1e-4) << row.position;
    EXPECT_EQ(std::memcmp(hidden.data(), hidden.data() + width, width * 4), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, TinyModel, testing::ValuesIn(kTiny), [](const auto& name) {
  std::string s = name.param;
  for (char& c : s) c = c == '-' ? '_' : c;
  return s;
});

class RealModel : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("INFERENS_TEST_MODELS");
    path_ = std::string(folder != nullptr ? folder : "") + "/" + GetParam() + ".gguf";
    if (folder == nullptr || !std::filesystem::exists(path_)) GTEST_SKIP() << "set INFERENS_TEST_MODELS to a folder with " << GetParam();
  }
  std::string path_;
};

TEST_P(RealModel, TheFloatPathGivesTheLogitsOfTransformersBeyondTheWindow) {
  LoadOptions options;
  options.float_path = true;
  options.kv_type = KvType::kF32;
  auto model = load(path_, options);
  double worst = worst_error(*model, golden::read(std::string(INFERENS_TEST_DATA) + "/model/" + GetParam() + ".logits"));
  RecordProperty("worst_relative_error", std::to_string(worst));
  EXPECT_LE(worst, 1e-4);
}

TEST_P(RealModel, TheFastPathStaysNearAndGivesTheSameBitsInPieces) {
  auto model = load(path_, {});
  auto expected = golden::read(std::string(INFERENS_TEST_DATA) + "/model/" + GetParam() + ".logits");
  double worst = worst_error(*model, expected);
  RecordProperty("worst_relative_error", std::to_string(worst));
  EXPECT_LE(worst, 0.15);
  auto tokens = std::span(expected.runs.back().tokens).first(300);
  std::vector<float> whole = run_in_pieces(*model, tokens, {300});
  std::vector<float> cut = run_in_pieces(*model, tokens, {1, 100, 3, 16, 17, 64, 64, 1, 1, 33});
  EXPECT_EQ(std::memcmp(whole.data(), cut.data(), whole.size() * 4), 0);
}

INSTANTIATE_TEST_SUITE_P(All, RealModel,
                         testing::Values("smollm2-135m-instruct-q4_1", "qwen2.5-coder-0.5b-instruct-q4_k_m", "gemma-3-270m-q4_k_m"),
                         [](const auto& name) { return std::string("model") + std::to_string(name.index); });

}  // namespace
}  // namespace inferens
