// AVX-512 (with VNNI): the 16-lane vocabulary of the kernel templates in kernels/inl/. Same lanes, same order and the same
// roundings as every other instruction set; only the registers differ.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace inferens::avx512 {

struct Simd {
  static constexpr int kTileRows = 16;  // 16 accumulators + 8 weight registers fit 32 registers
  static constexpr int kPackedRows = 8;
  using F = __m512;
  using I = __m512i;
  using B = __m512i;

  static F zero() { return _mm512_setzero_ps(); }
  static F set(float x) { return _mm512_set1_ps(x); }
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, F v) { _mm512_storeu_ps(p, v); }
  static F load_n(const float* p, int n) { return _mm512_maskz_loadu_ps(mask(n), p); }
  static void store_n(float* p, F v, int n) { _mm512_mask_storeu_ps(p, mask(n), v); }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  static F abs(F a) { return _mm512_abs_ps(a); }
  static F zero_below(F value, F x, F bound) {
    return _mm512_mask_mov_ps(value, _mm512_cmp_ps_mask(x, bound, _CMP_LT_OQ), zero());
  }
  static F select_range(F v, int lo, int hi, F other) {
    auto keep = static_cast<__mmask16>(mask(hi) & ~mask(lo));
    return _mm512_mask_mov_ps(other, keep, v);
  }
  static float reduce_add(F v) {
    __m256 a = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    b = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(b, _mm_shuffle_ps(b, b, 1)));
  }
  static float reduce_max(F v) { return _mm512_reduce_max_ps(v); }
  static F to_float(I v) { return _mm512_cvtepi32_ps(v); }
  static I round_to_int(F v) { return _mm512_cvt_roundps_epi32(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static F pow2(I n) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n, _mm512_set1_epi32(127)), 23)); }
  static F load_f16(const uint16_t* p) { return _mm512_cvtph_ps(load256(p)); }
  static void store_f16(uint16_t* p, F v) { store256(p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)); }
  static F load_bf16(const uint16_t* p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load256(p)), 16));
  }
  static void store_bf16(uint16_t* p, F v) {
    __m512i bits = _mm512_castps_si512(v);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
    store256(p, _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
  }
  static F load_u8(const uint8_t* p) { return to_float(_mm512_cvtepu8_epi32(load128(p))); }
  static F load_i8(const int8_t* p) { return to_float(_mm512_cvtepi8_epi32(load128(p))); }

  static I izero() { return _mm512_setzero_si512(); }
  static I iset(int32_t x) { return _mm512_set1_epi32(x); }
  static I iadd(I a, I b) { return _mm512_add_epi32(a, b); }
  static I ishl(I a, int n) { return _mm512_sll_epi32(a, _mm_cvtsi32_si128(n)); }
  static int32_t reduce_iadd(I v) { return _mm512_reduce_add_epi32(v); }
  static void store_i8(int8_t* p, I v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(v)); }

  static B bload(const void* p) { return _mm512_loadu_si512(p); }
  static void bstore(void* p, B v) { _mm512_storeu_si512(p, v); }
  static B bset(uint8_t x) { return _mm512_set1_epi8(static_cast<char>(x)); }
  static B band(B a, B b) { return _mm512_and_si512(a, b); }
  static B bor(B a, B b) { return _mm512_or_si512(a, b); }
  template <int n> static B bshr(B a) { return _mm512_srli_epi16(a, n); }
  template <int n> static B bshl(B a) { return _mm512_slli_epi16(a, n); }
  static B blookup(B codes, const uint8_t* table) { return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(load128(table)), codes); }
  // acc[lane] += sum over 4 bytes of w[4*lane + i] (unsigned) * a4[i] (signed). kSmall promises w ≤ 127.
  template <bool kSmall>
  static I dot(I acc, B w, const int8_t* a4) {
    int32_t a;
    std::memcpy(&a, a4, 4);
    return _mm512_dpbusd_epi32(acc, w, _mm512_set1_epi32(a));
  }

 private:
  static __mmask16 mask(int n) { return static_cast<__mmask16>(n >= 16 ? 0xFFFFu : n <= 0 ? 0u : (1u << n) - 1); }
  static __m128i load128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
  static __m256i load256(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  static void store256(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
};

}  // namespace inferens::avx512
