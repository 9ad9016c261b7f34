// Mirostat 2.0 (Basu et al., "Mirostat", ICLR 2021, algorithm 2): keeps the surprise of the text near tau bits per
// token by cutting tokens above a moving limit.
#pragma once

#include <optional>

#include "inferens/generation.h"

namespace inferens {

class Mirostat {
 public:
  explicit Mirostat(const SamplingParams& params)
      : tau_(params.mirostat_tau), eta_(params.mirostat_eta), limit_(2 * params.mirostat_tau) {}

  double limit() const { return limit_; }  // bits

  // Remembers what a draw would teach; only accepting that token moves the limit, so that drawing again for the same
  // position gives the same token.
  void drew(TokenId token, double surprise) { drawn_ = {token, surprise}; }
  void accept(TokenId token) {
    if (drawn_ && drawn_->token == token) limit_ -= eta_ * (drawn_->surprise - tau_);
    drawn_.reset();
  }

 private:
  struct Drawn {
    TokenId token;
    double surprise;
  };
  double tau_;
  double eta_;
  double limit_;
  std::optional<Drawn> drawn_;
};

}  // namespace inferens
