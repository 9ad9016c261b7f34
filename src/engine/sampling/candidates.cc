#include "engine/sampling/candidates.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>

namespace inferens {
namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// How far below the peak (in nats) to look for the most likely tokens, one band after the other until there are enough.
// A confident row ends in the first band; bands are narrow where a flat row of a large vocabulary has most of its tokens.
constexpr double kBands[] = {3, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 28, 44, 80};
// The same for tokens around the entropy, on both sides.
constexpr double kTypicalBands[] = {0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 20, 40, 80};

// The least float that is not below `value`, so that a comparison of floats decides as one in double would.
float float_at_least(double value) {
  if (value <= kLowest) return kLowest;
  if (value > std::numeric_limits<float>::max()) return kInfinity;
  auto f = static_cast<float>(value);
  return f < value ? std::nextafter(f, kInfinity) : f;
}

}  // namespace

Candidates::Candidates(size_t vocab_size) : tile_sum_(sampling_tiles(vocab_size)), picked_(vocab_size + kSelectSlack) {}

void Candidates::start(std::span<const float> values, std::span<const float> tile_max, float max) {
  values_ = values;
  tile_max_ = tile_max;
  max_ = max;
  scale_ = 1;
  whole_ = true;
  sums_known_ = false;
  list_.clear();
}

void Candidates::set_scale(double scale) {
  if (scale == scale_) return;
  scale_ = scale;
  sums_known_ = false;
  if (!whole_) weigh_list();
}

const ExpSums& Candidates::whole_sums() {
  if (!sums_known_) sums_ = sum_exponentials(values_, tile_max_, max_, static_cast<float>(scale_), tile_sum_);
  sums_known_ = true;
  return sums_;
}

double Candidates::list_weight() const {
  double sum = 0;
  for (const Candidate& c : list_) sum += c.weight;
  return sum;
}

void Candidates::append_between(float lo, float hi) {
  const size_t n = select_between(values_, tile_max_, lo, hi, picked_.data());
  picked_value_.resize(n);
  weights_.resize(n);
  for (size_t i = 0; i < n; ++i) picked_value_[i] = values_[static_cast<size_t>(picked_[i])];
  exponentials(picked_value_, max_, scale_, weights_);
  for (size_t i = 0; i < n; ++i) list_.push_back({picked_[i], picked_value_[i], weights_[i]});
}

void Candidates::weigh_list() {
  max_ = std::max_element(list_.begin(), list_.end(), [](auto& a, auto& b) { return a.value < b.value; })->value;
  picked_value_.resize(list_.size());
  weights_.resize(list_.size());
  for (size_t i = 0; i < list_.size(); ++i) picked_value_[i] = list_[i].value;
  exponentials(picked_value_, max_, scale_, weights_);
  for (size_t i = 0; i < list_.size(); ++i) list_[i].weight = weights_[i];
}

double Candidates::log_total() { return std::log(whole_ ? whole_sums().sum : list_weight()); }

void Candidates::list_everything() {
  if (whole_) append_between(kLowest, kInfinity);
  whole_ = false;
}

void Candidates::keep_at_least(double value) {
  if (whole_) {
    append_between(std::min(float_at_least(value), max_), kInfinity);
    whole_ = false;
  } else {
    std::erase_if(list_, [&](const Candidate& c) { return c.value < value && c.value < max_; });
  }
}

// Of the list, keeps the fewest candidates of least distance whose weights reach `mass`, and leaves their order alone.
// Halving by nth_element finds the last one to keep in linear time.
template <class Distance>
void Candidates::keep_nearest(double mass, Distance distance) {
  auto nearer = [&](const Candidate& a, const Candidate& b) {
    const auto da = distance(a), db = distance(b);
    return da != db ? da < db : a.token < b.token;
  };
  ranked_ = list_;
  auto first = ranked_.begin(), last = ranked_.end();
  double before = 0;
  while (last - first > 1) {
    auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last, nearer);
    double half = 0;
    for (auto c = first; c != middle; ++c) half += c->weight;
    if (before + half >= mass) {
      last = middle;
    } else {
      before += half;
      first = middle;
    }
  }
  const Candidate cutoff = *first;
  std::erase_if(list_, [&](const Candidate& c) { return nearer(cutoff, c); });
}

void Candidates::keep_top_k(size_t k) {
  if (k >= size()) return;
  if (whole_) {
    if (k <= tile_max_.size()) {
      // The k-th largest of the tiles' maxima is a value that at least k tokens reach.
      peaks_.assign(tile_max_.begin(), tile_max_.end());
      auto kth = peaks_.begin() + static_cast<std::ptrdiff_t>(k - 1);
      std::nth_element(peaks_.begin(), kth, peaks_.end(), std::greater<>());
      append_between(std::max(*kth, kLowest), kInfinity);
    } else {
      append_between(kLowest, kInfinity);
    }
    whole_ = false;
    if (k >= list_.size()) return;
  }
  auto better = [](const Candidate& a, const Candidate& b) {
    return a.value != b.value ? a.value > b.value : a.token < b.token;
  };
  ranked_ = list_;
  auto kth = ranked_.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(ranked_.begin(), kth, ranked_.end(), better);
  const Candidate cutoff = *kth;
  std::erase_if(list_, [&](const Candidate& c) { return better(cutoff, c); });
}

// Lists tokens from the peak downwards until their weights reach `mass`.
void Candidates::collect_most_likely(double mass) {
  float hi = kInfinity;
  double collected = 0;
  for (size_t band = 0; collected < mass && hi > kLowest; ++band) {
    const double below = band < std::size(kBands) ? kBands[band] : kInfinity;
    const float lo = std::min(float_at_least(max_ - below / scale_), max_);
    const size_t from = list_.size();
    append_between(lo, hi);
    for (size_t i = from; i < list_.size(); ++i) collected += list_[i].weight;
    hi = lo;
  }
  whole_ = false;
}

void Candidates::keep_top_p(double p) {
  const double mass = p * (whole_ ? whole_sums().sum : list_weight());
  if (whole_) collect_most_likely(mass);
  keep_nearest(mass, [](const Candidate& c) { return -c.value; });
}

void Candidates::keep_min_p(double min_p) { keep_at_least(max_ + std::log(min_p) / scale_); }

// Lists tokens whose y = (value - max) * scale is near `centre`, ever further away until their weights reach `mass`.
void Candidates::collect_around(double centre, double mass) {
  float inner_lo = kInfinity, inner_hi = kInfinity;  // first band: one piece, all of it in [lo, hi)
  double collected = 0;
  for (size_t band = 0; collected < mass; ++band) {
    const double reach = band < std::size(kTypicalBands) ? kTypicalBands[band] : kInfinity;
    const float lo = float_at_least(max_ + (centre - reach) / scale_);
    const float hi = float_at_least(max_ + (centre + reach) / scale_);
    const size_t from = list_.size();
    if (band == 0) {
      append_between(lo, hi);
    } else {
      append_between(lo, inner_lo);
      append_between(inner_hi, hi);
    }
    for (size_t i = from; i < list_.size(); ++i) collected += list_[i].weight;
    inner_lo = lo;
    inner_hi = hi;
    if (reach == kInfinity) break;
  }
  whole_ = false;
}

void Candidates::keep_typical(double p) {
  double total = 0, weighted = 0;
  if (whole_) {
    total = whole_sums().sum;
    weighted = whole_sums().weighted_sum;
  } else {
    for (const Candidate& c : list_) {
      total += c.weight;
      if (c.weight > 0) weighted += c.weight * (static_cast<double>(c.value) - max_) * scale_;
    }
  }
  // -log p = log total - y and the entropy is log total - mean y, so the distance between them is |y - mean y|.
  const double mean = weighted / total;
  const double mass = p * total;
  if (whole_) collect_around(mean, mass);
  keep_nearest(mass, [&](const Candidate& c) { return std::abs((static_cast<double>(c.value) - max_) * scale_ - mean); });
}

void Candidates::keep_surprise(double bits) {
  keep_at_least(max_ + (log_total() - bits * std::log(2.0)) / scale_);
}

void Candidates::exclude_top_choices(double threshold) {
  const double least = max_ + (log_total() + std::log(threshold)) / scale_;
  list_everything();
  auto reaches = [&](const Candidate& c) { return c.value >= least; };
  // Of equals the lower token counts as the more likely, so the last of the lowest value stays.
  const Candidate* stays = nullptr;
  for (const Candidate& c : list_) {
    if (reaches(c) && (!stays || c.value < stays->value || (c.value == stays->value && c.token > stays->token))) stays = &c;
  }
  if (!stays) return;
  const Candidate kept = *stays;
  std::erase_if(list_, [&](const Candidate& c) { return reaches(c) && c.token != kept.token; });
  weigh_list();
}

TokenId Candidates::draw(double uniform) {
  if (whole_) return draw_whole(uniform);
  const double target = uniform * list_weight();
  double sum = 0;
  const Candidate* last = nullptr;
  for (const Candidate& c : list_) {
    if (c.weight <= 0) continue;
    last = &c;
    sum += c.weight;
    if (sum > target) break;
  }
  return last->token;
}

TokenId Candidates::draw_whole(double uniform) {
  double target = uniform * whole_sums().sum;
  // The last tile with weight takes what rounding leaves over.
  size_t tile = 0;
  for (size_t t = 0; t < tile_sum_.size(); ++t) {
    if (tile_sum_[t] <= 0) continue;
    tile = t;
    if (target < tile_sum_[t]) break;
    target -= tile_sum_[t];
  }
  // Inside the tile the weights are exact, so the rest of the draw is taken as a share of the tile.
  const double share = std::min(target / tile_sum_[tile], 1.0);
  const size_t begin = tile * kSamplingTile;
  const auto row = values_.subspan(begin, std::min(kSamplingTile, values_.size() - begin));
  weights_.resize(row.size());
  exponentials(row, max_, scale_, weights_);
  double total = 0;
  for (double w : weights_) total += w;
  double sum = 0;
  size_t chosen = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    if (weights_[i] <= 0) continue;
    chosen = i;
    sum += weights_[i];
    if (sum > share * total) break;
  }
  return static_cast<TokenId>(begin + chosen);
}

double Candidates::surprise(TokenId token) {
  const double log_sum = log_total();
  float value = 0;
  if (whole_) {
    value = values_[static_cast<size_t>(token)];
  } else {
    value = std::find_if(list_.begin(), list_.end(), [&](const Candidate& c) { return c.token == token; })->value;
  }
  return (log_sum - (static_cast<double>(value) - max_) * scale_) / std::log(2.0);
}

}  // namespace inferens
