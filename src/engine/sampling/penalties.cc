#include "engine/sampling/penalties.h"

#include <algorithm>
#include <limits>

namespace inferens {

float bounded_logit(double value) {
  if (value == -std::numeric_limits<double>::infinity()) return -std::numeric_limits<float>::infinity();
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(value, -kMost, kMost));
}

Penalties::Penalties(const SamplingParams& params)
    : repetition_(params.repetition_penalty),
      presence_(params.presence_penalty),
      frequency_(params.frequency_penalty),
      window_(params.penalty_window > 0 ? static_cast<size_t>(params.penalty_window) : 0),
      repeats_(params.repetition_penalty != 1.0 && params.penalty_window != 0),
      counts_(params.presence_penalty != 0.0 || params.frequency_penalty != 0.0) {}

void Penalties::see(TokenId token) {
  seen_.add(token);
  if (window_ == 0) return;
  if (recent_.size() < window_) {
    recent_.push_back(token);
  } else {
    seen_.remove(recent_[oldest_]);
    recent_[oldest_] = token;
    oldest_ = (oldest_ + 1) % window_;
  }
}

void Penalties::accept_prompt(std::span<const TokenId> tokens) {
  if (!repeats_) return;
  if (window_ == 0) {
    seen_.add_all(tokens);
  } else {
    for (TokenId t : tokens.last(std::min(tokens.size(), window_))) see(t);
  }
}

void Penalties::accept(TokenId token) {
  if (repeats_) see(token);
  if (counts_) output_.add(token);
}

void Penalties::apply(std::span<float> logits) const {
  for (const TokenCounts::Entry& e : seen_.entries()) {
    float& logit = logits[static_cast<size_t>(e.token)];
    // Dividing a negative logit would make the token likelier, so it is multiplied.
    logit = bounded_logit(logit > 0 ? logit / repetition_ : logit * repetition_);
  }
  for (const TokenCounts::Entry& e : output_.entries()) {
    float& logit = logits[static_cast<size_t>(e.token)];
    logit = bounded_logit(logit - e.count * frequency_ - presence_);
  }
}

}  // namespace inferens
