// AVX2 (with FMA and F16C), and 256-bit VNNI where the compiler flags offer it: the 16-lane vocabulary of kernels/inl/ as
// pairs of 8 lanes. Included by avx2/ and avxvnni/, which compile it under their own flags and namespaces.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#ifndef INFERENS_AVX2_NAMESPACE
#error "define INFERENS_AVX2_NAMESPACE before including avx2/simd.h"
#endif

namespace inferens::INFERENS_AVX2_NAMESPACE {

struct Simd {
  static constexpr int kTileRows = 4;  // 16 registers: 8 accumulator halves, the rest for weights
  static constexpr int kPackedRows = 2;
  struct F {
    __m256 lo, hi;
  };
  struct I {
    __m256i lo, hi;
  };
  using B = I;

  static F zero() { return set(0.0f); }
  static F set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static F load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static void store(float* p, F v) {
    _mm256_storeu_ps(p, v.lo);
    _mm256_storeu_ps(p + 8, v.hi);
  }
  static F load_n(const float* p, int n) {
    return n >= 16 ? load(p) : F{_mm256_maskload_ps(p, mask(n)), _mm256_maskload_ps(p + 8, mask(n - 8))};
  }
  static void store_n(float* p, F v, int n) {
    _mm256_maskstore_ps(p, mask(n), v.lo);
    _mm256_maskstore_ps(p + 8, mask(n - 8), v.hi);
  }
  static F add(F a, F b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
  static F sub(F a, F b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
  static F mul(F a, F b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
  static F div(F a, F b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
  static F fma(F a, F b, F c) { return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)}; }
  static F max(F a, F b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
  static F min(F a, F b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
  static F abs(F a) {
    __m256 m = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF));
    return {_mm256_and_ps(a.lo, m), _mm256_and_ps(a.hi, m)};
  }
  static F zero_below(F value, F x, F bound) {
    return {_mm256_andnot_ps(_mm256_cmp_ps(x.lo, bound.lo, _CMP_LT_OQ), value.lo),
            _mm256_andnot_ps(_mm256_cmp_ps(x.hi, bound.hi, _CMP_LT_OQ), value.hi)};
  }
  static F select_range(F v, int lo, int hi, F other) {
    __m256i keep_lo = _mm256_andnot_si256(mask(lo), mask(hi));
    __m256i keep_hi = _mm256_andnot_si256(mask(lo - 8), mask(hi - 8));
    return {_mm256_blendv_ps(other.lo, v.lo, _mm256_castsi256_ps(keep_lo)),
            _mm256_blendv_ps(other.hi, v.hi, _mm256_castsi256_ps(keep_hi))};
  }
  static float reduce_add(F v) {
    __m256 a = _mm256_add_ps(v.lo, v.hi);
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_shuffle_ps(b, b, 1)));
  }
  static float reduce_max(F v) {
    __m256 a = _mm256_max_ps(v.lo, v.hi);
    __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(b, _mm_shuffle_ps(b, b, 1)));
  }
  static F to_float(I v) { return {_mm256_cvtepi32_ps(v.lo), _mm256_cvtepi32_ps(v.hi)}; }
  static I round_to_int(F v) { return {_mm256_cvtps_epi32(v.lo), _mm256_cvtps_epi32(v.hi)}; }  // nearest even by default
  static F pow2(I n) { return {pow2_half(n.lo), pow2_half(n.hi)}; }
  static F load_f16(const uint16_t* p) { return {_mm256_cvtph_ps(load128(p)), _mm256_cvtph_ps(load128(p + 8))}; }
  static void store_f16(uint16_t* p, F v) {
    store128(p, _mm256_cvtps_ph(v.lo, _MM_FROUND_TO_NEAREST_INT));
    store128(p + 8, _mm256_cvtps_ph(v.hi, _MM_FROUND_TO_NEAREST_INT));
  }
  static F load_bf16(const uint16_t* p) { return {widen_bf16(load128(p)), widen_bf16(load128(p + 8))}; }
  static void store_bf16(uint16_t* p, F v) {
    __m256i packed = _mm256_packus_epi32(round_bf16(v.lo), round_bf16(v.hi));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(packed, 0xD8));
  }
  static F load_u8(const uint8_t* p) {
    __m128i x = load128(p);
    return to_float({_mm256_cvtepu8_epi32(x), _mm256_cvtepu8_epi32(_mm_srli_si128(x, 8))});
  }
  static F load_i8(const int8_t* p) {
    __m128i x = load128(p);
    return to_float({_mm256_cvtepi8_epi32(x), _mm256_cvtepi8_epi32(_mm_srli_si128(x, 8))});
  }

  static I izero() { return iset(0); }
  static I iset(int32_t x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
  static I iadd(I a, I b) { return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)}; }
  static I ishl(I a, int n) {
    __m128i c = _mm_cvtsi32_si128(n);
    return {_mm256_sll_epi32(a.lo, c), _mm256_sll_epi32(a.hi, c)};
  }
  static int32_t reduce_iadd(I v) {
    __m256i a = _mm256_add_epi32(v.lo, v.hi);
    __m128i b = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    b = _mm_add_epi32(b, _mm_shuffle_epi32(b, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(b, _mm_shuffle_epi32(b, 0xB1)));
  }
  static void store_i8(int8_t* p, I v) {
    __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(v.lo, v.hi), 0xD8);
    store128(p, _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
  }

  static B bload(const void* p) {
    auto* q = static_cast<const __m256i*>(p);
    return {_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)};
  }
  static void bstore(void* p, B v) {
    auto* q = static_cast<__m256i*>(p);
    _mm256_storeu_si256(q, v.lo);
    _mm256_storeu_si256(q + 1, v.hi);
  }
  static B bset(uint8_t x) { return {_mm256_set1_epi8(static_cast<char>(x)), _mm256_set1_epi8(static_cast<char>(x))}; }
  static B band(B a, B b) { return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)}; }
  static B bor(B a, B b) { return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)}; }
  template <int n> static B bshr(B a) { return {_mm256_srli_epi16(a.lo, n), _mm256_srli_epi16(a.hi, n)}; }
  template <int n> static B bshl(B a) { return {_mm256_slli_epi16(a.lo, n), _mm256_slli_epi16(a.hi, n)}; }
  static B blookup(B codes, const uint8_t* table) {
    __m256i t = _mm256_broadcastsi128_si256(load128(table));
    return {_mm256_shuffle_epi8(t, codes.lo), _mm256_shuffle_epi8(t, codes.hi)};
  }
  template <bool kSmall>
  static I dot(I acc, B w, const int8_t* a4) {
    int32_t a32;
    std::memcpy(&a32, a4, 4);
    __m256i a = _mm256_set1_epi32(a32);
    return {dot_half<kSmall>(acc.lo, w.lo, a), dot_half<kSmall>(acc.hi, w.hi, a)};
  }

 private:
  static __m256i mask(int n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static __m128i load128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
  static void store128(void* p, __m128i v) { _mm_storeu_si128(static_cast<__m128i*>(p), v); }
  static __m256 pow2_half(__m256i n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
  }
  static __m256 widen_bf16(__m128i x) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16)); }
  static __m256i round_bf16(__m256 v) {
    __m256i bits = _mm256_castps_si256(v);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    return _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF))), 16);
  }
  template <bool kSmall>
  static __m256i dot_half(__m256i acc, __m256i w, __m256i a) {
#if defined(__AVXVNNI__)
    return _mm256_dpbusd_avx_epi32(acc, w, a);
#else
    const __m256i ones = _mm256_set1_epi16(1);
    if constexpr (kSmall) {
      // 2 * 127 * 127 < 32768: the saturating pair sums cannot saturate.
      return _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_maddubs_epi16(w, a), ones));
    } else {
      // w = 2 * (w >> 1) + (w & 1): both halves are small enough.
      __m256i high = _mm256_and_si256(_mm256_srli_epi16(w, 1), _mm256_set1_epi8(0x7F));
      __m256i low = _mm256_and_si256(w, _mm256_set1_epi8(1));
      __m256i h = _mm256_madd_epi16(_mm256_maddubs_epi16(high, a), ones);
      __m256i l = _mm256_madd_epi16(_mm256_maddubs_epi16(low, a), ones);
      return _mm256_add_epi32(acc, _mm256_add_epi32(_mm256_add_epi32(h, h), l));
    }
#endif
  }
};

}  // namespace inferens::INFERENS_AVX2_NAMESPACE
