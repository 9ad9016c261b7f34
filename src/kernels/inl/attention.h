// Attention over pages with a running softmax (Milakov and Gimelshein, arXiv 1805.02867; Dao et al., arXiv 2205.14135).
//
// For one row the order is fixed: splits ascending, pages ascending, in a page the dot products run over head_dim ascending
// (one fma per key and dimension) and the values over keys ascending. Other rows in the call never change a row's bits.
#pragma once

#include <cstdint>
#include <limits>

#include "formats/half.h"
#include "kernels/attention.h"
#include "kernels/inl/math.h"

namespace inferens::inl {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

template <class V, KvElement kElement>
inline typename V::F load_kv(const std::byte* base, size_t index) {
  if constexpr (kElement == KvElement::kF32) return V::load(reinterpret_cast<const float*>(base) + index);
  if constexpr (kElement == KvElement::kF16) return V::load_f16(reinterpret_cast<const uint16_t*>(base) + index);
  if constexpr (kElement == KvElement::kBf16) return V::load_bf16(reinterpret_cast<const uint16_t*>(base) + index);
  if constexpr (kElement == KvElement::kQ8_0) return V::load_i8(reinterpret_cast<const int8_t*>(base) + index);  // times its scale
}

inline uint16_t* kv_scales(std::byte* half, int head_dim) { return reinterpret_cast<uint16_t*>(half + kAttentionTile * head_dim); }
inline const uint16_t* kv_scales(const std::byte* half, int head_dim) { return reinterpret_cast<const uint16_t*>(half + kAttentionTile * head_dim); }

// Dimension d of the keys of 16 tokens from `token` on. Products with scales are exact.
template <class V, KvElement kElement>
inline typename V::F load_keys(const std::byte* k, int head_dim, int d, int token) {
  auto keys = load_kv<V, kElement>(k, static_cast<size_t>(d * kAttentionTile + token));
  if constexpr (kElement == KvElement::kQ8_0) keys = V::mul(keys, V::load_f16(kv_scales(k, head_dim) + d / kKvBlock * kAttentionTile + token));
  return keys;
}

// 16 dimensions of the value of one token from d on.
template <class V, KvElement kElement>
inline typename V::F load_value(const std::byte* v, int head_dim, int token, int d) {
  auto value = load_kv<V, kElement>(v, static_cast<size_t>(token * head_dim + d));
  if constexpr (kElement == KvElement::kQ8_0) value = V::mul(value, V::set(half_to_float(kv_scales(v, head_dim)[token * kv_blocks(head_dim) + d / kKvBlock])));
  return value;
}

// scores[r][64] = q_r · K for R rows.
template <class V, KvElement kElement, int R>
inline void score_page(const QueryRow* rows, int head_dim, const std::byte* k, float* scores) {
  typename V::F s[R][4];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < 4; ++v) s[r][v] = V::zero();
  }
  for (int d = 0; d < head_dim; ++d) {
    typename V::F key[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) key[v] = load_keys<V, kElement>(k, head_dim, d, 16 * v);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      auto q = V::set(rows[r].q[d]);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) s[r][v] = V::fma(q, key[v], s[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < 4; ++v) V::store(scores + r * kAttentionTile + 16 * v, s[r][v]);
  }
}

// values[r] += sum over keys [lo, hi) of weights[r][key] * V[key], for R rows and N vectors of dimensions.
template <class V, KvElement kElement, int R, int N>
inline void weigh_values(const float* weights, const std::byte* v, int head_dim, int d0, int lo, int hi, float* values) {
  typename V::F a[R][N];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    for (int i = 0; i < N; ++i) a[r][i] = V::load(values + r * head_dim + d0 + 16 * i);
  }
  for (int t = lo; t < hi; ++t) {
    typename V::F value[N];
#pragma GCC unroll 4
    for (int i = 0; i < N; ++i) value[i] = load_value<V, kElement>(v, head_dim, t, d0 + 16 * i);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      auto w = V::set(weights[r * kAttentionTile + t]);
#pragma GCC unroll 4
      for (int i = 0; i < N; ++i) a[r][i] = V::fma(w, value[i], a[r][i]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    for (int i = 0; i < N; ++i) V::store(values + r * head_dim + d0 + 16 * i, a[r][i]);
  }
}

// Scores to weights for one row: masks keys outside [lo, hi), moves the running maximum, rescales what was summed so far.
template <class V>
inline void soften_row(float* scores, int lo, int hi, int head_dim, float& maximum, float& sum, float* values) {
  using F = typename V::F;
  const F nothing = V::set(kMinusInfinity);
  F s[4];
  for (int v = 0; v < 4; ++v) s[v] = V::select_range(V::load(scores + 16 * v), lo - 16 * v, hi - 16 * v, nothing);
  float tile_max = V::reduce_max(V::max(V::max(s[0], s[1]), V::max(s[2], s[3])));
  float new_max = tile_max > maximum ? tile_max : maximum;
  const F shift = V::set(new_max);
  for (int v = 0; v < 4; ++v) {
    s[v] = exp<V>(V::sub(s[v], shift));
    V::store(scores + 16 * v, s[v]);
  }
  alignas(64) float factor[16];
  V::store(factor, exp<V>(V::set(maximum - new_max)));
  sum = sum * factor[0] + V::reduce_add(V::add(V::add(s[0], s[1]), V::add(s[2], s[3])));
  maximum = new_max;
  if (factor[0] != 1.0f) {
    const F f = V::set(factor[0]);
    for (int d = 0; d < head_dim; d += 16) V::store(values + d, V::mul(V::load(values + d), f));
  }
}

template <class V, KvElement kElement, int R>
inline void attend_rows(const QueryRow* rows, int head_dim, const std::byte* k, const std::byte* v, int64_t page_start, int64_t window,
                        float* weights, float* maximum, float* sum, float* values) {
  score_page<V, kElement, R>(rows, head_dim, k, weights);
  int first = kAttentionTile, last = 0;
  for (int r = 0; r < R; ++r) {
    int64_t from = window > 0 ? rows[r].position - window + 1 - page_start : 0;
    int lo = static_cast<int>(from < 0 ? 0 : from > kAttentionTile ? kAttentionTile : from);
    int64_t to = rows[r].position + 1 - page_start;
    int hi = static_cast<int>(to > kAttentionTile ? kAttentionTile : to < 0 ? 0 : to);
    float* w = weights + r * kAttentionTile;
    if (lo >= hi) {  // this row sees nothing here: weigh with zeros
      for (int t = 0; t < kAttentionTile; t += 16) V::store(w + t, V::zero());
      continue;
    }
    first = lo < first ? lo : first;
    last = hi > last ? hi : last;
    soften_row<V>(w, lo, hi, head_dim, maximum[r], sum[r], values + r * head_dim);
  }
  if (first >= last) return;
  int d = 0;
  for (; d + 64 <= head_dim; d += 64) weigh_values<V, kElement, R, 4>(weights, v, head_dim, d, first, last, values);
  for (; d < head_dim; d += 16) weigh_values<V, kElement, R, 1>(weights, v, head_dim, d, first, last, values);
}

template <class V, KvElement kElement>
void attend_page(const AttentionRows& a, const std::byte* k, const std::byte* v, int64_t page_start, float* weights, const AttentionState& s) {
  constexpr int kRows = 4;
  int r = 0;
  auto call = [&]<int R>() {
    attend_rows<V, kElement, R>(a.rows + r, a.head_dim, k, v, page_start, a.window, weights, s.maximum + r, s.sum + r, s.values + r * a.head_dim);
    r += R;
  };
  while (r + kRows <= a.count) call.template operator()<kRows>();
  if (a.count - r == 3) call.template operator()<3>();
  if (a.count - r == 2) call.template operator()<2>();
  if (a.count - r == 1) call.template operator()<1>();
}

// From this many rows on, a page is widened to f32 once instead of at every use. The bits are the same.
constexpr int kWidenFromRows = 8;

template <class V, KvElement kElement>
void widen(const std::byte* k, const std::byte* v, int head_dim, float* wide_k, float* wide_v) {
  for (int d = 0; d < head_dim; ++d) {
    for (int t = 0; t < kAttentionTile; t += 16) V::store(wide_k + d * kAttentionTile + t, load_keys<V, kElement>(k, head_dim, d, t));
  }
  for (int t = 0; t < kAttentionTile; ++t) {
    for (int d = 0; d < head_dim; d += 16) V::store(wide_v + t * head_dim + d, load_value<V, kElement>(v, head_dim, t, d));
  }
}

// The partial state of split `split`: fills `state` for a.count rows; rows that see no key there keep maximum = -inf.
template <class V, KvElement kElement>
void attend_split(const AttentionRows& a, int64_t split, float* scratch, const AttentionState& state) {
  for (int r = 0; r < a.count; ++r) {
    state.maximum[r] = kMinusInfinity;
    state.sum[r] = 0;
    for (int d = 0; d < a.head_dim; d += 16) V::store(state.values + r * a.head_dim + d, V::zero());
  }
  int64_t first_page = a.first_key() / kAttentionTile;
  int64_t last_page = a.last_key() / kAttentionTile;
  int64_t begin = split * kSplitPages > first_page ? split * kSplitPages : first_page;
  int64_t end = (split + 1) * kSplitPages - 1 < last_page ? (split + 1) * kSplitPages - 1 : last_page;
  int tile = kAttentionTile * a.head_dim;
  float* weights = scratch;
  float* wide = scratch + kMaxQueryRows * kAttentionTile;
  for (int64_t page = begin; page <= end; ++page) {
    const std::byte* k = a.pages[page];
    const std::byte* v = k + kv_half_bytes(kElement, a.head_dim);
    if (kElement != KvElement::kF32 && a.count >= kWidenFromRows) {
      widen<V, kElement>(k, v, a.head_dim, wide, wide + tile);
      attend_page<V, KvElement::kF32>(a, reinterpret_cast<const std::byte*>(wide), reinterpret_cast<const std::byte*>(wide + tile),
                                      page * kAttentionTile, weights, state);
    } else {
      attend_page<V, kElement>(a, k, v, page * kAttentionTile, weights, state);
    }
  }
}

// Adds the partial state `part` of one row to `whole`, which holds the splits before it.
template <class V>
void merge_row(float& maximum, float& sum, float* values, float part_maximum, float part_sum, const float* part_values, int head_dim) {
  if (part_maximum == kMinusInfinity) return;
  float new_max = part_maximum > maximum ? part_maximum : maximum;
  alignas(64) float f[16];
  V::store(f, exp<V>(V::set(maximum - new_max)));
  float own = f[0];
  V::store(f, exp<V>(V::set(part_maximum - new_max)));
  float other = f[0];
  sum = sum * own + part_sum * other;
  maximum = new_max;
  for (int d = 0; d < head_dim; d += 16) {
    auto kept = V::mul(V::load(values + d), V::set(own));
    V::store(values + d, V::fma(V::load(part_values + d), V::set(other), kept));
  }
}

template <class V>
void finish_row(float sum, const float* values, int head_dim, float* out) {
  auto inverse = V::set(1.0f / sum);
  for (int d = 0; d < head_dim; d += 16) V::store(out + d, V::mul(V::load(values + d), inverse));
}

// One block of up to kKvBlock values as int8; returns its scale as f16.
template <class V>
inline uint16_t quantize_kv_block(const float* x, int count, int8_t* q) {
  float largest = 0;
  for (int i = 0; i < count; i += 16) {
    float l = V::reduce_max(V::abs(V::load(x + i)));
    largest = l > largest ? l : largest;
  }
  uint16_t scale = float_to_half(largest / 127.0f);
  float kept = half_to_float(scale);
  auto inverse = V::set(kept > 0 ? 1.0f / kept : 0.0f);
  // A scale that was rounded down, a denormal one by much, would give more than 127.
  for (int i = 0; i < count; i += 16) {
    auto scaled = V::min(V::max(V::mul(V::load(x + i), inverse), V::set(-127.0f)), V::set(127.0f));
    V::store_i8(q + i, V::round_to_int(scaled));
  }
  return scale;
}

template <class V>
void write_kv_q8(const float* k, const float* v, int head_dim, int slot, std::byte* block) {
  std::byte* values = block + kv_half_bytes(KvElement::kQ8_0, head_dim);
  auto* keys = reinterpret_cast<int8_t*>(block);
  int8_t key[kKvBlock];
  for (int b = 0; b < kv_blocks(head_dim); ++b) {
    int d = b * kKvBlock, count = head_dim - d < kKvBlock ? head_dim - d : kKvBlock;
    kv_scales(block, head_dim)[b * kAttentionTile + slot] = quantize_kv_block<V>(k + d, count, key);
    for (int i = 0; i < count; ++i) keys[(d + i) * kAttentionTile + slot] = key[i];
    kv_scales(values, head_dim)[slot * kv_blocks(head_dim) + b] =
        quantize_kv_block<V>(v + d, count, reinterpret_cast<int8_t*>(values) + slot * head_dim + d);
  }
}

// One token's key and value of one head into its page block: K goes into column `slot`, V into row `slot`.
template <class V, KvElement kElement>
void write_kv(const float* k, const float* v, int head_dim, int slot, std::byte* block) {
  if constexpr (kElement == KvElement::kQ8_0) return write_kv_q8<V>(k, v, head_dim, slot, block);
  alignas(64) uint16_t half[16];
  for (int d = 0; d < head_dim; d += 16) {
    if constexpr (kElement == KvElement::kF32) {
      auto* to = reinterpret_cast<float*>(block);
      for (int i = 0; i < 16; ++i) to[(d + i) * kAttentionTile + slot] = k[d + i];
      V::store(to + head_dim * kAttentionTile + slot * head_dim + d, V::load(v + d));
    } else if constexpr (kElement != KvElement::kQ8_0) {
      auto* to = reinterpret_cast<uint16_t*>(block);
      auto narrow = [](uint16_t* p, typename V::F x) {
        if constexpr (kElement == KvElement::kF16) V::store_f16(p, x);
        if constexpr (kElement == KvElement::kBf16) V::store_bf16(p, x);
      };
      narrow(half, V::load(k + d));
      for (int i = 0; i < 16; ++i) to[(d + i) * kAttentionTile + slot] = half[i];
      narrow(to + head_dim * kAttentionTile + slot * head_dim + d, V::load(v + d));
    }
  }
}

}  // namespace inferens::inl
