// One token from one row of logits, for one sequence. The result depends only on the logits, the parameters, the tokens
// so far, the seed and the position: never on who else is in the batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "inferens/generation.h"
#include "inferens/status.h"

namespace inferens {

// Checks every range; the error names the field, its value and what is allowed.
Status validate_sampling(const SamplingParams& params, int32_t vocab_size);

struct SampledToken {
  TokenId token = 0;
  float logprob = 0;  // of the true distribution: softmax of the raw logits, before any sampler
};

struct TokenProbability {
  TokenId token = 0;
  double probability = 0;
};

class Sampler {
 public:
  virtual ~Sampler() = default;
  // breaker_tokens: DRY sequence breakers, one token list each, made by the caller from the tokenizer.
  static std::unique_ptr<Sampler> make(const SamplingParams& params, int32_t vocab_size,
                                       std::vector<std::vector<TokenId>> breaker_tokens);

  // Tells the sampler of tokens of the prompt, in order, before the first sample().
  virtual void accept_prompt(std::span<const TokenId> tokens) = 0;
  // Tells the sampler of an output token (sampled or forced). sample() does not call this itself.
  virtual void accept(TokenId token) = 0;
  // logits [vocab_size] f32, not changed. allowed: bit mask [ceil(vocab_size/32)] of the grammar, or empty for all.
  // position: absolute position of the token to be chosen. NaN logits or an empty mask are errors of this request.
  virtual StatusOr<SampledToken> sample(std::span<const float> logits, std::span<const uint32_t> allowed,
                                        int64_t position) = 0;
  // What the last sample() drew from, after every sampler: at most `limit` tokens, most likely first. Needs a sample()
  // that succeeded, and its logits still in place.
  virtual std::vector<TokenProbability> last_distribution(size_t limit) = 0;
};

// The k most likely tokens with logprobs of the true distribution, most likely first, and the rank of `chosen`.
PositionLogprobs top_logprobs(std::span<const float> logits, TokenId chosen, int32_t k);

}  // namespace inferens
