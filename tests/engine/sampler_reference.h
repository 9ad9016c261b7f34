// A plain second implementation for the sampler tests: full sorts, in double, nothing shared with src/.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/sampler.h"

namespace inferens::sampler_test {

inline std::vector<float> random_logits(uint64_t seed, size_t n, double spread) {
  RandomSequence random(seed);
  std::vector<float> logits(n);
  for (float& v : logits) v = static_cast<float>(random.normal() * spread);
  return logits;
}

struct Entry {
  TokenId token;
  double logit;
  double p = 0;
};

// Softmax, most likely first.
inline void normalize(std::vector<Entry>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](auto& a, auto& b) { return a.logit != b.logit ? a.logit > b.logit : a.token < b.token; });
  double sum = 0;
  for (auto& e : entries) sum += e.p = std::exp(e.logit - entries[0].logit);
  for (auto& e : entries) e.p /= sum;
}

// Keeps the first entries until their probabilities reach `mass`. `margin` shrinks to the distance at which rounding
// decides.
inline void keep_mass(std::vector<Entry>& entries, double mass, double& margin) {
  double sum = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    sum += entries[i].p;
    margin = std::min(margin, std::abs(sum - mass));
    if (sum >= mass) {
      entries.resize(i + 1);
      return;
    }
  }
}

inline void keep_typical(std::vector<Entry>& entries, double mass, double& margin) {
  double entropy = 0;
  for (auto& e : entries) entropy -= e.p > 0 ? e.p * std::log(e.p) : 0;
  std::sort(entries.begin(), entries.end(),
            [&](auto& a, auto& b) { return std::abs(std::log(a.p) + entropy) < std::abs(std::log(b.p) + entropy); });
  keep_mass(entries, mass, margin);
}

inline void cut(std::vector<Entry>& entries, const SamplingParams& p, double& margin) {
  auto scale = [&] {
    for (auto& e : entries) e.logit /= p.temperature;
  };
  auto typical = [&] {
    normalize(entries);
    if (p.typical_p < 1) keep_typical(entries, p.typical_p, margin);
  };
  if (p.order == SamplerOrder::kOpenAi) scale();
  normalize(entries);
  if (p.top_k > 0) entries.resize(std::min(entries.size(), static_cast<size_t>(p.top_k)));
  if (p.order == SamplerOrder::kLlamaCpp) typical();
  normalize(entries);
  if (p.top_p < 1) keep_mass(entries, p.top_p, margin);
  normalize(entries);
  std::erase_if(entries, [&, top = entries[0].p](auto& e) { return e.p < p.min_p * top; });
  if (p.order == SamplerOrder::kOpenAi) typical();
  if (p.order == SamplerOrder::kLlamaCpp) scale();
  normalize(entries);
}

inline std::map<TokenId, double> reference_distribution(const std::vector<float>& logits, const SamplingParams& params,
                                                        double& margin) {
  std::vector<Entry> entries;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isfinite(logits[i])) entries.push_back({static_cast<TokenId>(i), logits[i]});
  }
  cut(entries, params, margin);
  std::map<TokenId, double> result;
  for (auto& e : entries) result[e.token] = e.p;
  return result;
}

inline std::map<TokenId, double> last_distribution(Sampler& sampler) {
  std::map<TokenId, double> result;
  for (auto [token, p] : sampler.last_distribution(std::numeric_limits<size_t>::max())) result[token] = p;
  return result;
}

// After one sample() of a new sampler.
inline std::map<TokenId, double> distribution(const std::vector<float>& logits, const SamplingParams& params) {
  auto sampler = Sampler::make(params, static_cast<int32_t>(logits.size()), {});
  auto token = sampler->sample(logits, {}, 0);
  return token.ok() ? last_distribution(*sampler) : std::map<TokenId, double>{};
}

}  // namespace inferens::sampler_test
