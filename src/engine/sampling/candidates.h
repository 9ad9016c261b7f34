// The tokens still in the running for one position. It starts as the whole vocabulary, without a copy; every cut keeps
// the tokens above a threshold, so nothing is ever sorted as a whole. Once a cut has made a list, later cuts work on
// the list.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/sampler.h"
#include "kernels/sampling_math.h"

namespace inferens {

// Among equals the lower token wins every cut.
class Candidates {
 public:
  explicit Candidates(size_t vocab_size);

  // values: logits of the whole vocabulary, finite or -infinity (never chosen), kept alive by the caller until the
  // draw. tile_max and max: of values, as find_peak gives them; max is finite.
  void start(std::span<const float> values, std::span<const float> tile_max, float max);

  // Probabilities are softmax(value * scale) over the tokens still in; scale = 1 / temperature. 1 after start().
  void set_scale(double scale);

  void keep_top_k(size_t k);        // k ≥ 1
  void keep_top_p(double p);        // the fewest most likely tokens whose probabilities reach p
  void keep_min_p(double min_p);    // those at least min_p times as likely as the most likely, min_p > 0
  void keep_typical(double p);      // the fewest tokens nearest in surprise to the entropy whose probabilities reach p
  void keep_surprise(double bits);  // those with -log2(probability) ≤ bits, at least one
  void exclude_top_choices(double threshold);  // XTC: of the tokens at least this likely, all but the least likely go

  // The token at which the running sum of probabilities passes uniform, in [0, 1).
  TokenId draw(double uniform);
  // -log2 of a token's probability among those still in. The token is one of them.
  double surprise(TokenId token);
  // ln Σ e^((value - max) * scale) over the tokens still in, where max is their largest value.
  double log_total();
  // The tokens still in with their probabilities: at most `limit`, most likely first.
  std::vector<TokenProbability> most_likely(size_t limit);

 private:
  struct Candidate {
    TokenId token;
    float value;
    double weight;  // e^exponent(value)
  };

  double total_weight();
  double weight_from(size_t first) const;
  double exponent(float value) const;  // (value - max_) * scale_
  size_t append_between(float lo, float hi);
  void weigh(size_t first);
  void rebase();
  void keep_at_least(double value);
  template <class Distance>
  void keep_nearest(size_t first, double mass, Distance distance);
  size_t collect_most_likely(double mass);
  size_t collect_around(double centre, double mass);
  TokenId draw_whole(double uniform);

  std::span<const float> values_;
  std::span<const float> tile_max_;
  float max_ = 0;
  double scale_ = 1;
  bool whole_ = true;
  double whole_weight_ = 0;  // 0: not computed for this scale
  std::vector<float> lane_sums_;
  std::vector<Candidate> list_;
  // Room that is kept from token to token.
  std::vector<Candidate> ranked_;
  std::vector<int32_t> picked_;
  std::vector<float> picked_value_;
  std::vector<float> peaks_;
  std::vector<double> weights_;
};

}  // namespace inferens
