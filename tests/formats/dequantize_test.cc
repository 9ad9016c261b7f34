// Every block format against the `gguf` Python package, bit for bit (tests/golden/dequantize/make_golden.py).
#include "formats/dequantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/file.h"

namespace inferens {
namespace {

std::string golden(const std::string& name) {
  auto bytes = read_file(std::string(INFERENS_TEST_DATA) + "/dequantize/" + name);
  EXPECT_TRUE(bytes.ok()) << bytes.status().to_string();
  return bytes.ok() ? *bytes : std::string();
}

std::span<const std::byte> as_bytes_of(std::string_view s) {
  return std::as_bytes(std::span(s.data(), s.size()));
}

class DequantizeGolden : public testing::TestWithParam<const char*> {};

TEST_P(DequantizeGolden, WeightsAreBitEqualToTheGgufPackage) {
  const auto type = tensor_type_from_name(GetParam());
  ASSERT_TRUE(type.has_value());
  const BlockShape block = block_shape(*type);
  const std::string file = golden(std::string(GetParam()) + ".bin");
  const size_t per_block = block.bytes + block.weights * sizeof(float);
  ASSERT_GT(file.size(), 0u);
  ASSERT_EQ(file.size() % per_block, 0u);
  const size_t blocks = file.size() / per_block, weights = blocks * block.weights;
  std::vector<uint32_t> expected(weights);
  std::memcpy(expected.data(), file.data() + blocks * block.bytes, weights * sizeof(float));
  std::vector<float> actual(weights, std::numeric_limits<float>::quiet_NaN());
  const Status s = dequantize(*type, as_bytes_of(file).first(blocks * block.bytes), actual);
  ASSERT_TRUE(s.ok()) << s.to_string();
  for (size_t i = 0; i < weights; ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(actual[i]), expected[i])
        << "weight " << i % block.weights << " of block " << i / block.weights;
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, DequantizeGolden,
                         testing::Values("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K",
                                         "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_NL",
                                         "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4", "NVFP4"),
                         [](const auto& c) { return std::string(c.param); });

TEST(Dequantize, HalfAndBfloat16RoundAsNumpyDoes) {
  constexpr size_t kCount = 4096;
  const std::string file = golden("halves.bin");
  ASSERT_EQ(file.size(), kCount * 8);
  std::vector<float> floats(kCount);
  std::vector<uint16_t> halves(kCount), bfloats(kCount);
  std::memcpy(floats.data(), file.data(), kCount * 4);
  std::memcpy(halves.data(), file.data() + kCount * 4, kCount * 2);
  std::memcpy(bfloats.data(), file.data() + kCount * 6, kCount * 2);
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(float_to_half(floats[i]), halves[i]) << floats[i];
    ASSERT_EQ(float_to_bfloat16(floats[i]), bfloats[i]) << floats[i];
  }
}

TEST(Dequantize, EveryHalfHasTheValueOfItsBits) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const int exponent = (half >> 10) & 31, mantissa = half & 0x3ff;
    const float value = half_to_float(half);
    if (exponent == 31) {
      ASSERT_EQ(std::isnan(value), mantissa != 0);
      ASSERT_EQ(std::isinf(value), mantissa == 0);
    } else {
      // IEEE 754: (1 +) mantissa / 1024 times 2^(exponent − 15), in the arithmetic of double.
      const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
      ASSERT_EQ(static_cast<double>(std::fabs(value)), magnitude) << bits;
    }
    ASSERT_EQ(std::signbit(value), half >= 0x8000);
    ASSERT_TRUE(std::isnan(value) ? std::isnan(half_to_float(float_to_half(value))) : float_to_half(value) == half)
        << bits;
  }
}

TEST(Dequantize, BrainFloatIsTheUpperHalfOfAFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto b = static_cast<uint16_t>(bits);
    const float value = bfloat16_to_float(b);
    ASSERT_EQ(std::bit_cast<uint32_t>(value) >> 16, bits);
    ASSERT_TRUE(std::isnan(value) ? std::isnan(bfloat16_to_float(float_to_bfloat16(value)))
                                  : float_to_bfloat16(value) == b);
  }
}

template <class T>
void expect_numbers(TensorType type, const std::vector<T>& numbers, const std::vector<float>& expected) {
  // One byte in front: rows of small types start anywhere.
  std::string bytes(1 + numbers.size() * sizeof(T), '\0');
  std::memcpy(bytes.data() + 1, numbers.data(), numbers.size() * sizeof(T));
  std::vector<float> out(numbers.size());
  ASSERT_TRUE(dequantize(type, as_bytes_of(bytes).subspan(1), out).ok());
  EXPECT_THAT(out, testing::ElementsAreArray(expected));
}

TEST(Dequantize, PlainNumbersConvert) {
  expect_numbers<float>(TensorType::kF32, {1.5f, -0.25f}, {1.5f, -0.25f});
  expect_numbers<double>(TensorType::kF64, {1.5, -1e300}, {1.5f, -std::numeric_limits<float>::infinity()});
  expect_numbers<uint16_t>(TensorType::kF16, {0x3e00, 0xb400}, {1.5f, -0.25f});
  expect_numbers<uint16_t>(TensorType::kBF16, {0x3fc0, 0xbe80}, {1.5f, -0.25f});
  expect_numbers<int8_t>(TensorType::kI8, {-128, 127}, {-128, 127});
  expect_numbers<int16_t>(TensorType::kI16, {-32768, 32767}, {-32768, 32767});
  expect_numbers<int32_t>(TensorType::kI32, {-7, 1 << 24}, {-7, 16777216});
  expect_numbers<int64_t>(TensorType::kI64, {-7, int64_t{1} << 40}, {-7, 0x1p40f});
}

TEST(Dequantize, OneBitBlocksAreTheScaleWithItsSign) {
  // Q1_0 is in no release of the package that can dequantize it; the layout is 2 bytes of scale and 128 bits, lowest
  // first.
  std::string block(18, '\0');
  const uint16_t half_of_three = 0x3e00;
  std::memcpy(block.data(), &half_of_three, 2);
  block[2] = 0x05;
  block[17] = static_cast<char>(0x80);
  std::vector<float> out(128);
  ASSERT_TRUE(dequantize(TensorType::kQ1_0, as_bytes_of(block), out).ok());
  for (int j = 0; j < 128; ++j) EXPECT_EQ(out[j], (j == 0 || j == 2 || j == 127) ? 1.5f : -1.5f) << j;
}

TEST(Dequantize, ActivationBlocksOfQ8KExpand) {
  std::string block(292, '\0');
  const float d = 0.5f;
  std::memcpy(block.data(), &d, 4);
  for (int j = 0; j < 256; ++j) block[4 + j] = static_cast<char>(j - 128);
  std::vector<float> out(256);
  ASSERT_TRUE(dequantize(TensorType::kQ8_K, as_bytes_of(block), out).ok());
  for (int j = 0; j < 256; ++j) EXPECT_EQ(out[j], 0.5f * static_cast<float>(j - 128));
}

TEST(Dequantize, SizesThatDoNotFitAreRefused) {
  std::string bytes(36, '\0');
  std::vector<float> out(64);
  EXPECT_TRUE(dequantize(TensorType::kQ4_0, as_bytes_of(bytes), out).ok());
  EXPECT_EQ(dequantize(TensorType::kQ4_0, as_bytes_of(bytes).first(35), out).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(dequantize(TensorType::kQ4_0, as_bytes_of(bytes), std::span(out).first(63)).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(dequantize(TensorType::kQ4_0, as_bytes_of(bytes).first(18), out).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(dequantize(TensorType::kQ4_0, {}, {}).ok());
}

TEST(Dequantize, TypesThatNoFileStoresAreRefusedByName) {
  std::string bytes(40, '\0');
  std::vector<float> out(32);
  const Status s = dequantize(TensorType::kQ8_1, as_bytes_of(bytes), out);
  EXPECT_EQ(s.code(), StatusCode::kUnsupported);
  EXPECT_THAT(s.message(), testing::HasSubstr("Q8_1"));
  EXPECT_EQ(dequantize(static_cast<TensorType>(4), as_bytes_of(bytes), out).code(), StatusCode::kUnsupported);
}

TEST(TensorTypes, NamesAndNumbersGoBothWays) {
  int known = 0;
  for (uint32_t number = 0; number < 300; ++number) {
    if (!is_known_tensor_type(number)) continue;
    ++known;
    const auto type = static_cast<TensorType>(number);
    EXPECT_EQ(tensor_type_from_name(tensor_type_name(type)), type);
    EXPECT_GT(block_shape(type).weights, 0u);
    EXPECT_GT(block_shape(type).bytes, 0u);
  }
  EXPECT_EQ(known, 34);
  for (uint32_t withdrawn : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 42u, 0xffffffffu})
    EXPECT_FALSE(is_known_tensor_type(withdrawn));
  EXPECT_FALSE(tensor_type_from_name("").has_value());
  EXPECT_FALSE(tensor_type_from_name("Q9_K").has_value());
}

}  // namespace
}  // namespace inferens
