// How well a model predicts a text (perplexity), and how far its predictions are from those of another run over the
// same tokens (Kullback-Leibler divergence): the measure of a quantization, a kernel or a KV type.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "inferens/generation.h"
#include "inferens/status.h"
#include "model/model.h"

namespace inferens {

struct PerplexityOptions {
  // The text is cut into windows of this many tokens, each from an empty context. The rest at the end is a shorter
  // window, left out when it has nothing to score. 2 … the model's context length.
  int32_t window = 512;
  // The first offset inside a window whose prediction of the next token counts: 0 … window - 2. Earlier tokens are
  // context only. llama.cpp's llama-perplexity uses window / 2 and leaves out the shorter window at the end.
  int32_t score_from = 0;
  // Takes the place of the first token of every window, for models that want a start token (Gemma, Llama).
  std::optional<TokenId> start_token;
  // Tokens per forward step, ≥ 1; decides memory (vocabulary * 4 bytes each) and speed, not the result.
  int32_t step_tokens = 64;
  // Writes the log-probabilities of every scored position here (logprob_file.h; vocabulary * 2 bytes each); empty: no.
  std::string save_logprobs;
  // Compares with such a file, made with the same tokens, window, score_from and start_token; empty: no.
  std::string kl_against;
  // Called after every scored position with how many there are so far and in all.
  std::function<void(int64_t done, int64_t total)> progress;
};

// The other run of kl_against is P, this one is Q. All in nats; a standard error is that of the mean over positions.
struct Divergence {
  double mean_kl = 0;  // of KL(P || Q) = sum over tokens of P * (log P - log Q)
  double mean_kl_error = 0;
  double median_kl = 0;
  double p99_kl = 0;
  double max_kl = 0;
  double same_top = 0;  // share of positions with the same most likely token, 0 … 1
  double same_top_error = 0;
  double reference_perplexity = 0;     // of P
  double perplexity_change = 0;        // perplexity of Q / perplexity of P - 1
  double perplexity_change_error = 0;  // from the paired differences, so far smaller than that of either perplexity
};

struct PerplexityResult {
  int64_t positions = 0;  // scored
  int64_t windows = 0;
  double mean_nll = 0;  // -log probability of the text's own next token, nats
  double mean_nll_error = 0;
  double perplexity = 0;  // exp(mean_nll)
  double perplexity_error = 0;
  std::optional<Divergence> divergence;  // with kl_against
};

// Runs the model over `tokens`. Errors: an option out of range or a token outside the vocabulary (invalid_argument), a
// text with nothing to score (invalid_argument, with both numbers), a reference file that is damaged or of another text
// or model, a logit that is not a number (internal_error, with its position), and what the model and the file system
// say. Not thread safe over one model: the caller is its only user meanwhile.
StatusOr<PerplexityResult> measure_perplexity(Model& model, std::span<const TokenId> tokens,
                                              const PerplexityOptions& options);

}  // namespace inferens
