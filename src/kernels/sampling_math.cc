// The passes over Highway vectors. This file is compiled once per instruction set by foreach_target.h, and the best one
// for the CPU is chosen at the first call.
#include "kernels/sampling_math.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sampling_math.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace inferens::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kLanes = kSamplingLanes;  // a narrower vector walks the same lanes in several steps
constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();
constexpr float kLeastExponent = -126;  // 2^-126 is the least normal float
using Lanes = hn::CappedTag<float, kLanes>;

// The tile at `begin`; a partial last one is copied and filled up with -infinity, which no pass counts.
const float* whole_tile(std::span<const float> values, size_t begin, float* padded) {
  size_t n = values.size() - begin;
  if (n >= kSamplingTile) return values.data() + begin;
  std::copy_n(values.data() + begin, n, padded);
  std::fill(padded + n, padded + kSamplingTile, kNegativeInfinity);
  return padded;
}

// 2^z for -126 ≤ z ≤ 0: z = k + f with |f| ≤ 1/2, a polynomial for 2^f, and k into the exponent. The polynomial is the
// best of degree 5 with a constant of 1 (greatest relative error 9e-8, about that of one rounding).
template <class D, class V>
HWY_INLINE V exp2_f32(D d, V z) {
  const hn::RebindToSigned<D> di;
  // Adding and taking away 1.5 * 2^23 rounds to the nearest whole number, which then stands in the low mantissa bits.
  const V magic = hn::Set(d, 12582912.0f);
  const V shifted = hn::Add(z, magic);
  const V f = hn::Sub(z, hn::Sub(shifted, magic));
  V p = hn::Add(hn::Mul(f, hn::Set(d, 1.32647145e-3f)), hn::Set(d, 9.67151299e-3f));
  p = hn::Add(hn::Mul(p, f), hn::Set(d, 5.55073395e-2f));
  p = hn::Add(hn::Mul(p, f), hn::Set(d, 2.40222424e-1f));
  p = hn::Add(hn::Mul(p, f), hn::Set(d, 6.93147004e-1f));
  p = hn::Add(hn::Mul(p, f), hn::Set(d, 1.0f));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
}

// e^y for y ≤ 0 in double: y = k ln 2 + r with |r| ≤ ln 2 / 2 and the Taylor polynomial of e^r to r^13, whose first
// dropped term is below 5e-18. Zero under e^-700.
template <class D, class V>
HWY_INLINE V exp_f64(D d, V y) {
  const hn::RebindToSigned<D> di;
  const auto tiny = hn::Lt(y, hn::Set(d, -700.0));
  const V bounded = hn::Max(y, hn::Set(d, -700.0));
  const V magic = hn::Set(d, 6755399441055744.0);  // 1.5 * 2^52, as above
  const V shifted = hn::Add(hn::Mul(bounded, hn::Set(d, 1.4426950408889634)), magic);
  const V k = hn::Sub(shifted, magic);
  // ln 2 in two parts, the first with so few bits that its product with k is exact (Cody and Waite).
  V r = hn::Sub(bounded, hn::Mul(k, hn::Set(d, 6.93145751953125e-1)));
  r = hn::Sub(r, hn::Mul(k, hn::Set(d, 1.42860682030941723212e-6)));
  V p = hn::Set(d, 1.0 / 6227020800);
#pragma GCC unroll 16
  for (double c : {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
                   1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0}) {
    p = hn::Add(hn::Mul(p, r), hn::Set(d, c));
  }
  const V result = hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<52>(hn::BitCast(di, shifted))));
  return hn::IfThenZeroElse(tiny, result);
}

// Sixteen lanes to one in a fixed tree.
double sum_lanes(double* lanes) {
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

LogitPeak find_peak(std::span<const float> values, std::span<float> tile_max) {
  const Lanes d;
  const size_t step = hn::Lanes(d);
  HWY_ALIGN float padded[kSamplingTile];
  HWY_ALIGN float lanes[kLanes];
  LogitPeak peak{.max = kNegativeInfinity};
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
    peak.has_nan = peak.has_nan || !hn::AllFalse(d, hn::MaskFromVec(unordered));
    tile_max[t] = *std::max_element(lanes, lanes + kLanes);
    peak.max = std::max(peak.max, tile_max[t]);
  }
  return peak;
}

// Σ 2^z, or Σ z 2^z, over z = (value - max) * scale2. A lane sums sixteen values of a tile in float, and tiles in
// double.
template <bool kWeighted>
double sum_tiles(std::span<const float> values, std::span<const float> tile_max, float max, float scale2,
                 float* lane_sums) {
  const Lanes d;
  const hn::CappedTag<double, kLanes / 2> dd;
  const hn::Rebind<float, decltype(dd)> df;
  const size_t step = hn::Lanes(d);
  const size_t half_step = hn::Lanes(dd);
  HWY_ALIGN float padded[kSamplingTile];
  HWY_ALIGN float sums[kLanes];
  HWY_ALIGN double total[kLanes] = {};
  const auto max_v = hn::Set(d, max);
  const auto scale_v = hn::Set(d, scale2);
  const auto least = hn::Set(d, kLeastExponent);
  for (size_t t = 0; t < tile_max.size(); ++t) {
    if ((tile_max[t] - max) * scale2 < kLeastExponent) {
      if (!kWeighted) std::fill_n(lane_sums + t * kLanes, kLanes, 0.0f);
      continue;
    }
    const float* tile = whole_tile(values, t * kSamplingTile, padded);
    for (size_t lane = 0; lane < kLanes; lane += step) {
      auto sum = hn::Zero(d);
      for (size_t row = 0; row < kSamplingTile; row += kLanes) {
        const auto z = hn::Max(hn::Mul(hn::Sub(hn::LoadU(d, tile + row + lane), max_v), scale_v), least);
        const auto e = exp2_f32(d, z);
        sum = hn::Add(sum, kWeighted ? hn::Mul(e, z) : e);
      }
      hn::Store(sum, d, sums + lane);
      if (!kWeighted) hn::StoreU(sum, d, lane_sums + t * kLanes + lane);
    }
    for (size_t lane = 0; lane < kLanes; lane += half_step) {
      const auto sum = hn::Add(hn::Load(dd, total + lane), hn::PromoteTo(dd, hn::LoadU(df, sums + lane)));
      hn::Store(sum, dd, total + lane);
    }
  }
  return sum_lanes(total);
}

// The scale for powers of two. Far below any use it stops shrinking: zero times -infinity is not a number.
float base2_scale(double scale) {
  return std::max(static_cast<float>(scale * std::numbers::log2e), 1e-30f);
}

double sum_exponentials(std::span<const float> values, std::span<const float> tile_max, float max, double scale,
                        std::span<float> lane_sums) {
  return sum_tiles<false>(values, tile_max, max, base2_scale(scale), lane_sums.data());
}

double sum_weighted_exponents(std::span<const float> values, std::span<const float> tile_max, float max, double scale) {
  return sum_tiles<true>(values, tile_max, max, base2_scale(scale), nullptr) * std::numbers::ln2;
}

// One bit for each of 64 values: lo ≤ value < hi.
uint64_t bits_between(const float* values, float lo, float hi) {
  const Lanes d;
  const size_t step = hn::Lanes(d);
  uint64_t bits = 0;
  for (size_t i = 0; i < 64; i += step) {
    const auto v = hn::LoadU(d, values + i);
    uint8_t bytes[8] = {};  // StoreMaskBits wants 8 whatever the width
    hn::StoreMaskBits(d, hn::And(hn::Ge(v, hn::Set(d, lo)), hn::Lt(v, hn::Set(d, hi))), bytes);
    bits |= (bytes[0] | uint64_t{bytes[1]} << 8) << i;
  }
  return bits;
}

size_t select_between(std::span<const float> values, std::span<const float> tile_max, float lo, float hi,
                      int32_t* out) {
  HWY_ALIGN float padded[kSamplingTile];
  size_t count = 0;
  for (size_t t = 0; t < tile_max.size(); ++t) {
    if (tile_max[t] < lo) continue;
    const size_t begin = t * kSamplingTile;
    const float* tile = whole_tile(values, begin, padded);
    for (size_t i = 0; i < kSamplingTile; i += 64) {
      for (uint64_t bits = bits_between(tile + i, lo, hi); bits != 0; bits &= bits - 1) {
        out[count++] = static_cast<int32_t>(begin + i) + std::countr_zero(bits);
      }
    }
  }
  return count;
}

void exponentials(std::span<const float> values, double max, double scale, std::span<double> out) {
  const hn::CappedTag<double, kLanes / 2> d;
  const hn::Rebind<float, decltype(d)> df;
  const size_t step = hn::Lanes(d);
  const auto max_v = hn::Set(d, max);
  const auto scale_v = hn::Set(d, scale);
  auto one_vector = [&](const float* from, double* to) {
    const auto v = hn::PromoteTo(d, hn::LoadU(df, from));
    hn::StoreU(exp_f64(d, hn::Mul(hn::Sub(v, max_v), scale_v)), d, to);
  };
  size_t i = 0;
  for (; i + step <= values.size(); i += step) one_vector(values.data() + i, out.data() + i);
  if (i == values.size()) return;
  float rest[kLanes] = {};
  double result[kLanes];
  std::copy(values.begin() + static_cast<std::ptrdiff_t>(i), values.end(), rest);
  one_vector(rest, result);
  std::copy_n(result, values.size() - i, out.data() + i);
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
HWY_EXPORT(sum_weighted_exponents);
HWY_EXPORT(select_between);
HWY_EXPORT(exponentials);
HWY_EXPORT(keep_allowed);

LogitPeak find_peak(std::span<const float> values, std::span<float> tile_max) {
  return HWY_DYNAMIC_DISPATCH(find_peak)(values, tile_max);
}

double sum_exponentials(std::span<const float> values, std::span<const float> tile_max, float max, double scale,
                        std::span<float> lane_sums) {
  return HWY_DYNAMIC_DISPATCH(sum_exponentials)(values, tile_max, max, scale, lane_sums);
}

double sum_weighted_exponents(std::span<const float> values, std::span<const float> tile_max, float max, double scale) {
  return HWY_DYNAMIC_DISPATCH(sum_weighted_exponents)(values, tile_max, max, scale);
}

size_t select_between(std::span<const float> values, std::span<const float> tile_max, float lo, float hi,
                      int32_t* out) {
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
