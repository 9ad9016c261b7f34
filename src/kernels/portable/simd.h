// Plain C++: the 16-lane vocabulary of kernels/inl/ as loops. Runs anywhere, and is what every other instruction set must
// equal bit for bit.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "formats/dequantize.h"

namespace inferens::portable {

struct Simd {
  static constexpr int kTileRows = 4;
  static constexpr int kPackedRows = 1;
  using F = std::array<float, 16>;
  using I = std::array<int32_t, 16>;
  using B = std::array<uint8_t, 64>;

  template <class G>
  static F each(G g) {
    F r;
    for (int i = 0; i < 16; ++i) r[i] = g(i);
    return r;
  }
  static F zero() { return set(0.0f); }
  static F set(float x) { return each([&](int) { return x; }); }
  static F load(const float* p) { return each([&](int i) { return p[i]; }); }
  static void store(float* p, const F& v) { std::memcpy(p, v.data(), 64); }
  static F load_n(const float* p, int n) { return each([&](int i) { return i < n ? p[i] : 0.0f; }); }
  static void store_n(float* p, const F& v, int n) {
    for (int i = 0; i < n && i < 16; ++i) p[i] = v[i];
  }
  static F add(const F& a, const F& b) { return each([&](int i) { return a[i] + b[i]; }); }
  static F sub(const F& a, const F& b) { return each([&](int i) { return a[i] - b[i]; }); }
  static F mul(const F& a, const F& b) { return each([&](int i) { return a[i] * b[i]; }); }
  static F div(const F& a, const F& b) { return each([&](int i) { return a[i] / b[i]; }); }
  static F fma(const F& a, const F& b, const F& c) { return each([&](int i) { return std::fma(a[i], b[i], c[i]); }); }
  // As the x86 instructions: the second operand when either is NaN.
  static F max(const F& a, const F& b) { return each([&](int i) { return a[i] > b[i] ? a[i] : b[i]; }); }
  static F min(const F& a, const F& b) { return each([&](int i) { return a[i] < b[i] ? a[i] : b[i]; }); }
  static F abs(const F& a) { return each([&](int i) { return std::fabs(a[i]); }); }
  static F zero_below(const F& value, const F& x, const F& bound) {
    return each([&](int i) { return x[i] < bound[i] ? 0.0f : value[i]; });
  }
  static F select_range(const F& v, int lo, int hi, const F& other) {
    return each([&](int i) { return i >= lo && i < hi ? v[i] : other[i]; });
  }
  static float reduce_add(F v) {
    for (int half = 8; half >= 1; half /= 2) {
      for (int i = 0; i < half; ++i) v[i] = v[i] + v[i + half];
    }
    return v[0];
  }
  static float reduce_max(const F& v) {
    float m = v[0];
    for (float x : v) m = x > m ? x : m;
    return m;
  }
  static F to_float(const I& v) { return each([&](int i) { return static_cast<float>(v[i]); }); }
  static I round_to_int(const F& v) {
    I r;
    // Out of range and NaN become the "integer indefinite" value, as on x86.
    for (int i = 0; i < 16; ++i) r[i] = std::fabs(v[i]) < 2147483648.0f ? static_cast<int32_t>(std::nearbyintf(v[i])) : INT32_MIN;
    return r;
  }
  static F pow2(const I& n) {
    return each([&](int i) { return std::bit_cast<float>((static_cast<uint32_t>(n[i]) + 127u) << 23); });
  }
  static F load_f16(const uint16_t* p) { return each([&](int i) { return half_to_float(p[i]); }); }
  static void store_f16(uint16_t* p, const F& v) {
    for (int i = 0; i < 16; ++i) p[i] = float_to_half(v[i]);
  }
  static F load_bf16(const uint16_t* p) {
    return each([&](int i) { return std::bit_cast<float>(static_cast<uint32_t>(p[i]) << 16); });
  }
  static void store_bf16(uint16_t* p, const F& v) {
    for (int i = 0; i < 16; ++i) {
      auto bits = std::bit_cast<uint32_t>(v[i]);
      p[i] = static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
    }
  }
  static F load_u8(const uint8_t* p) { return each([&](int i) { return static_cast<float>(p[i]); }); }
  static F load_i8(const int8_t* p) { return each([&](int i) { return static_cast<float>(p[i]); }); }

  static I izero() { return iset(0); }
  static I iset(int32_t x) {
    I r;
    r.fill(x);
    return r;
  }
  static I iadd(I a, const I& b) {
    for (int i = 0; i < 16; ++i) a[i] += b[i];
    return a;
  }
  static I ishl(I a, int n) {
    for (auto& x : a) x = static_cast<int32_t>(static_cast<uint32_t>(x) << n);
    return a;
  }
  static int32_t reduce_iadd(const I& v) {
    int32_t s = 0;
    for (int32_t x : v) s += x;
    return s;
  }
  static void store_i8(int8_t* p, const I& v) {
    for (int i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(v[i] < -128 ? -128 : v[i] > 127 ? 127 : v[i]);
  }

  static B bload(const void* p) {
    B b;
    std::memcpy(b.data(), p, 64);
    return b;
  }
  static void bstore(void* p, const B& v) { std::memcpy(p, v.data(), 64); }
  static B bset(uint8_t x) {
    B b;
    b.fill(x);
    return b;
  }
  static B band(B a, const B& b) {
    for (int i = 0; i < 64; ++i) a[i] &= b[i];
    return a;
  }
  static B bor(B a, const B& b) {
    for (int i = 0; i < 64; ++i) a[i] |= b[i];
    return a;
  }
  // Shifts of 16-bit lanes, as the vector units have them.
  template <int n>
  static B bshr(B a) {
    for (int i = 0; i < 64; i += 2) put(a, i, static_cast<uint16_t>(get(a, i) >> n));
    return a;
  }
  template <int n>
  static B bshl(B a) {
    for (int i = 0; i < 64; i += 2) put(a, i, static_cast<uint16_t>(get(a, i) << n));
    return a;
  }
  static B blookup(B codes, const uint8_t* table) {
    for (auto& c : codes) c = table[c & 15];
    return codes;
  }
  template <bool kSmall>
  static I dot(I acc, const B& w, const int8_t* a4) {
    for (int lane = 0; lane < 16; ++lane) {
      for (int i = 0; i < 4; ++i) acc[lane] += static_cast<int32_t>(w[4 * lane + i]) * a4[i];
    }
    return acc;
  }

 private:
  static uint16_t get(const B& a, int i) { return static_cast<uint16_t>(a[i] | (a[i + 1] << 8)); }
  static void put(B& a, int i, uint16_t v) {
    a[i] = static_cast<uint8_t>(v);
    a[i + 1] = static_cast<uint8_t>(v >> 8);
  }
};

}  // namespace inferens::portable
