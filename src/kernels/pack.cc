// GGUF rows to panels. Reads each block format's fields as the format defines them and puts codes and scales in their new
// places; no number is changed.
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "formats/dequantize.h"
#include "kernels/packed_matrix.h"
#include "kernels/row_block.h"

namespace inferens {
namespace {

void nibbles_32(Bytes qs, uint8_t* out) {
  for (int i = 0; i < 16; ++i) {
    out[i] = qs[i] & 15;
    out[i + 16] = qs[i] >> 4;
  }
}

void add_fifth_bits(Bytes qh, uint8_t* out) {
  uint32_t bits;
  std::memcpy(&bits, qh, 4);
  for (int i = 0; i < 32; ++i) out[i] = static_cast<uint8_t>(out[i] | (((bits >> i) & 1) << 4));
}

// The 6-bit scales and mins of Q4_K and Q5_K: 12 bytes for 8 of each.
void k_scales(Bytes q, RowBlock& b) {
  for (int j = 0; j < 4; ++j) {
    b.scales[j] = q[j] & 63;
    b.mins[j] = q[j + 4] & 63;
    b.scales[j + 4] = static_cast<uint8_t>((q[j + 8] & 15) | ((q[j] >> 6) << 4));
    b.mins[j + 4] = static_cast<uint8_t>((q[j + 8] >> 4) | ((q[j + 4] >> 6) << 4));
  }
}

void read_q2_k(Bytes p, RowBlock& b) {
  for (int i = 0; i < 16; ++i) {
    b.scales[i] = p[i] & 15;
    b.mins[i] = p[i] >> 4;
  }
  for (int i = 0; i < 256; ++i) b.codes[i] = (p[16 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
  b.d = half_at(p + 80);
  b.dmin = half_at(p + 82);
}

void read_q3_k(Bytes p, RowBlock& b) {
  Bytes high = p, low = p + 32, packed = p + 96;
  for (int i = 0; i < 16; ++i) {
    int four = i < 8 ? packed[i] & 15 : packed[i - 8] >> 4;
    int two = (packed[8 + i % 4] >> (i / 4 * 2)) & 3;
    b.scales[i] = static_cast<uint8_t>(static_cast<int8_t>((four | (two << 4)) - 32));
  }
  for (int i = 0; i < 256; ++i) {
    int two = (low[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
    int bit = (high[i % 32] >> (i / 32)) & 1;
    b.codes[i] = static_cast<uint8_t>(two | (bit << 2));
  }
  b.d = half_at(p + 108);
}

void read_q4_k(Bytes p, RowBlock& b) {
  b.d = half_at(p);
  b.dmin = half_at(p + 2);
  k_scales(p + 4, b);
  for (int i = 0; i < 256; ++i) b.codes[i] = (p[16 + i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4)) & 15;
}

void read_q5_k(Bytes p, RowBlock& b) {
  b.d = half_at(p);
  b.dmin = half_at(p + 2);
  k_scales(p + 4, b);
  for (int i = 0; i < 256; ++i) {
    int four = (p[48 + i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4)) & 15;
    int bit = (p[16 + i % 32] >> (i / 32)) & 1;
    b.codes[i] = static_cast<uint8_t>(four | (bit << 4));
  }
}

void read_q6_k(Bytes p, RowBlock& b) {
  for (int i = 0; i < 256; ++i) {
    int half = i / 128, l = i % 32, quarter = i % 128 / 32;
    int four = (p[half * 64 + l + quarter % 2 * 32] >> (quarter / 2 * 4)) & 15;
    int two = (p[128 + half * 32 + l] >> (quarter * 2)) & 3;
    b.codes[i] = static_cast<uint8_t>(four | (two << 4));
  }
  std::memcpy(b.scales.data(), p + 192, 16);
  b.d = half_at(p + 208);
}

void read_iq4_xs(Bytes p, RowBlock& b) {
  b.d = half_at(p);
  int high = half_at(p + 2);
  for (int s = 0; s < 8; ++s) {
    int four = (p[4 + s / 2] >> (s % 2 * 4)) & 15;
    int two = (high >> (2 * s)) & 3;
    b.scales[s] = static_cast<uint8_t>(static_cast<int8_t>((four | (two << 4)) - 32));
    nibbles_32(p + 8 + s * 16, b.codes.data() + s * 32);
  }
}

void read_block(TensorType type, WeightFormat f, Bytes p, RowBlock& b) {
  switch (f) {
    case WeightFormat::kQ4_0:
    case WeightFormat::kIQ4_NL:
      b.d = half_at(p);
      nibbles_32(p + 2, b.codes.data());
      return;
    case WeightFormat::kQ4_1:
      b.d = half_at(p);
      b.dmin = half_at(p + 2);
      nibbles_32(p + 4, b.codes.data());
      return;
    case WeightFormat::kQ5_0:
      b.d = half_at(p);
      nibbles_32(p + 6, b.codes.data());
      add_fifth_bits(p + 2, b.codes.data());
      return;
    case WeightFormat::kQ5_1:
      b.d = half_at(p);
      b.dmin = half_at(p + 2);
      nibbles_32(p + 8, b.codes.data());
      add_fifth_bits(p + 4, b.codes.data());
      return;
    case WeightFormat::kQ8_0:
      b.d = half_at(p);
      for (int i = 0; i < 32; ++i) b.codes[i] = static_cast<uint8_t>(p[2 + i] ^ 0x80);  // signed + 128
      return;
    case WeightFormat::kMXFP4:
      b.exponent = p[0];
      nibbles_32(p + 1, b.codes.data());
      return;
    case WeightFormat::kQ2_K: return read_q2_k(p, b);
    case WeightFormat::kQ3_K: return read_q3_k(p, b);
    case WeightFormat::kQ4_K: return read_q4_k(p, b);
    case WeightFormat::kQ5_K: return read_q5_k(p, b);
    case WeightFormat::kQ6_K: return read_q6_k(p, b);
    case WeightFormat::kIQ4_XS: return read_iq4_xs(p, b);
    case WeightFormat::kTQ2_0: return read_ternary(type, p, b);
    case WeightFormat::kQ1_0:  // a bit is -1 or 1, as codes 0 and 2
      b.d = half_at(p);
      for (int i = 0; i < 128; ++i) b.codes[static_cast<size_t>(i)] = static_cast<uint8_t>((p[2 + i / 8] >> (i % 8) & 1) * 2);
      return;
    case WeightFormat::kF32:
    case WeightFormat::kF16:
    case WeightFormat::kBF16:
    case WeightFormat::kNVFP4: return;  // not here
    default: return read_grid(type, f, p, b);
  }
}

uint32_t word_at(const uint8_t* p) {
  uint32_t w;
  std::memcpy(&w, p, 4);
  return w;
}
void put_word(uint8_t* p, uint32_t w) { std::memcpy(p, &w, 4); }
// The low `bits` bits of each of 4 bytes, from bit `from`.
uint32_t bits_of(uint32_t four, int from, int bits) { return (four >> from) & (0x01010101u * ((1u << bits) - 1)); }

// Planes of 2 bits: vector i holds column quads i, i+2, i+4, i+6.
void place_two_bits(const uint8_t* codes, int from, int row, uint8_t* out) {
  for (int i = 0; i < 2; ++i) {
    uint32_t w = 0;
    for (int j = 0; j < 4; ++j) w |= bits_of(word_at(codes + 4 * (i + 2 * j)), from, 2) << (2 * j);
    put_word(out + i * 64 + row * 4, w);
  }
}

// A plane of 1 bit: bit j of the vector's bytes belongs to column quad j.
void place_one_bit(const uint8_t* codes, int from, int row, uint8_t* out) {
  uint32_t w = 0;
  for (int j = 0; j < 8; ++j) w |= bits_of(word_at(codes + 4 * j), from, 1) << j;
  put_word(out + row * 4, w);
}

// 32 codes of one row into their block of the panel (read back by kernels/inl/unpack.h).
void place_codes(int bits, const uint8_t* codes, int row, uint8_t* out) {
  if (bits == 8) {
    for (int j = 0; j < 8; ++j) put_word(out + j * 64 + row * 4, word_at(codes + 4 * j));
  } else if (bits >= 4) {
    for (int i = 0; i < 4; ++i) {
      put_word(out + i * 64 + row * 4, bits_of(word_at(codes + 4 * i), 0, 4) | (bits_of(word_at(codes + 4 * (i + 4)), 0, 4) << 4));
    }
    if (bits == 5) place_one_bit(codes, 4, row, out + 256);
    if (bits == 6) place_two_bits(codes, 4, row, out + 256);
  } else {
    place_two_bits(codes, 0, row, out);
    if (bits == 3) place_one_bit(codes, 2, row, out + 128);
  }
}

void put_half(uint8_t* p, int index, uint16_t h) { std::memcpy(p + 2 * index, &h, 2); }

void place_scales(ScaleKind kind, const RowBlock& b, int row, uint8_t* record) {
  switch (kind) {
    case ScaleKind::kHalf:
    case ScaleKind::kSuper: put_half(record, row, b.d); return;
    case ScaleKind::kHalf16:
      for (int h = 0; h < 2; ++h) put_half(record + 32 * h, row, b.half_scales[h]);
      return;
    case ScaleKind::kSuper32Float:
    case ScaleKind::kSuper16Float: {
      std::memcpy(record + 4 * row, &b.wide_d, 4);
      int groups = kind == ScaleKind::kSuper32Float ? 8 : 16;
      for (int g = 0; g < groups; ++g) record[64 + g * 16 + row] = b.scales[static_cast<size_t>(g)];
      return;
    }
    case ScaleKind::kHalfMin:
      put_half(record, row, b.d);
      put_half(record + 32, row, b.dmin);
      return;
    case ScaleKind::kExponent: record[row] = b.exponent; return;
    case ScaleKind::kSuper32Min:
    case ScaleKind::kSuper16Min: {
      put_half(record, row, b.d);
      put_half(record + 32, row, b.dmin);
      int groups = kind == ScaleKind::kSuper32Min ? 8 : 16;
      for (int g = 0; g < groups; ++g) {
        record[64 + g * 32 + row] = b.scales[g];
        record[64 + g * 32 + 16 + row] = b.mins[g];
      }
      return;
    }
    case ScaleKind::kSuper32Signed:
    case ScaleKind::kSuper16Signed: {
      put_half(record, row, b.d);
      int groups = kind == ScaleKind::kSuper32Signed ? 8 : 16;
      for (int g = 0; g < groups; ++g) record[32 + g * 16 + row] = b.scales[g];
      return;
    }
  }
}

// Blocks of the file are 32, 64, 128 or 256 weights; records of scales cover 32 or 256.
void pack_integer_row(const TensorInfo& t, WeightFormat format, int64_t row, int lane, uint8_t* panel) {
  FormatTraits traits = format_traits(format);
  int64_t columns = static_cast<int64_t>(t.row_length());
  BlockShape shape = block_shape(t.type);
  int steps = static_cast<int>(shape.weights) / kBlockColumns;
  auto* source = reinterpret_cast<Bytes>(t.data.data()) + row * static_cast<int64_t>(t.row_bytes());
  uint8_t* scales = panel + panel_code_bytes(traits, columns / kBlockColumns);
  RowBlock b;
  for (int64_t i = 0; i < columns / shape.weights; ++i) {
    if (format != WeightFormat::kNVFP4) read_block(t.type, format, source + i * shape.bytes, b);
    for (int s = 0; s < steps; ++s) {
      int64_t block = i * steps + s;
      if (format == WeightFormat::kNVFP4) read_nvfp4(source + i * shape.bytes, s, b);
      const uint8_t* codes = b.codes.data() + (format == WeightFormat::kNVFP4 ? 0 : s * kBlockColumns);
      place_codes(traits.bits, codes, lane, panel + block * code_bytes(traits.bits));
      int per_record = blocks_per_scale_record(traits.scale);
      if (block % per_record == 0) place_scales(traits.scale, b, lane, scales + block / per_record * scale_record_bytes(traits.scale));
    }
  }
}

// Floats lie as [columns][16]: one vector per column.
Status pack_float_row(const TensorInfo& t, WeightFormat format, int64_t row, int lane, uint8_t* panel, std::vector<float>& scratch) {
  auto columns = static_cast<size_t>(t.row_length());
  auto source = t.data.subspan(static_cast<size_t>(row) * t.row_bytes(), t.row_bytes());
  if (format == WeightFormat::kF32) {
    scratch.resize(columns);
    if (Status s = dequantize(t.type, source, scratch); !s.ok()) return s;
    auto* out = reinterpret_cast<float*>(panel);
    for (size_t k = 0; k < columns; ++k) out[k * kPanelRows + static_cast<size_t>(lane)] = scratch[k];
  } else {
    auto* out = reinterpret_cast<uint16_t*>(panel);
    for (size_t k = 0; k < columns; ++k) {
      std::memcpy(out + k * kPanelRows + static_cast<size_t>(lane), source.data() + 2 * k, 2);
    }
  }
  return ok_status();
}

}  // namespace

WeightFormat packed_format_for(TensorType type, uint64_t row_length, bool float_path) {
  if (type == TensorType::kF16) return WeightFormat::kF16;
  if (type == TensorType::kBF16) return WeightFormat::kBF16;
  if (float_path || row_length % kBlockColumns != 0) return WeightFormat::kF32;
  switch (type) {
    case TensorType::kQ4_0: return WeightFormat::kQ4_0;
    case TensorType::kQ4_1: return WeightFormat::kQ4_1;
    case TensorType::kQ5_0: return WeightFormat::kQ5_0;
    case TensorType::kQ5_1: return WeightFormat::kQ5_1;
    case TensorType::kQ8_0: return WeightFormat::kQ8_0;
    case TensorType::kQ2_K: return WeightFormat::kQ2_K;
    case TensorType::kQ3_K: return WeightFormat::kQ3_K;
    case TensorType::kQ4_K: return WeightFormat::kQ4_K;
    case TensorType::kQ5_K: return WeightFormat::kQ5_K;
    case TensorType::kQ6_K: return WeightFormat::kQ6_K;
    case TensorType::kIQ4_NL: return WeightFormat::kIQ4_NL;
    case TensorType::kIQ4_XS: return WeightFormat::kIQ4_XS;
    case TensorType::kMXFP4: return WeightFormat::kMXFP4;
    case TensorType::kIQ2_XXS: return WeightFormat::kIQ2_XXS;
    case TensorType::kIQ2_XS:
    case TensorType::kIQ2_S: return WeightFormat::kIQ2_S;
    case TensorType::kIQ3_XXS: return WeightFormat::kIQ3_XXS;
    case TensorType::kIQ3_S: return WeightFormat::kIQ3_S;
    case TensorType::kIQ1_S: return WeightFormat::kIQ1_S;
    case TensorType::kIQ1_M: return WeightFormat::kIQ1_M;
    case TensorType::kTQ1_0:
    case TensorType::kTQ2_0: return WeightFormat::kTQ2_0;
    case TensorType::kQ1_0: return WeightFormat::kQ1_0;
    case TensorType::kNVFP4: return WeightFormat::kNVFP4;
    default: return WeightFormat::kF32;
  }
}

Status pack_rows(const TensorInfo& t, WeightFormat format, int64_t row_begin, int64_t row_end, std::byte* out) {
  int64_t stride = panel_bytes(format, static_cast<int64_t>(t.row_length()));
  std::vector<float> scratch;
  for (int64_t row = row_begin; row < row_end; ++row) {
    auto* panel = reinterpret_cast<uint8_t*>(out + (row - row_begin) / kPanelRows * stride);
    int lane = static_cast<int>(row % kPanelRows);
    if (is_integer_format(format)) {
      pack_integer_row(t, format, row, lane, panel);
    } else if (Status s = pack_float_row(t, format, row, lane, panel, scratch); !s.ok()) {
      return s.with_context("tensor '" + std::string(t.name) + "'");
    }
  }
  return ok_status();
}

}  // namespace inferens
