// The chain of samplers for one sequence: edits of logits, then cuts, then one draw. The steps live in sampling/; here
// is their order.
#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/random.h"
#include "engine/sampling/candidates.h"
#include "engine/sampling/dry.h"
#include "engine/sampling/mirostat.h"
#include "engine/sampling/penalties.h"
#include "kernels/sampling_math.h"

namespace inferens {
namespace {

constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();
// Below this a division by the temperature leaves the range of float, and the draw is greedy in all but name.
constexpr double kGreedyBelow = 1e-5;
constexpr double kBanAtMost = -100;

// Several random numbers for one position must not be the same one.
enum Draw : uint64_t { kDrawToken = 0, kDrawXtc = 1 };

Status damaged_logits(int64_t position) {
  return internal_error(
      "position " + std::to_string(position) +
      ": the model computed logits that are not finite numbers; its file or its arithmetic is damaged");
}

Status nothing_left(int64_t position) {
  return failed_precondition(
      "position " + std::to_string(position) +
      ": no token may be chosen: the model, the grammar and logit_bias together rule out every one; "
      "loosen the grammar or logit_bias");
}

class ChainSampler final : public Sampler {
 public:
  ChainSampler(const SamplingParams& params, size_t vocab_size, std::vector<std::vector<TokenId>> breakers)
      : params_(params),
        vocab_size_(vocab_size),
        penalties_(params),
        dry_(params, vocab_size, std::move(breakers)),
        mirostat_(params),
        candidates_(vocab_size),
        tile_max_(sampling_tiles(vocab_size)) {}

  void accept_prompt(std::span<const TokenId> tokens) override {
    penalties_.accept_prompt(tokens);
    for (TokenId t : tokens) dry_.accept(t);
  }

  void accept(TokenId token) override {
    penalties_.accept(token);
    dry_.accept(token);
    mirostat_.accept(token);
  }

  StatusOr<SampledToken> sample(std::span<const float> logits, std::span<const uint32_t> allowed,
                                int64_t position) override;
  std::vector<TokenProbability> last_distribution(size_t limit) override { return candidates_.most_likely(limit); }

 private:
  Status check_sizes(std::span<const float> logits, std::span<const uint32_t> allowed) const;
  bool edits(std::span<const uint32_t> allowed) const;
  void edit(std::span<const float> logits, std::span<const uint32_t> allowed);
  TokenId choose(int64_t position);
  void cut_openai(int64_t position);
  void cut_llama_cpp(int64_t position);
  void cut_typical();
  void cut_top_p();
  void cut_min_p();
  void cut_xtc(int64_t position);
  double uniform(int64_t position, Draw draw) const {
    return uniform_at(params_.seed, static_cast<uint64_t>(position), draw);
  }

  const SamplingParams params_;
  const size_t vocab_size_;
  Penalties penalties_;
  Dry dry_;
  Mirostat mirostat_;
  Candidates candidates_;
  std::vector<float> tile_max_;
  std::vector<float> edited_;  // [vocab] logits after bias, penalties and mask; made when first needed
};

Status ChainSampler::check_sizes(std::span<const float> logits, std::span<const uint32_t> allowed) const {
  if (logits.size() != vocab_size_) {
    return internal_error("the sampler got " + std::to_string(logits.size()) + " logits for a vocabulary of " +
                          std::to_string(vocab_size_));
  }
  if (!allowed.empty() && allowed.size() != (vocab_size_ + 31) / 32) {
    return internal_error("the grammar mask has " + std::to_string(allowed.size()) + " words for a vocabulary of " +
                          std::to_string(vocab_size_));
  }
  return ok_status();
}

bool ChainSampler::edits(std::span<const uint32_t> allowed) const {
  return !allowed.empty() || !params_.logit_bias.empty() || penalties_.active() || dry_.active();
}

void ChainSampler::edit(std::span<const float> logits, std::span<const uint32_t> allowed) {
  edited_.resize(vocab_size_);
  if (allowed.empty()) {
    std::copy(logits.begin(), logits.end(), edited_.begin());
  } else {
    keep_allowed(logits, allowed, edited_);
  }
  for (auto [token, bias] : params_.logit_bias) {
    float& logit = edited_[static_cast<size_t>(token)];
    logit = bias <= kBanAtMost ? kNegativeInfinity : bounded_logit(logit + bias);
  }
  penalties_.apply(edited_);
  if (dry_.active()) dry_.apply(edited_);
}

StatusOr<SampledToken> ChainSampler::sample(std::span<const float> logits, std::span<const uint32_t> allowed,
                                            int64_t position) {
  if (Status s = check_sizes(logits, allowed); !s.ok()) return s;
  LogitPeak peak = find_peak(logits, tile_max_);
  if (peak.has_nan || peak.max == -kNegativeInfinity) return damaged_logits(position);
  if (peak.max == kNegativeInfinity) return nothing_left(position);
  candidates_.start(logits, tile_max_, peak.max);
  const double log_sum = peak.max + candidates_.log_total();

  if (edits(allowed)) {
    edit(logits, allowed);
    peak = find_peak(edited_, tile_max_);
    if (peak.max == kNegativeInfinity) return nothing_left(position);
    candidates_.start(edited_, tile_max_, peak.max);
  }
  const TokenId token = choose(position);
  return SampledToken{.token = token, .logprob = static_cast<float>(logits[static_cast<size_t>(token)] - log_sum)};
}

TokenId ChainSampler::choose(int64_t position) {
  const bool greedy = params_.temperature < kGreedyBelow;
  const bool mirostat = params_.mirostat == 2 && !greedy;
  if (greedy) {
    candidates_.keep_top_k(1);
  } else if (mirostat) {
    candidates_.set_scale(1 / params_.temperature);
    candidates_.keep_surprise(mirostat_.limit());
  } else if (params_.order == SamplerOrder::kLlamaCpp) {
    cut_llama_cpp(position);
  } else {
    cut_openai(position);
  }
  const TokenId token = candidates_.draw(uniform(position, kDrawToken));
  if (mirostat) mirostat_.drew(token, candidates_.surprise(token));
  return token;
}

void ChainSampler::cut_openai(int64_t position) {
  candidates_.set_scale(1 / params_.temperature);
  if (params_.top_k > 0) candidates_.keep_top_k(static_cast<size_t>(params_.top_k));
  cut_top_p();
  cut_min_p();
  cut_typical();
  cut_xtc(position);
}

void ChainSampler::cut_llama_cpp(int64_t position) {
  if (params_.top_k > 0) candidates_.keep_top_k(static_cast<size_t>(params_.top_k));
  cut_typical();
  cut_top_p();
  cut_min_p();
  cut_xtc(position);
  candidates_.set_scale(1 / params_.temperature);
}

void ChainSampler::cut_typical() {
  if (params_.typical_p < 1) candidates_.keep_typical(params_.typical_p);
}

void ChainSampler::cut_top_p() {
  if (params_.top_p < 1) candidates_.keep_top_p(params_.top_p);
}

void ChainSampler::cut_min_p() {
  if (params_.min_p > 0) candidates_.keep_min_p(params_.min_p);
}

void ChainSampler::cut_xtc(int64_t position) {
  if (uniform(position, kDrawXtc) < params_.xtc_probability) candidates_.exclude_top_choices(params_.xtc_threshold);
}

}  // namespace

std::unique_ptr<Sampler> Sampler::make(const SamplingParams& params, int32_t vocab_size,
                                       std::vector<std::vector<TokenId>> breaker_tokens) {
  return std::make_unique<ChainSampler>(params, static_cast<size_t>(vocab_size), std::move(breaker_tokens));
}

}  // namespace inferens
