// The figures that tell a good quantization from a bad one: they are PyTorch's, do not depend on how the work is cut,
// and files of two different runs are never compared in silence.
#include "engine/perplexity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <sstream>

#include "base/file.h"
#include "engine/logprob_file.h"

namespace inferens {
namespace {

using testing::HasSubstr;

constexpr int32_t kVocab = 37;
constexpr int32_t kRows = 29;

class NoPages : public KvPool {
 public:
  explicit NoPages(std::vector<int32_t> counts) : counts_(std::move(counts)) {}
  int32_t page_count(size_t group) const override { return counts_[group]; }
  void copy_page(size_t, PageId, PageId, int32_t) override {}
  std::span<std::byte> page(size_t, PageId) override { return {}; }

 private:
  std::vector<int32_t> counts_;
};

// Looks its logits up by token and offset, as tests/golden/perplexity/make.py does, and checks what the engine promises
// a model: spans that follow each other, pages that exist and cover them.
class TableModel : public Model {
 public:
  explicit TableModel(std::vector<float> table) : table_(std::move(table)) {}
  int32_t vocab_size() const override { return kVocab; }
  int32_t context_length() const override { return 256; }
  int32_t hidden_size() const override { return 1; }
  const std::vector<KvGroup>& kv_groups() const override { return groups_; }
  StatusOr<std::unique_ptr<KvPool>> make_kv_pool(std::span<const int32_t> pages_per_group) override {
    return std::unique_ptr<KvPool>(
        std::make_unique<NoPages>(std::vector<int32_t>(pages_per_group.begin(), pages_per_group.end())));
  }

  Status step(std::span<const TokenSpan> spans, KvPool& kv, std::span<float> logits, std::span<float>) override {
    for (const TokenSpan& span : spans) {
      check_span(span, kv);
      for (int32_t row : span.logit_rows) {
        const TokenId token = span.tokens[static_cast<size_t>(row)];
        const size_t from = static_cast<size_t>((7 * token + span.position + row) % kRows) * kVocab;
        EXPECT_GE(logits.size(), size_t{kVocab});
        std::copy_n(table_.begin() + static_cast<std::ptrdiff_t>(from), kVocab, logits.begin());
        logits = logits.subspan(kVocab);
      }
    }
    EXPECT_TRUE(logits.empty()) << "room for exactly the wanted rows";
    return ok_status();
  }

 private:
  void check_span(const TokenSpan& span, KvPool& kv) {
    EXPECT_TRUE(span.position == 0 || span.position == next_position_) << "a hole in the context";
    next_position_ = span.position + static_cast<int32_t>(span.tokens.size());
    ASSERT_EQ(span.pages.size(), groups_.size());
    for (size_t g = 0; g < groups_.size(); ++g) {
      ASSERT_GE(static_cast<int32_t>(span.pages[g].size()) * kPageTokens, next_position_);
      for (PageId page : span.pages[g]) ASSERT_TRUE(page >= 0 && page < kv.page_count(g));
    }
  }

  std::vector<float> table_;
  std::vector<KvGroup> groups_{{0, {0}, 64}, {16, {1}, 64}};
  int32_t next_position_ = 0;
};

struct Case {
  PerplexityOptions options;
  std::map<std::string, double> expected;
};

struct Golden {
  std::vector<float> p, q;  // tables of the reference model and of the one to judge
  std::vector<TokenId> tokens;
  std::vector<Case> cases;
};

Golden read_golden() {
  Golden golden;
  std::string bytes = read_file(INFERENS_TEST_DATA "/perplexity/tables.f32").value();
  constexpr size_t kTable = size_t{kRows} * kVocab;
  golden.p.resize(kTable);
  golden.q.resize(kTable);
  EXPECT_EQ(bytes.size(), 2 * kTable * sizeof(float));
  std::memcpy(golden.p.data(), bytes.data(), kTable * sizeof(float));
  std::memcpy(golden.q.data(), bytes.data() + kTable * sizeof(float), kTable * sizeof(float));

  std::istringstream text(read_file(INFERENS_TEST_DATA "/perplexity/expected.txt").value());
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "tokens") {
      for (TokenId t; words >> t;) golden.tokens.push_back(t);
    } else if (key == "case") {
      Case& c = golden.cases.emplace_back();
      TokenId start = 0;
      words >> c.options.window >> c.options.score_from >> start;
      if (start >= 0) c.options.start_token = start;
    } else {
      words >> golden.cases.back().expected[key];
    }
  }
  return golden;
}

class Perplexity : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  PerplexityResult run(const std::vector<float>& table, const PerplexityOptions& options) {
    TableModel model(table);
    auto result = measure_perplexity(model, golden_.tokens, options);
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    return result.ok() ? *result : PerplexityResult{};
  }
  Status refused(const PerplexityOptions& options) {
    TableModel model(golden_.q);
    return measure_perplexity(model, golden_.tokens, options).status();
  }
  // Log-probabilities of the reference model with options of the first case.
  std::string saved_reference() {
    PerplexityOptions options = golden_.cases[0].options;
    options.save_logprobs = path("reference");
    run(golden_.p, options);
    return options.save_logprobs;
  }

  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "perplexity_test";
  const Golden golden_ = read_golden();
};

TEST_F(Perplexity, FiguresAreThoseOfPyTorch) {
  ASSERT_EQ(golden_.cases.size(), 4u);
  for (const Case& c : golden_.cases) {
    SCOPED_TRACE("window " + std::to_string(c.options.window));
    PerplexityOptions options = c.options;
    options.save_logprobs = path("p");
    run(golden_.p, options);
    options.save_logprobs.clear();
    options.kl_against = path("p");
    PerplexityResult r = run(golden_.q, options);
    ASSERT_TRUE(r.divergence);
    const auto& want = c.expected;
    EXPECT_EQ(static_cast<double>(r.positions), want.at("positions"));
    EXPECT_NEAR(r.mean_nll, want.at("mean_nll"), 1e-6);
    EXPECT_NEAR(r.mean_nll_error, want.at("mean_nll_error"), 1e-6);
    EXPECT_NEAR(r.perplexity / want.at("perplexity"), 1, 1e-6);
    EXPECT_NEAR(r.divergence->reference_perplexity / want.at("reference_perplexity"), 1, 1e-6);
    EXPECT_NEAR(r.divergence->perplexity_change, want.at("perplexity_change"), 1e-6);
    EXPECT_NEAR(r.divergence->perplexity_change_error, want.at("perplexity_change_error"), 1e-6);
    EXPECT_NEAR(r.divergence->same_top, want.at("same_top"), 1e-12);
    // Half floats: 11 bits of a log-probability; the sum of p * |log p| * 2^-12 over this vocabulary stays below 5e-4.
    EXPECT_NEAR(r.divergence->mean_kl, want.at("mean_kl"), 1e-4);
    EXPECT_NEAR(r.divergence->mean_kl_error, want.at("mean_kl_error"), 1e-4);
    EXPECT_NEAR(r.divergence->median_kl, want.at("median_kl"), 5e-4);
    EXPECT_NEAR(r.divergence->p99_kl, want.at("p99_kl"), 5e-4);
    EXPECT_NEAR(r.divergence->max_kl, want.at("max_kl"), 5e-4);
  }
}

TEST_F(Perplexity, HowTheWorkIsCutDoesNotChangeTheFigure) {
  PerplexityOptions options = golden_.cases[2].options;
  const double expected = run(golden_.q, options).mean_nll;
  for (int32_t step : {1, 3, 31, 1000}) {
    options.step_tokens = step;
    EXPECT_EQ(run(golden_.q, options).mean_nll, expected) << step;
  }
}

TEST_F(Perplexity, AModelAgainstItselfIsNoDistanceAway) {
  PerplexityOptions options = golden_.cases[0].options;
  options.kl_against = saved_reference();
  PerplexityResult r = run(golden_.p, options);
  EXPECT_NEAR(r.divergence->mean_kl, 0, 1e-4);
  EXPECT_EQ(r.divergence->same_top, 1);
  EXPECT_EQ(r.divergence->perplexity_change, 0);
}

TEST_F(Perplexity, FilesOfAnotherRunAreRefusedByWhatDiffers) {
  PerplexityOptions options = golden_.cases[0].options;
  options.kl_against = saved_reference();
  PerplexityOptions other = options;
  other.window = 64;
  EXPECT_THAT(refused(other).message(), HasSubstr("another window (150, this run has 64)"));
  other = options;
  other.score_from = 1;
  EXPECT_THAT(refused(other).message(), HasSubstr("another first scored offset (0, this run has 1)"));
  other = options;
  other.start_token = 5;
  EXPECT_THAT(refused(other).message(), HasSubstr("another start token"));
  std::vector<TokenId> changed = golden_.tokens;
  changed[80] = (changed[80] + 1) % kVocab;
  TableModel model(golden_.q);
  EXPECT_THAT(measure_perplexity(model, changed, options).status().message(), HasSubstr("another text"));
}

TEST_F(Perplexity, DamagedReferencesAreRefused) {
  PerplexityOptions options = golden_.cases[0].options;
  options.kl_against = path("damaged");
  const std::string whole = read_file(saved_reference()).value();
  for (size_t size : {size_t{0}, size_t{39}, size_t{40}, whole.size() - 1}) {
    ASSERT_TRUE(write_file_atomically(options.kl_against, whole.substr(0, size)).ok());
    Status status = refused(options);
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << size;
    EXPECT_THAT(status.message(), HasSubstr(options.kl_against));
  }
  ASSERT_TRUE(write_file_atomically(options.kl_against, whole + "x").ok());
  EXPECT_EQ(refused(options).code(), StatusCode::kDataLoss);
  ASSERT_TRUE(write_file_atomically(options.kl_against, "GGUF" + whole).ok());
  EXPECT_THAT(refused(options).message(), HasSubstr("not a file of log-probabilities"));
  options.kl_against = path("missing");
  EXPECT_EQ(refused(options).code(), StatusCode::kNotFound);
}

TEST_F(Perplexity, ARunThatFailsLeavesNoFileBehind) {
  std::vector<float> broken = golden_.p;
  broken[5 * kVocab + 3] = std::numeric_limits<float>::quiet_NaN();
  TableModel model(broken);
  PerplexityOptions options = golden_.cases[0].options;
  options.save_logprobs = path("never");
  Status status = measure_perplexity(model, golden_.tokens, options).status();
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("after token "));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Perplexity, AnUnwritableTargetIsSaidBeforeTheWork) {
  PerplexityOptions options = golden_.cases[0].options;
  options.save_logprobs = path("no such folder/file");
  int64_t calls = 0;
  options.progress = [&](int64_t, int64_t) { ++calls; };
  EXPECT_THAT(refused(options).message(), HasSubstr(options.save_logprobs));
  EXPECT_EQ(calls, 0);
}

TEST_F(Perplexity, OptionsOutOfRangeAreRefusedWithBothNumbers) {
  PerplexityOptions options;
  options.window = 257;
  EXPECT_THAT(refused(options).message(), testing::AllOf(HasSubstr("257"), HasSubstr("256")));
  options.window = 1;
  EXPECT_EQ(refused(options).code(), StatusCode::kInvalidArgument);
  options.window = 64;
  for (int32_t bad : {-1, 63}) {
    options.score_from = bad;
    EXPECT_THAT(refused(options).message(), HasSubstr(std::to_string(bad)));
  }
  options.score_from = 0;
  options.step_tokens = 0;
  EXPECT_EQ(refused(options).code(), StatusCode::kInvalidArgument);
  options.step_tokens = 64;
  options.start_token = kVocab;
  EXPECT_THAT(refused(options).message(), HasSubstr("token 37 is outside"));
}

TEST_F(Perplexity, ATextTooShortToScoreIsRefusedWithBothNumbers) {
  TableModel model(golden_.q);
  PerplexityOptions options;
  options.window = 64;
  options.score_from = 32;
  auto measure = [&](size_t tokens) {
    return measure_perplexity(model, std::span(golden_.tokens).first(tokens), options);
  };
  EXPECT_THAT(measure(33).status().message(), testing::AllOf(HasSubstr("33 tokens"), HasSubstr("34")));
  EXPECT_FALSE(measure(0).ok());
  EXPECT_EQ(measure(34)->positions, 1);
  EXPECT_EQ(measure(64 + 33)->windows, 1) << "a rest with nothing to score is left out";
  EXPECT_EQ(measure(64 + 34)->positions, 31 + 1);
}

TEST_F(Perplexity, ProgressEndsAtTheWhole) {
  PerplexityOptions options;
  options.window = 64;
  int64_t last = 0;
  options.progress = [&](int64_t done, int64_t total) {
    EXPECT_EQ(done, ++last);
    EXPECT_EQ(total, 147);
  };
  run(golden_.q, options);
  EXPECT_EQ(last, 147);
}

}  // namespace
}  // namespace inferens
