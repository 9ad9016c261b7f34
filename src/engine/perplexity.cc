#include "engine/perplexity.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "engine/logprob_file.h"
#include "formats/half.h"

namespace inferens {
namespace {

struct Mean {
  double value = 0;
  double error = 0;  // standard error
};

Mean mean_of(const std::vector<double>& values) {
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (double v : values) squares += (v - mean) * (v - mean);
  return {mean, values.size() < 2 ? 0 : std::sqrt(squares / (n - 1) / n)};
}

// Nearest rank: the smallest value that at least `share` of all values do not exceed.
double percentile(const std::vector<double>& sorted, double share) {
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

// The windows of a text and what is scored in them.
struct Plan {
  int64_t window = 0;
  int64_t score_from = 0;
  int64_t tokens = 0;
  int64_t windows = 0;
  int64_t positions = 0;

  int64_t begin(int64_t w) const { return w * window; }
  int64_t length(int64_t w) const { return std::min(window, tokens - begin(w)); }
};

// Of a window of n tokens the predictions at score_from … n - 2 are scored: the last token has no next one.
int64_t scored_in(int64_t length, int64_t score_from) {
  return std::max<int64_t>(0, length - 1 - score_from);
}

Plan plan_of(int64_t tokens, const PerplexityOptions& options) {
  Plan plan{options.window, options.score_from, tokens, tokens / options.window, 0};
  plan.positions = plan.windows * scored_in(plan.window, plan.score_from);
  if (int64_t rest = scored_in(tokens % plan.window, plan.score_from); rest > 0) {
    ++plan.windows;
    plan.positions += rest;
  }
  return plan;
}

Status check(const Model& model, std::span<const TokenId> tokens, const PerplexityOptions& o) {
  if (o.window < 2 || o.window > model.context_length()) {
    return invalid_argument("window is " + std::to_string(o.window) + " tokens; this model takes 2 to " +
                            std::to_string(model.context_length()));
  }
  if (o.score_from < 0 || o.score_from > o.window - 2) {
    return invalid_argument("the first scored offset is " + std::to_string(o.score_from) + "; a window of " +
                            std::to_string(o.window) + " allows 0 to " + std::to_string(o.window - 2));
  }
  if (o.step_tokens < 1) return invalid_argument("step_tokens is " + std::to_string(o.step_tokens) + "; at least 1");
  auto outside = [&](TokenId t) { return t < 0 || t >= model.vocab_size(); };
  auto bad = std::find_if(tokens.begin(), tokens.end(), outside);
  if (bad != tokens.end() || (o.start_token && outside(*o.start_token))) {
    return invalid_argument("token " + std::to_string(bad != tokens.end() ? *bad : *o.start_token) +
                            " is outside the model's vocabulary of " + std::to_string(model.vocab_size()));
  }
  return ok_status();
}

// log-softmax of a row into `logprobs`, and the most likely token. False when a logit is not a number.
bool log_softmax(std::span<const float> logits, std::span<float> logprobs, TokenId& most_likely) {
  size_t best = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) return false;
    if (logits[i] > logits[best]) best = i;
  }
  const float top = logits[best];
  double sum = 0;
  for (float logit : logits) sum += static_cast<double>(std::exp(logit - top));
  const double log_sum = static_cast<double>(top) + std::log(sum);
  if (!std::isfinite(log_sum)) return false;
  for (size_t i = 0; i < logits.size(); ++i) {
    logprobs[i] = static_cast<float>(static_cast<double>(logits[i]) - log_sum);
  }
  most_likely = static_cast<TokenId>(best);
  return true;
}

double kl_divergence(std::span<const std::byte> reference_halves, std::span<const float> logprobs) {
  double sum = 0;
  for (size_t i = 0; i < logprobs.size(); ++i) {
    uint16_t half;
    std::memcpy(&half, reference_halves.data() + i * sizeof half, sizeof half);
    const float reference = half_to_float(half);
    const float p = std::exp(reference);
    // Where P is 0 its term is 0 by definition, and the product below would be 0 * infinity.
    if (p > 0) sum += static_cast<double>(p) * (static_cast<double>(reference) - static_cast<double>(logprobs[i]));
  }
  return sum;
}

// Takes the rows of scored positions in order and ends with the figures.
class Scores {
 public:
  Scores(size_t vocab_size, std::optional<LogprobWriter> writer, std::optional<LogprobReader> reader)
      : logprobs_(vocab_size), writer_(std::move(writer)), reader_(std::move(reader)) {}

  Status add(std::span<const float> logits, TokenId next) {
    TokenId most_likely = 0;
    if (!log_softmax(logits, logprobs_, most_likely)) {
      return internal_error("the model gave a logit that is not a finite number");
    }
    const float next_logprob = logprobs_[static_cast<size_t>(next)];
    if (reader_) compare(reader_->record(nll_.size()), most_likely, next_logprob);
    nll_.push_back(-static_cast<double>(next_logprob));
    return writer_ ? writer_->append(most_likely, next_logprob, logprobs_) : ok_status();
  }

  int64_t positions() const { return static_cast<int64_t>(nll_.size()); }

  StatusOr<PerplexityResult> finish(int64_t windows) {
    if (writer_) {
      if (Status s = writer_->finish(); !s.ok()) return s;
    }
    PerplexityResult result;
    result.positions = positions();
    result.windows = windows;
    const Mean nll = mean_of(nll_);
    result.mean_nll = nll.value;
    result.mean_nll_error = nll.error;
    result.perplexity = std::exp(nll.value);
    result.perplexity_error = result.perplexity * nll.error;
    if (reader_) result.divergence = divergence();
    return result;
  }

 private:
  void compare(const LogprobRecord& reference, TokenId most_likely, float next_logprob) {
    kl_.push_back(kl_divergence(reference.halves, logprobs_));
    same_top_.push_back(reference.most_likely == most_likely ? 1 : 0);
    reference_nll_.push_back(-static_cast<double>(reference.next_token_logprob));
    nll_change_.push_back(static_cast<double>(reference.next_token_logprob) - static_cast<double>(next_logprob));
  }

  Divergence divergence() const {
    Divergence d;
    const Mean kl = mean_of(kl_), same = mean_of(same_top_), change = mean_of(nll_change_);
    std::vector<double> sorted = kl_;
    std::sort(sorted.begin(), sorted.end());
    d.mean_kl = kl.value;
    d.mean_kl_error = kl.error;
    d.median_kl = percentile(sorted, 0.5);
    d.p99_kl = percentile(sorted, 0.99);
    d.max_kl = sorted.back();
    d.same_top = same.value;
    d.same_top_error = same.error;
    d.reference_perplexity = std::exp(mean_of(reference_nll_).value);
    d.perplexity_change = std::expm1(change.value);
    d.perplexity_change_error = std::exp(change.value) * change.error;
    return d;
  }

  std::vector<float> logprobs_;
  std::optional<LogprobWriter> writer_;
  std::optional<LogprobReader> reader_;
  std::vector<double> nll_;
  std::vector<double> kl_, same_top_, reference_nll_, nll_change_;  // with reader_
};

StatusOr<Scores> open_scores(const Plan& plan, const Model& model, std::span<const TokenId> tokens,
                             const PerplexityOptions& o) {
  const LogprobFileKey key{static_cast<uint32_t>(model.vocab_size()),
                           static_cast<uint32_t>(o.window),
                           static_cast<uint32_t>(o.score_from),
                           o.start_token,
                           hash_tokens(tokens),
                           static_cast<uint64_t>(plan.positions)};
  std::optional<LogprobReader> reader;
  if (!o.kl_against.empty()) {
    auto opened = LogprobReader::open(o.kl_against, key);
    if (!opened.ok()) return opened.status();
    reader.emplace(std::move(*opened));
  }
  std::optional<LogprobWriter> writer;
  if (!o.save_logprobs.empty()) {
    auto created = LogprobWriter::create(o.save_logprobs, key);
    if (!created.ok()) return created.status();
    writer.emplace(std::move(*created));
  }
  return Scores(static_cast<size_t>(model.vocab_size()), std::move(writer), std::move(reader));
}

// One window through the model, a step at a time, over pages that the next window uses again.
class WindowRunner {
 public:
  static StatusOr<WindowRunner> make(Model& model, const PerplexityOptions& options) {
    const int32_t pages = div_up(options.window, kPageTokens);
    std::vector<int32_t> pages_per_group(model.kv_groups().size(), pages);
    auto pool = model.make_kv_pool(pages_per_group);
    if (!pool.ok()) return pool.status();
    return WindowRunner(model, options, std::move(*pool), pages, pages_per_group.size());
  }

  // `window` has its start token; `score(offset, logits)` is called for the offsets that count, ascending.
  template <class Score>
  Status run(std::span<const TokenId> window, const Score& score) {
    const auto step = static_cast<size_t>(options_.step_tokens);
    for (size_t at = 0; at + 1 < window.size(); at += step) {
      // The last token predicts nothing that is known, so it is never computed.
      std::span<const TokenId> part = window.subspan(at, std::min(step, window.size() - 1 - at));
      const auto part_size = static_cast<int32_t>(part.size());
      const int32_t first = std::max(0, options_.score_from - static_cast<int32_t>(at));
      TokenSpan span{part, static_cast<int32_t>(at), pages_for(at + part.size()), {}};
      for (int32_t row = first; row < part_size; ++row) span.logit_rows.push_back(row);
      std::span<float> logits(logits_.data(), span.logit_rows.size() * vocab_size_);
      if (Status s = model_->forward({&span, 1}, *pool_, logits); !s.ok()) return s;
      for (size_t i = 0; i < span.logit_rows.size(); ++i) {
        const size_t offset = at + static_cast<size_t>(span.logit_rows[i]);
        if (Status s = score(offset, logits.subspan(i * vocab_size_, vocab_size_)); !s.ok()) return s;
      }
    }
    return ok_status();
  }

 private:
  WindowRunner(Model& model, const PerplexityOptions& options, std::unique_ptr<KvPool> pool, int32_t pages,
               size_t groups)
      : model_(&model),
        options_(options),
        pool_(std::move(pool)),
        page_ids_(static_cast<size_t>(pages)),
        groups_(groups),
        vocab_size_(static_cast<size_t>(model.vocab_size())),
        logits_(static_cast<size_t>(std::min(options.step_tokens, options.window)) * vocab_size_) {
    std::iota(page_ids_.begin(), page_ids_.end(), 0);
  }

  std::vector<std::span<const PageId>> pages_for(size_t tokens) const {
    std::span<const PageId> used(page_ids_.data(), div_up(tokens, static_cast<size_t>(kPageTokens)));
    return std::vector<std::span<const PageId>>(groups_, used);
  }

  Model* model_;
  PerplexityOptions options_;
  std::unique_ptr<KvPool> pool_;
  std::vector<PageId> page_ids_;
  size_t groups_;
  size_t vocab_size_;
  std::vector<float> logits_;  // [step tokens, vocabulary]
};

}  // namespace

StatusOr<PerplexityResult> measure_perplexity(Model& model, std::span<const TokenId> tokens,
                                              const PerplexityOptions& options) {
  if (Status s = check(model, tokens, options); !s.ok()) return s;
  const Plan plan = plan_of(static_cast<int64_t>(tokens.size()), options);
  if (plan.positions == 0) {
    return invalid_argument("the text has " + std::to_string(tokens.size()) + " tokens; at least " +
                            std::to_string(options.score_from + 2) + " are needed to score one");
  }
  auto scores = open_scores(plan, model, tokens, options);
  if (!scores.ok()) return scores.status();
  auto runner = WindowRunner::make(model, options);
  if (!runner.ok()) return runner.status();

  for (int64_t w = 0; w < plan.windows; ++w) {
    const auto text = tokens.subspan(static_cast<size_t>(plan.begin(w)), static_cast<size_t>(plan.length(w)));
    std::vector<TokenId> window(text.begin(), text.end());
    if (options.start_token) window[0] = *options.start_token;
    Status s = runner->run(window, [&](size_t offset, std::span<const float> logits) {
      if (Status scored = scores->add(logits, window[offset + 1]); !scored.ok()) {
        return scored.with_context("after token " + std::to_string(plan.begin(w) + static_cast<int64_t>(offset)));
      }
      if (options.progress) options.progress(scores->positions(), plan.positions);
      return ok_status();
    });
    if (!s.ok()) return s;
  }
  return scores->finish(plan.windows);
}

}  // namespace inferens
