// NEON with dot products (ARMv8.2): the 16-lane vocabulary of kernels/inl/ as four vectors of 4 lanes.
#pragma once

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

namespace inferens::neon {

struct Simd {
  static constexpr int kTileRows = 4;  // 32 registers of 4 lanes: 16 accumulators, 16 for weights and temporaries
  static constexpr int kPackedRows = 2;
  struct F {
    float32x4_t v[4];
  };
  struct I {
    int32x4_t v[4];
  };
  struct B {
    uint8x16_t v[4];
  };

  template <class G>
  static F each(G g) {
    return {{g(0), g(1), g(2), g(3)}};
  }
  template <class G>
  static B each_byte(G g) {
    return {{g(0), g(1), g(2), g(3)}};
  }

  static F zero() { return set(0.0f); }
  static F set(float x) { return each([&](int) { return vdupq_n_f32(x); }); }
  static F load(const float* p) { return each([&](int i) { return vld1q_f32(p + 4 * i); }); }
  static void store(float* p, F x) {
    for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, x.v[i]);
  }
  static F load_n(const float* p, int n) {
    if (n >= 16) return load(p);
    float all[16] = {};
    for (int i = 0; i < n; ++i) all[i] = p[i];
    return load(all);
  }
  static void store_n(float* p, F x, int n) {
    if (n >= 16) return store(p, x);
    float all[16];
    store(all, x);
    for (int i = 0; i < n; ++i) p[i] = all[i];
  }
  static F add(F a, F b) { return each([&](int i) { return vaddq_f32(a.v[i], b.v[i]); }); }
  static F sub(F a, F b) { return each([&](int i) { return vsubq_f32(a.v[i], b.v[i]); }); }
  static F mul(F a, F b) { return each([&](int i) { return vmulq_f32(a.v[i], b.v[i]); }); }
  static F div(F a, F b) { return each([&](int i) { return vdivq_f32(a.v[i], b.v[i]); }); }
  static F fma(F a, F b, F c) { return each([&](int i) { return vfmaq_f32(c.v[i], a.v[i], b.v[i]); }); }
  // By comparison, so that NaN goes the way it goes on x86: the second operand.
  static F max(F a, F b) { return each([&](int i) { return vbslq_f32(vcgtq_f32(a.v[i], b.v[i]), a.v[i], b.v[i]); }); }
  static F min(F a, F b) { return each([&](int i) { return vbslq_f32(vcltq_f32(a.v[i], b.v[i]), a.v[i], b.v[i]); }); }
  static F abs(F a) { return each([&](int i) { return vabsq_f32(a.v[i]); }); }
  static F zero_below(F value, F x, F bound) {
    return each([&](int i) { return vbslq_f32(vcltq_f32(x.v[i], bound.v[i]), vdupq_n_f32(0.0f), value.v[i]); });
  }
  static F select_range(F x, int lo, int hi, F other) {
    return each([&](int i) {
      int32x4_t lane = vaddq_s32(vld1q_s32(kLanes), vdupq_n_s32(4 * i));
      uint32x4_t keep = vandq_u32(vcgeq_s32(lane, vdupq_n_s32(lo)), vcltq_s32(lane, vdupq_n_s32(hi)));
      return vbslq_f32(keep, x.v[i], other.v[i]);
    });
  }
  static float reduce_add(F x) {
    float32x4_t a = vaddq_f32(vaddq_f32(x.v[0], x.v[2]), vaddq_f32(x.v[1], x.v[3]));
    float32x2_t b = vadd_f32(vget_low_f32(a), vget_high_f32(a));
    return vget_lane_f32(b, 0) + vget_lane_f32(b, 1);
  }
  static float reduce_max(F x) {
    float all[16];
    store(all, x);
    float m = all[0];
    for (float y : all) m = y > m ? y : m;
    return m;
  }
  static F to_float(I x) { return each([&](int i) { return vcvtq_f32_s32(x.v[i]); }); }
  static I round_to_int(F x) {
    // Out of range and NaN become the smallest integer, as on x86.
    auto one = [](float32x4_t f) {
      uint32x4_t fits = vcltq_f32(vabsq_f32(f), vdupq_n_f32(2147483648.0f));
      return vbslq_s32(fits, vcvtnq_s32_f32(f), vdupq_n_s32(INT32_MIN));
    };
    return {{one(x.v[0]), one(x.v[1]), one(x.v[2]), one(x.v[3])}};
  }
  static F pow2(I n) {
    return each([&](int i) { return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n.v[i], vdupq_n_s32(127)), 23)); });
  }
  static F load_f16(const uint16_t* p) {
    return each([&](int i) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p + 4 * i))); });
  }
  static void store_f16(uint16_t* p, F x) {
    for (int i = 0; i < 4; ++i) vst1_u16(p + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(x.v[i])));
  }
  static F load_bf16(const uint16_t* p) {
    return each([&](int i) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p + 4 * i), 16)); });
  }
  static void store_bf16(uint16_t* p, F x) {
    for (int i = 0; i < 4; ++i) {
      uint32x4_t bits = vreinterpretq_u32_f32(x.v[i]);
      uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
      vst1_u16(p + 4 * i, vshrn_n_u32(vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7FFF))), 16));
    }
  }
  static F load_u8(const uint8_t* p) {
    uint8x16_t x = vld1q_u8(p);
    uint16x8_t lo = vmovl_u8(vget_low_u8(x)), hi = vmovl_u8(vget_high_u8(x));
    return {{vcvtq_f32_u32(vmovl_u16(vget_low_u16(lo))), vcvtq_f32_u32(vmovl_u16(vget_high_u16(lo))),
             vcvtq_f32_u32(vmovl_u16(vget_low_u16(hi))), vcvtq_f32_u32(vmovl_u16(vget_high_u16(hi)))}};
  }
  static F load_i8(const int8_t* p) {
    int8x16_t x = vld1q_s8(p);
    int16x8_t lo = vmovl_s8(vget_low_s8(x)), hi = vmovl_s8(vget_high_s8(x));
    return {{vcvtq_f32_s32(vmovl_s16(vget_low_s16(lo))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(lo))),
             vcvtq_f32_s32(vmovl_s16(vget_low_s16(hi))), vcvtq_f32_s32(vmovl_s16(vget_high_s16(hi)))}};
  }

  static I izero() { return iset(0); }
  static I iset(int32_t x) { return {{vdupq_n_s32(x), vdupq_n_s32(x), vdupq_n_s32(x), vdupq_n_s32(x)}}; }
  static I iadd(I a, I b) {
    return {{vaddq_s32(a.v[0], b.v[0]), vaddq_s32(a.v[1], b.v[1]), vaddq_s32(a.v[2], b.v[2]), vaddq_s32(a.v[3], b.v[3])}};
  }
  static I ishl(I a, int n) {
    int32x4_t c = vdupq_n_s32(n);
    return {{vshlq_s32(a.v[0], c), vshlq_s32(a.v[1], c), vshlq_s32(a.v[2], c), vshlq_s32(a.v[3], c)}};
  }
  static int32_t reduce_iadd(I x) { return vaddvq_s32(vaddq_s32(vaddq_s32(x.v[0], x.v[1]), vaddq_s32(x.v[2], x.v[3]))); }
  static void store_i8(int8_t* p, I x) {
    int16x8_t lo = vcombine_s16(vqmovn_s32(x.v[0]), vqmovn_s32(x.v[1]));
    int16x8_t hi = vcombine_s16(vqmovn_s32(x.v[2]), vqmovn_s32(x.v[3]));
    vst1q_s8(p, vcombine_s8(vqmovn_s16(lo), vqmovn_s16(hi)));
  }

  static B bload(const void* p) {
    return each_byte([&](int i) { return vld1q_u8(static_cast<const uint8_t*>(p) + 16 * i); });
  }
  static void bstore(void* p, B x) {
    for (int i = 0; i < 4; ++i) vst1q_u8(static_cast<uint8_t*>(p) + 16 * i, x.v[i]);
  }
  static B bset(uint8_t x) { return each_byte([&](int) { return vdupq_n_u8(x); }); }
  static B band(B a, B b) { return each_byte([&](int i) { return vandq_u8(a.v[i], b.v[i]); }); }
  static B bor(B a, B b) { return each_byte([&](int i) { return vorrq_u8(a.v[i], b.v[i]); }); }
  // Shifts of 16-bit lanes, as the other vocabularies have them; callers mask.
  template <int n>
  static B bshr(B a) {
    return each_byte([&](int i) { return vreinterpretq_u8_u16(vshrq_n_u16(vreinterpretq_u16_u8(a.v[i]), n)); });
  }
  template <int n>
  static B bshl(B a) {
    return each_byte([&](int i) { return vreinterpretq_u8_u16(vshlq_n_u16(vreinterpretq_u16_u8(a.v[i]), n)); });
  }
  static B blookup(B codes, const uint8_t* table) {
    uint8x16_t t = vld1q_u8(table);
    return each_byte([&](int i) { return vqtbl1q_u8(t, codes.v[i]); });
  }
  // ARMv8.2 has no unsigned by signed dot product: codes below 128 are signed as they are; others are moved by 128 and
  // the difference, 128 * sum(a), is added back.
  template <bool kSmall>
  static I dot(I acc, B w, const int8_t* a4) {
    int32_t word;
    std::memcpy(&word, a4, 4);
    int8x16_t a = vreinterpretq_s8_s32(vdupq_n_s32(word));
    if constexpr (!kSmall) {
      int32x4_t back = vdupq_n_s32(128 * (a4[0] + a4[1] + a4[2] + a4[3]));
      for (int i = 0; i < 4; ++i) {
        int8x16_t s = vreinterpretq_s8_u8(veorq_u8(w.v[i], vdupq_n_u8(0x80)));
        acc.v[i] = vaddq_s32(vdotq_s32(acc.v[i], s, a), back);
      }
    } else {
      for (int i = 0; i < 4; ++i) acc.v[i] = vdotq_s32(acc.v[i], vreinterpretq_s8_u8(w.v[i]), a);
    }
    return acc;
  }

 private:
  static constexpr int32_t kLanes[4] = {0, 1, 2, 3};
};

}  // namespace inferens::neon
