// Tensors of random bytes for the tests of packing and products.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/random.h"
#include "formats/dequantize.h"
#include "formats/gguf.h"
#include "formats/half.h"

namespace inferens {

// Every type of blocks that model files store.
inline constexpr TensorType kBlockTypes[] = {
    TensorType::kQ4_0,  TensorType::kQ4_1,    TensorType::kQ5_0,   TensorType::kQ5_1,  TensorType::kQ8_0,  TensorType::kQ2_K,
    TensorType::kQ3_K,  TensorType::kQ4_K,    TensorType::kQ5_K,   TensorType::kQ6_K,  TensorType::kIQ4_NL, TensorType::kIQ4_XS,
    TensorType::kMXFP4, TensorType::kIQ2_XXS, TensorType::kIQ2_XS, TensorType::kIQ2_S, TensorType::kIQ3_XXS, TensorType::kIQ3_S,
    TensorType::kIQ1_S, TensorType::kIQ1_M,   TensorType::kTQ1_0,  TensorType::kTQ2_0, TensorType::kQ1_0,  TensorType::kNVFP4};

// A tensor of random blocks whose scales are sane halves: every code is possible, no value is huge.
struct RandomTensor {
  std::vector<std::byte> bytes;
  TensorInfo info;
  std::vector<float> values;  // [rows, columns]

  RandomTensor(TensorType type, int64_t rows, int64_t columns, uint64_t seed) {
    RandomSequence random(seed);
    BlockShape shape = block_shape(type);
    bytes.resize(static_cast<size_t>(rows * columns / shape.weights * shape.bytes));
    for (auto& b : bytes) b = static_cast<std::byte>(random.next());
    info.name = "w";
    info.type = type;
    info.shape = {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows), 1, 1};
    info.dimensions = 2;
    info.data = bytes;
    fix_scales(random, shape);
    values.resize(static_cast<size_t>(rows * columns));
    EXPECT_TRUE(dequantize(type, bytes, values).ok());
  }

  void fix_scales(RandomSequence& random, BlockShape shape) {
    auto half = [&](size_t at) {
      uint16_t h = float_to_half(static_cast<float>(0.01 + 0.02 * random.uniform()));
      std::memcpy(bytes.data() + at, &h, 2);
    };
    for (size_t b = 0; b < bytes.size(); b += shape.bytes) {
      switch (info.type) {
        case TensorType::kQ2_K: half(b + 80); half(b + 82); break;
        case TensorType::kQ3_K: half(b + 108); break;
        case TensorType::kQ6_K: half(b + 208); break;
        case TensorType::kTQ1_0: half(b + 52); break;
        case TensorType::kTQ2_0: half(b + 64); break;
        case TensorType::kNVFP4:
          for (size_t s = 0; s < 4; ++s) bytes[b + s] = static_cast<std::byte>(random.below(100));
          break;
        case TensorType::kIQ1_M: {  // the four nibbles of a half from 2^-6 up
          for (size_t i = 0; i < 4; ++i) {
            auto& high = bytes[b + 49 + 2 * i];
            high = (high & std::byte{15}) | std::byte{static_cast<uint8_t>(i == 3 ? 0x20 : i == 2 ? 0x40 : 0x10)};
          }
          break;
        }
        case TensorType::kMXFP4: bytes[b] = static_cast<std::byte>(115 + random.below(10)); break;
        case TensorType::kF16: half(b); break;
        case TensorType::kBF16: {
          uint16_t v = float_to_bfloat16(static_cast<float>(random.normal()));
          std::memcpy(bytes.data() + b, &v, 2);
          break;
        }
        case TensorType::kF32: {
          auto v = static_cast<float>(random.normal());
          std::memcpy(bytes.data() + b, &v, 4);
          break;
        }
        case TensorType::kQ4_1: case TensorType::kQ5_1: case TensorType::kQ4_K: case TensorType::kQ5_K: half(b); half(b + 2); break;
        default: half(b);
      }
    }
  }
};

}  // namespace inferens
