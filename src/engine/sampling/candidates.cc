#include "engine/sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>

namespace inferens {
namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// How far below the peak (in nats) to look for the most likely tokens, one band after the other until there are enough.
// A confident row ends in the first band; bands are narrow where a flat row of a large vocabulary has most of its
// tokens.
constexpr double kBands[] = {3, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 28, 44, 80, kInfinity};
// The same for tokens around the entropy, on both sides.
constexpr double kTypicalBands[] = {0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 20, 40, 80, kInfinity};

// The least float that is not below `value`, so that a comparison of floats decides as one in double would.
float float_at_least(double value) {
  if (value <= kLowest) return kLowest;
  if (value > std::numeric_limits<float>::max()) return kInfinity;
  auto f = static_cast<float>(value);
  return f < value ? std::nextafter(f, kInfinity) : f;
}

// The index at which the running sum of weights passes `share` of their total. Never one without weight.
size_t pick(std::span<const double> weights, double share) {
  const double target = share * std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  size_t chosen = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    chosen = i;
    sum += weights[i];
    if (sum > target) break;
  }
  return chosen;
}

}  // namespace

Candidates::Candidates(size_t vocab_size)
    : lane_sums_(sampling_tiles(vocab_size) * kSamplingLanes), picked_(vocab_size) {}

void Candidates::start(std::span<const float> values, std::span<const float> tile_max, float max) {
  values_ = values;
  tile_max_ = tile_max;
  max_ = max;
  scale_ = 1;
  whole_ = true;
  whole_weight_ = 0;
  list_.clear();
}

void Candidates::set_scale(double scale) {
  if (scale == scale_) return;
  scale_ = scale;
  whole_weight_ = 0;
  if (!whole_) weigh(0);
}

// Weights of the list from `first` on.
void Candidates::weigh(size_t first) {
  const size_t n = list_.size() - first;
  picked_value_.resize(n);
  weights_.resize(n);
  for (size_t i = 0; i < n; ++i) picked_value_[i] = list_[first + i].value;
  exponentials(picked_value_, max_, scale_, weights_);
  for (size_t i = 0; i < n; ++i) list_[first + i].weight = weights_[i];
}

// Weights of the list against its own peak, after the peak may have gone.
void Candidates::rebase() {
  max_ = std::max_element(list_.begin(), list_.end(), [](auto& a, auto& b) { return a.value < b.value; })->value;
  weigh(0);
}

double Candidates::weight_from(size_t first) const {
  return std::accumulate(list_.begin() + static_cast<std::ptrdiff_t>(first), list_.end(), 0.0,
                         [](double sum, const Candidate& c) { return sum + c.weight; });
}

double Candidates::total_weight() {
  if (!whole_) return weight_from(0);
  if (whole_weight_ == 0) whole_weight_ = sum_exponentials(values_, tile_max_, max_, scale_, lane_sums_);
  return whole_weight_;
}

double Candidates::log_total() {
  return std::log(total_weight());
}

double Candidates::exponent(float value) const {
  return (static_cast<double>(value) - max_) * scale_;
}

// Adds the tokens with lo ≤ value < hi to the list. Returns where they begin.
size_t Candidates::append_between(float lo, float hi) {
  const size_t first = list_.size();
  const size_t n = select_between(values_, tile_max_, lo, hi, picked_.data());
  for (size_t i = 0; i < n; ++i) list_.push_back({picked_[i], values_[static_cast<size_t>(picked_[i])], 0});
  weigh(first);
  return first;
}

// A cut by value alone. The most likely token always stays.
void Candidates::keep_at_least(double value) {
  if (whole_) {
    whole_ = false;
    append_between(std::min(float_at_least(value), max_), kInfinity);
  } else {
    std::erase_if(list_, [&](const Candidate& c) { return c.value < value && c.value < max_; });
  }
}

// Of the list from `first` on, keeps the fewest candidates of least distance whose weights, with those of the
// candidates before `first`, reach `mass`; leaves the order alone. Halving by nth_element finds the last one to keep in
// linear time.
template <class Distance>
void Candidates::keep_nearest(size_t first, double mass, Distance distance) {
  auto nearer = [&](const Candidate& a, const Candidate& b) {
    const auto da = distance(a), db = distance(b);
    return da != db ? da < db : a.token < b.token;
  };
  const auto undecided = list_.begin() + static_cast<std::ptrdiff_t>(first);
  ranked_.assign(undecided, list_.end());
  double missing = mass;
  for (auto c = list_.begin(); c != undecided; ++c) missing -= c->weight;
  auto lo = ranked_.begin(), hi = ranked_.end();
  while (hi - lo > 1) {
    const auto middle = lo + (hi - lo) / 2;
    std::nth_element(lo, middle, hi, nearer);
    double half = 0;
    for (auto c = lo; c != middle; ++c) half += c->weight;
    if (half >= missing) {
      hi = middle;
    } else {
      missing -= half;
      lo = middle;
    }
  }
  const Candidate cutoff = *lo;
  list_.erase(std::remove_if(undecided, list_.end(), [&](const Candidate& c) { return nearer(cutoff, c); }),
              list_.end());
}

void Candidates::keep_top_k(size_t k) {
  if (k >= (whole_ ? values_.size() : list_.size())) return;
  if (whole_) {
    whole_ = false;
    float threshold = kLowest;
    if (k <= tile_max_.size()) {
      // The k-th largest of the tiles' maxima is a value that at least k tokens reach.
      peaks_.assign(tile_max_.begin(), tile_max_.end());
      std::nth_element(peaks_.begin(), peaks_.begin() + static_cast<std::ptrdiff_t>(k - 1), peaks_.end(),
                       std::greater<>());
      threshold = std::max(threshold, peaks_[k - 1]);
    }
    append_between(threshold, kInfinity);
    if (k >= list_.size()) return;
  }
  auto better = [](const Candidate& a, const Candidate& b) {
    return a.value != b.value ? a.value > b.value : a.token < b.token;
  };
  ranked_ = list_;
  const auto kth = ranked_.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(ranked_.begin(), kth, ranked_.end(), better);
  std::erase_if(list_, [&](const Candidate& c) { return better(*kth, c); });
}

// Lists tokens from the peak downwards until their weights reach `mass`. Returns where the last band begins: the tokens
// before it do not reach `mass` alone.
size_t Candidates::collect_most_likely(double mass) {
  whole_ = false;
  float hi = kInfinity;
  double collected = 0;
  for (double depth : kBands) {
    const float lo = std::min(float_at_least(max_ - depth / scale_), max_);
    const size_t band = append_between(lo, hi);
    collected += weight_from(band);
    if (collected >= mass) return band;
    hi = lo;
  }
  return 0;  // all there is, and rounding left it below `mass`
}

void Candidates::keep_top_p(double p) {
  const double mass = p * total_weight();
  const size_t undecided = whole_ ? collect_most_likely(mass) : 0;
  keep_nearest(undecided, mass, [](const Candidate& c) { return -c.value; });
}

void Candidates::keep_min_p(double min_p) {
  keep_at_least(max_ + std::log(min_p) / scale_);
}

// Lists tokens whose exponent is near `centre`, ever further away on both sides until their weights reach `mass`.
// Returns where the last band begins, as above.
size_t Candidates::collect_around(double centre, double mass) {
  whole_ = false;
  float inner_lo = float_at_least(max_ + centre / scale_);
  float inner_hi = inner_lo;
  double collected = 0;
  for (double reach : kTypicalBands) {
    const float lo = float_at_least(max_ + (centre - reach) / scale_);
    const float hi = float_at_least(max_ + (centre + reach) / scale_);
    const size_t band = append_between(lo, inner_lo);
    append_between(inner_hi, hi);
    collected += weight_from(band);
    if (collected >= mass) return band;
    inner_lo = lo;
    inner_hi = hi;
  }
  return 0;
}

void Candidates::keep_typical(double p) {
  const double total = total_weight();
  double weighted = 0;
  if (whole_) {
    weighted = sum_weighted_exponents(values_, tile_max_, max_, scale_);
  } else {
    for (const Candidate& c : list_) weighted += c.weight * exponent(c.value);
  }
  // -log p = log total - y and the entropy is log total - mean y, so the distance between them is |y - mean y|.
  const double mean = weighted / total;
  const double mass = p * total;
  const size_t undecided = whole_ ? collect_around(mean, mass) : 0;
  keep_nearest(undecided, mass, [&](const Candidate& c) { return std::abs(exponent(c.value) - mean); });
  rebase();  // the most likely token may be among those that went
}

void Candidates::keep_surprise(double bits) {
  keep_at_least(max_ + (log_total() - bits * std::numbers::ln2) / scale_);
}

void Candidates::exclude_top_choices(double threshold) {
  const double least = max_ + (log_total() + std::log(threshold)) / scale_;
  if (whole_) keep_at_least(kLowest);
  auto reaches = [&](const Candidate& c) { return c.value >= least; };
  // Of equals the lower token counts as the more likely, so the last of the lowest value stays.
  const Candidate* stays = nullptr;
  for (const Candidate& c : list_) {
    if (reaches(c) && (!stays || c.value < stays->value || (c.value == stays->value && c.token > stays->token)))
      stays = &c;
  }
  if (!stays) return;
  const Candidate kept = *stays;
  std::erase_if(list_, [&](const Candidate& c) { return reaches(c) && c.token != kept.token; });
  rebase();
}

TokenId Candidates::draw(double uniform) {
  if (whole_) return draw_whole(uniform);
  weights_.clear();
  for (const Candidate& c : list_) weights_.push_back(c.weight);
  return list_[pick(weights_, uniform)].token;
}

TokenId Candidates::draw_whole(double uniform) {
  // First the tile, by the sums there are already; the last tile with weight takes what rounding leaves over.
  double target = uniform * total_weight();
  weights_.assign(tile_max_.size(), 0);
  for (size_t i = 0; i < lane_sums_.size(); ++i) weights_[i / kSamplingLanes] += lane_sums_[i];
  size_t tile = 0;
  for (size_t t = 0; t < weights_.size(); ++t) {
    if (weights_[t] <= 0) continue;
    tile = t;
    if (target < weights_[t]) break;
    target -= weights_[t];
  }
  // Then the token, by the rest of the draw as a share of the tile, whose weights are now computed in double.
  const double share = std::min(target / weights_[tile], 1.0);
  const size_t begin = tile * kSamplingTile;
  const auto row = values_.subspan(begin, std::min(kSamplingTile, values_.size() - begin));
  weights_.resize(row.size());
  exponentials(row, max_, scale_, weights_);
  return static_cast<TokenId>(begin + pick(weights_, share));
}

double Candidates::surprise(TokenId token) {
  float value = 0;
  if (whole_) {
    value = values_[static_cast<size_t>(token)];
  } else {
    value = std::find_if(list_.begin(), list_.end(), [&](const Candidate& c) { return c.token == token; })->value;
  }
  return (log_total() - exponent(value)) / std::numbers::ln2;
}

std::vector<TokenProbability> Candidates::most_likely(size_t limit) {
  if (whole_) keep_at_least(kLowest);
  const double total = total_weight();
  std::vector<TokenProbability> result;
  for (const Candidate& c : list_) result.push_back({c.token, c.weight / total});
  const size_t n = std::min(limit, result.size());
  std::partial_sort(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(n), result.end(),
                    [](auto& a, auto& b) {
                      return a.probability != b.probability ? a.probability > b.probability : a.token < b.token;
                    });
  result.resize(n);
  return result;
}

}  // namespace inferens
