// The passes over Highway vectors. This file is compiled once per instruction set by foreach_target.h, and the best one for
// the CPU is chosen at the first call.
#include "kernels/sampling_math.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sampling_math.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace inferens::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kLanes = 16;  // logical lanes: a narrower vector walks the same lanes in several steps
constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();
using Lanes = hn::CappedTag<float, kLanes>;

// The tile at `begin`; a partial last one is copied and filled up with -infinity, which no pass counts.
const float* whole_tile(std::span<const float> values, size_t begin, float* padded) {
  size_t n = values.size() - begin;
  if (n >= kSamplingTile) return values.data() + begin;
  std::copy_n(values.data() + begin, n, padded);
  std::fill(padded + n, padded + kSamplingTile, kNegativeInfinity);
  return padded;
}

// e^y for y ≤ 0: y = k ln 2 + r with |r| ≤ ln 2 / 2, a Taylor polynomial for e^r (its first dropped term is below 6e-9),
// and k into the exponent. Zero under e^-87, where the result would be denormal.
template <class D, class V>
HWY_INLINE V exp_f32(D d, V y) {
  const hn::RebindToSigned<D> di;
  const auto tiny = hn::Lt(y, hn::Set(d, -87.0f));
  const V bounded = hn::Max(y, hn::Set(d, -87.0f));
  // Adding and taking away 1.5 * 2^23 rounds to the nearest whole number, which then stands in the low mantissa bits.
  const V magic = hn::Set(d, 12582912.0f);
  const V shifted = hn::Add(hn::Mul(bounded, hn::Set(d, 1.44269504f)), magic);
  const V k = hn::Sub(shifted, magic);
  // ln 2 in two parts, the first with so few bits that its product with k is exact (Cody and Waite).
  V r = hn::Sub(bounded, hn::Mul(k, hn::Set(d, 0.693359375f)));
  r = hn::Sub(r, hn::Mul(k, hn::Set(d, -2.12194440e-4f)));
  V p = hn::Set(d, 1.0f / 5040);
  for (float c : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) p = hn::Add(hn::Mul(p, r), hn::Set(d, c));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  const V result = hn::BitCast(d, hn::Add(hn::BitCast(di, p), exponent));
  return hn::IfThenZeroElse(tiny, result);
}

// The same in double, to the term r^13.
template <class D, class V>
HWY_INLINE V exp_f64(D d, V y) {
  const hn::RebindToSigned<D> di;
  const auto tiny = hn::Lt(y, hn::Set(d, -700.0));
  const V bounded = hn::Max(y, hn::Set(d, -700.0));
  const V magic = hn::Set(d, 6755399441055744.0);  // 1.5 * 2^52
  const V shifted = hn::Add(hn::Mul(bounded, hn::Set(d, 1.4426950408889634)), magic);
  const V k = hn::Sub(shifted, magic);
  V r = hn::Sub(bounded, hn::Mul(k, hn::Set(d, 6.93145751953125e-1)));
  r = hn::Sub(r, hn::Mul(k, hn::Set(d, 1.42860682030941723212e-6)));
  V p = hn::Set(d, 1.0 / 6227020800.0);
  for (double c : {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
                   1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0}) {
    p = hn::Add(hn::Mul(p, r), hn::Set(d, c));
  }
  const auto exponent = hn::ShiftLeft<52>(hn::BitCast(di, shifted));
  const V result = hn::BitCast(d, hn::Add(hn::BitCast(di, p), exponent));
  return hn::IfThenZeroElse(tiny, result);
}

// Sixteen lanes to one in a fixed tree.
double sum_lanes(const float* lanes) {
  double s[kLanes];
  for (size_t i = 0; i < kLanes; ++i) s[i] = lanes[i];
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t i = 0; i < width; ++i) s[i] += s[i + width];
  }
  return s[0];
}

LogitPeak find_peak(std::span<const float> values, std::span<float> tile_max) {
  const Lanes d;
  const size_t step = hn::Lanes(d);
  HWY_ALIGN float padded[kSamplingTile];
  HWY_ALIGN float lanes[kLanes];
  LogitPeak peak{.max = kNegativeInfinity};
  size_t peak_tile = 0;
  bool nan = false;
  for (size_t t = 0; t < sampling_tiles(values.size()); ++t) {
    const float* tile = whole_tile(values, t * kSamplingTile, padded);
    auto unordered = hn::Zero(d);
    for (size_t lane = 0; lane < kLanes; lane += step) {
      auto best = hn::Set(d, kNegativeInfinity);
      for (size_t row = 0; row < kSamplingTile; row += kLanes) {
        const auto v = hn::LoadU(d, tile + row + lane);
        unordered = hn::Or(unordered, hn::VecFromMask(d, hn::IsNaN(v)));
        best = hn::Max(best, v);
      }
      hn::Store(best, d, lanes + lane);
    }
    nan = nan || !hn::AllFalse(d, hn::MaskFromVec(unordered));
    tile_max[t] = *std::max_element(lanes, lanes + kLanes);
    if (tile_max[t] > peak.max) {
      peak.max = tile_max[t];
      peak_tile = t;
    }
  }
  if (nan) return {.has_nan = true};
  auto first = values.begin() + static_cast<std::ptrdiff_t>(peak_tile * kSamplingTile);
  peak.index = static_cast<size_t>(std::find(first, values.end(), peak.max) - values.begin());
  return peak;
}

ExpSums sum_exponentials(std::span<const float> values, std::span<const float> tile_max, float max, float scale,
                         std::span<double> tile_sum) {
  const Lanes d;
  const size_t step = hn::Lanes(d);
  HWY_ALIGN float padded[kSamplingTile];
  HWY_ALIGN float sums[kLanes];
  HWY_ALIGN float weighted[kLanes];
  const auto max_v = hn::Set(d, max);
  const auto scale_v = hn::Set(d, scale);
  const auto lowest = hn::Set(d, -88.0f);  // keeps y e^y from being infinity times zero
  ExpSums total;
  for (size_t t = 0; t < tile_sum.size(); ++t) {
    tile_sum[t] = 0;
    // Nothing in the tile would count. A scale of zero makes -infinity not a number, so it is asked about as well.
    if (tile_max[t] == kNegativeInfinity || (tile_max[t] - max) * scale < -87.0f) continue;
    const float* tile = whole_tile(values, t * kSamplingTile, padded);
    for (size_t lane = 0; lane < kLanes; lane += step) {
      auto sum = hn::Zero(d);
      auto weighted_sum = hn::Zero(d);
      for (size_t row = 0; row < kSamplingTile; row += kLanes) {
        const auto v = hn::LoadU(d, tile + row + lane);
        const auto y = hn::Max(hn::Mul(hn::Sub(v, max_v), scale_v), lowest);
        const auto e = hn::IfThenZeroElse(hn::Eq(v, hn::Set(d, kNegativeInfinity)), exp_f32(d, y));
        sum = hn::Add(sum, e);
        weighted_sum = hn::Add(weighted_sum, hn::Mul(e, y));
      }
      hn::Store(sum, d, sums + lane);
      hn::Store(weighted_sum, d, weighted + lane);
    }
    tile_sum[t] = sum_lanes(sums);
    total.sum += tile_sum[t];
    total.weighted_sum += sum_lanes(weighted);
  }
  return total;
}

size_t select_between(std::span<const float> values, std::span<const float> tile_max, float lo, float hi, int32_t* out) {
  const Lanes d;
  const hn::RebindToSigned<Lanes> di;
  const size_t step = hn::Lanes(d);
  HWY_ALIGN float padded[kSamplingTile];
  const auto lo_v = hn::Set(d, lo);
  const auto hi_v = hn::Set(d, hi);
  size_t count = 0;
  for (size_t t = 0; t < tile_max.size(); ++t) {
    if (tile_max[t] < lo) continue;
    const size_t begin = t * kSamplingTile;
    const float* tile = whole_tile(values, begin, padded);
    for (size_t i = 0; i < kSamplingTile; i += step) {
      const auto v = hn::LoadU(d, tile + i);
      const auto inside = hn::And(hn::Ge(v, lo_v), hn::Lt(v, hi_v));
      if (hn::AllFalse(d, inside)) continue;
      const auto index = hn::Iota(di, static_cast<int32_t>(begin + i));
      count += hn::CompressStore(index, hn::RebindMask(di, inside), di, out + count);
    }
  }
  return count;
}

void exponentials(std::span<const float> values, double max, double scale, std::span<double> out) {
  const hn::CappedTag<double, kLanes> d;
  const size_t step = hn::Lanes(d);
  HWY_ALIGN double buffer[kLanes];
  for (size_t i = 0; i < values.size(); i += step) {
    const size_t n = std::min(step, values.size() - i);
    for (size_t j = 0; j < n; ++j) buffer[j] = (static_cast<double>(values[i + j]) - max) * scale;
    for (size_t j = n; j < step; ++j) buffer[j] = 0;
    hn::Store(exp_f64(d, hn::Load(d, buffer)), d, buffer);
    std::copy_n(buffer, n, out.data() + i);
  }
}

void keep_allowed(std::span<const float> values, std::span<const uint32_t> allowed, std::span<float> out) {
  const Lanes d;
  const hn::RebindToSigned<Lanes> di;
  const size_t step = hn::Lanes(d);
  const auto banned = hn::Set(d, kNegativeInfinity);
  const size_t whole_words = values.size() / 32;
  HWY_ALIGN int32_t lane_bit[32];
  for (size_t i = 0; i < 32; ++i) lane_bit[i] = static_cast<int32_t>(uint32_t{1} << i);
  for (size_t w = 0; w < whole_words; ++w) {
    const auto word = hn::Set(di, static_cast<int32_t>(allowed[w]));
    for (size_t i = 0; i < 32; i += step) {
      const auto bits = hn::Load(di, lane_bit + i);
      const auto keep = hn::RebindMask(d, hn::Eq(hn::And(word, bits), bits));
      hn::StoreU(hn::IfThenElse(keep, hn::LoadU(d, values.data() + w * 32 + i), banned), d, out.data() + w * 32 + i);
    }
  }
  for (size_t i = whole_words * 32; i < values.size(); ++i) {
    out[i] = (allowed[i / 32] >> (i % 32)) & 1 ? values[i] : kNegativeInfinity;
  }
}

}  // namespace
}  // namespace inferens::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace inferens {

HWY_EXPORT(find_peak);
HWY_EXPORT(sum_exponentials);
HWY_EXPORT(select_between);
HWY_EXPORT(exponentials);
HWY_EXPORT(keep_allowed);

LogitPeak find_peak(std::span<const float> values, std::span<float> tile_max) {
  return HWY_DYNAMIC_DISPATCH(find_peak)(values, tile_max);
}

ExpSums sum_exponentials(std::span<const float> values, std::span<const float> tile_max, float max, float scale,
                         std::span<double> tile_sum) {
  return HWY_DYNAMIC_DISPATCH(sum_exponentials)(values, tile_max, max, scale, tile_sum);
}

size_t select_between(std::span<const float> values, std::span<const float> tile_max, float lo, float hi, int32_t* out) {
  return HWY_DYNAMIC_DISPATCH(select_between)(values, tile_max, lo, hi, out);
}

void exponentials(std::span<const float> values, double max, double scale, std::span<double> out) {
  HWY_DYNAMIC_DISPATCH(exponentials)(values, max, scale, out);
}

void keep_allowed(std::span<const float> values, std::span<const uint32_t> allowed, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(keep_allowed)(values, allowed, out);
}

}  // namespace inferens
#endif  // HWY_ONCE
