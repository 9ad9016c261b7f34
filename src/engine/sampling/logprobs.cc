// Log-probabilities of the true distribution: softmax of the raw logits, whatever the samplers did afterwards.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/sampler.h"
#include "kernels/sampling_math.h"

namespace inferens {
namespace {

struct Ranked {
  float logit;
  TokenId token;
};

bool more_likely(const Ranked& a, const Ranked& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

// The k most likely tokens, most likely first; fewer when fewer have a probability.
std::vector<Ranked> most_likely(std::span<const float> logits, std::span<const float> tile_max, size_t k) {
  float threshold = std::numeric_limits<float>::lowest();
  if (k <= tile_max.size()) {
    // At least k tokens reach the k-th largest of the tiles' maxima.
    std::vector<float> peaks(tile_max.begin(), tile_max.end());
    std::nth_element(peaks.begin(), peaks.begin() + static_cast<std::ptrdiff_t>(k - 1), peaks.end(), std::greater<>());
    threshold = std::max(threshold, peaks[k - 1]);
  }
  std::vector<Ranked> found;
  for (size_t t = 0; t < tile_max.size(); ++t) {
    if (tile_max[t] < threshold) continue;
    const size_t end = std::min(logits.size(), (t + 1) * kSamplingTile);
    for (size_t i = t * kSamplingTile; i < end; ++i) {
      if (logits[i] >= threshold) found.push_back({logits[i], static_cast<TokenId>(i)});
    }
  }
  k = std::min(k, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(k), found.end(), more_likely);
  found.resize(k);
  return found;
}

}  // namespace

PositionLogprobs top_logprobs(std::span<const float> logits, TokenId chosen, int32_t k) {
  PositionLogprobs result;
  result.chosen.token = chosen;
  result.chosen.logprob = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> tile_max(sampling_tiles(logits.size()));
  std::vector<float> lane_sums(tile_max.size() * kSamplingLanes);
  const LogitPeak peak = find_peak(logits, tile_max);
  if (peak.has_nan || !std::isfinite(peak.max)) return result;
  const double log_sum = peak.max + std::log(sum_exponentials(logits, tile_max, peak.max, 1, lane_sums));
  auto logprob = [&](float logit) { return static_cast<float>(logit - log_sum); };

  const float own = logits[static_cast<size_t>(chosen)];
  result.chosen.logprob = logprob(own);
  const auto before = logits.first(static_cast<size_t>(chosen));
  result.rank = 1 + static_cast<int32_t>(std::count_if(logits.begin(), logits.end(), [&](float v) { return v > own; }) +
                                         std::count(before.begin(), before.end(), own));
  if (k <= 0) return result;
  for (const Ranked& r : most_likely(logits, tile_max, static_cast<size_t>(k))) {
    result.top.push_back({.token = r.token, .bytes = {}, .logprob = logprob(r.logit)});
  }
  return result;
}

}  // namespace inferens
