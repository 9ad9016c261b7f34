// Repetition, presence and frequency penalties. Repetition (Keskar et al., "CTRL", 2019) looks at prompt and output, or
// at the last `penalty_window` tokens of both; presence and frequency (OpenAI) look at the output alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/sampling/token_counts.h"
#include "inferens/generation.h"

namespace inferens {

class Penalties {
 public:
  explicit Penalties(const SamplingParams& params);

  void accept_prompt(std::span<const TokenId> tokens);
  void accept(TokenId token);

  // False when apply() would change nothing.
  bool active() const { return !seen_.entries().empty() || !output_.entries().empty(); }
  void apply(std::span<float> logits) const;

 private:
  void see(TokenId token);

  double repetition_;
  double presence_;
  double frequency_;
  size_t window_;  // of seen_; 0: everything
  bool repeats_ = false;
  bool counts_ = false;
  TokenCounts seen_;
  TokenCounts output_;
  std::vector<TokenId> recent_;  // the window's tokens as a ring, so that the oldest can leave seen_
  size_t oldest_ = 0;
};

// A logit after an edit in double: never +infinity or not a number, so that softmax stays defined.
float bounded_logit(double value);

}  // namespace inferens
