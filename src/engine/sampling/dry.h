// DRY ("don't repeat yourself"; p-e-w, text-generation-webui pull request 5677): a token that would lengthen a
// repetition of what came before is made less likely, exponentially in the length of that repetition. Sequence breakers
// end a repetition.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "inferens/generation.h"

namespace inferens {

class Dry {
 public:
  // breakers: token lists, none empty. Those of one token are never penalized themselves.
  Dry(const SamplingParams& params, size_t vocab_size, std::vector<std::vector<TokenId>> breakers);

  void accept(TokenId token);

  bool active() const { return multiplier_ != 0; }
  // Linear in the tokens of the window.
  void apply(std::span<float> logits);

 private:
  bool ends_breaker() const;
  bool is_breaker(TokenId token) const;
  void measure_repeats(std::span<const TokenId> window);
  double penalty(size_t length) const;

  double multiplier_;
  double base_;
  size_t allowed_length_;
  size_t window_;                               // 0: everything
  std::vector<std::vector<TokenId>> breakers_;  // each backwards, sorted
  std::vector<TokenId> history_;
  size_t since_breaker_ = 0;     // tokens after the last breaker
  std::vector<size_t> repeat_;   // [window] see measure_repeats
  std::vector<size_t> longest_;  // [vocab] repetition that the token would lengthen; all zero between calls
  std::vector<TokenId> touched_;
};

}  // namespace inferens
