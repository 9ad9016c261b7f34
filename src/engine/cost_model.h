// How long a step takes, learned while steps run: turns a budget in milliseconds into numbers of tokens. A linear model
// over what the time physically consists of, fitted by least squares that slowly forget, times how the machine has
// been lately: another process can halve its speed from one step to the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace inferens {

// What a step consists of; additive over its spans.
struct StepLoad {
  double tokens = 0;      // rows through the weights
  double logit_rows = 0;  // rows through the output matrix and the sampler
  double attended = 0;    // pairs of a token and a token it attends to

  StepLoad& operator+=(const StepLoad& o);
};

// A run of `tokens` tokens that starts at absolute position `position`.
StepLoad span_load(int32_t position, int32_t tokens, int32_t logit_rows);

class CostModel {
 public:
  CostModel();

  double predict_ms(const StepLoad& load) const;
  double fixed_ms() const { return pace_ * weights_[0]; }  // what an empty step would cost: reading the weights
  // How many tokens from `position` on can be added to a step for `ms` more, its last one with logits or not.
  int32_t tokens_for(double ms, int32_t position) const;
  double added_ms(const StepLoad& load) const { return predict_ms(load) - fixed_ms(); }

  // Tells how long a step really took.
  void observe(const StepLoad& load, double ms);
  int64_t observations() const { return observations_; }

 private:
  static constexpr size_t kFeatures = 4;  // 1, tokens, logit rows, attended
  using Vector = std::array<double, kFeatures>;
  static Vector features(const StepLoad& load);
  double fitted_ms(const StepLoad& load) const;
  void learn_pace(double fitted, double ms);

  Vector weights_;
  std::array<Vector, kFeatures> products_;  // of features with each other, and with the times: the normal equations
  Vector targets_;
  double pace_ = 1;  // of the last steps: their time by what the fit says
  int64_t observations_ = 0;
  double largest_tokens_ = 0;  // the largest step seen: far beyond it the line is a guess
};

}  // namespace inferens
