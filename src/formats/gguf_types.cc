// The tensor types of GGUF: their numbers, names and block shapes.
#include <array>
#include <bit>

#include "base/checked.h"
#include "formats/gguf.h"

namespace inferens {
namespace {

struct TypeEntry {
  std::string_view name;
  BlockShape block = {0, 0};
};

// Indexed by the format's number; an empty name is a number that was never used or has been withdrawn.
constexpr std::array<TypeEntry, 42> kTypes = [] {
  std::array<TypeEntry, 42> t{};
  auto set = [&t](TensorType type, std::string_view name, uint32_t weights, uint32_t bytes) {
    t[static_cast<uint32_t>(type)] = {name, {weights, bytes}};
  };
  using enum TensorType;
  set(kF32, "F32", 1, 4);
  set(kF16, "F16", 1, 2);
  set(kQ4_0, "Q4_0", 32, 18);
  set(kQ4_1, "Q4_1", 32, 20);
  set(kQ5_0, "Q5_0", 32, 22);
  set(kQ5_1, "Q5_1", 32, 24);
  set(kQ8_0, "Q8_0", 32, 34);
  set(kQ8_1, "Q8_1", 32, 40);
  set(kQ2_K, "Q2_K", 256, 84);
  set(kQ3_K, "Q3_K", 256, 110);
  set(kQ4_K, "Q4_K", 256, 144);
  set(kQ5_K, "Q5_K", 256, 176);
  set(kQ6_K, "Q6_K", 256, 210);
  set(kQ8_K, "Q8_K", 256, 292);
  set(kIQ2_XXS, "IQ2_XXS", 256, 66);
  set(kIQ2_XS, "IQ2_XS", 256, 74);
  set(kIQ3_XXS, "IQ3_XXS", 256, 98);
  set(kIQ1_S, "IQ1_S", 256, 50);
  set(kIQ4_NL, "IQ4_NL", 32, 18);
  set(kIQ3_S, "IQ3_S", 256, 110);
  set(kIQ2_S, "IQ2_S", 256, 82);
  set(kIQ4_XS, "IQ4_XS", 256, 136);
  set(kI8, "I8", 1, 1);
  set(kI16, "I16", 1, 2);
  set(kI32, "I32", 1, 4);
  set(kI64, "I64", 1, 8);
  set(kF64, "F64", 1, 8);
  set(kIQ1_M, "IQ1_M", 256, 56);
  set(kBF16, "BF16", 1, 2);
  set(kTQ1_0, "TQ1_0", 256, 54);
  set(kTQ2_0, "TQ2_0", 256, 66);
  set(kMXFP4, "MXFP4", 32, 17);
  set(kNVFP4, "NVFP4", 64, 36);
  set(kQ1_0, "Q1_0", 128, 18);
  return t;
}();

const TypeEntry& entry_of(TensorType type) {
  static constexpr TypeEntry kNone;
  const auto number = static_cast<uint32_t>(type);
  return number < kTypes.size() ? kTypes[number] : kNone;
}

}  // namespace

std::string_view tensor_type_name(TensorType t) {
  const std::string_view name = entry_of(t).name;
  return name.empty() ? "unknown" : name;
}

std::optional<TensorType> tensor_type_from_name(std::string_view name) {
  for (uint32_t number = 0; number < kTypes.size(); ++number) {
    if (!name.empty() && kTypes[number].name == name) return static_cast<TensorType>(number);
  }
  return std::nullopt;
}

bool is_known_tensor_type(uint32_t number) {
  return number < kTypes.size() && !kTypes[number].name.empty();
}

BlockShape block_shape(TensorType t) {
  return entry_of(t).block;
}

std::optional<uint64_t> tensor_bytes(TensorType t, const std::array<uint64_t, 4>& shape) {
  const BlockShape block = block_shape(t);
  if (block.weights == 0 || shape[0] % block.weights != 0) return std::nullopt;
  std::optional<uint64_t> bytes = checked_mul<uint64_t>(shape[0] / block.weights, block.bytes);
  std::optional<uint64_t> weights = shape[0];
  for (size_t d = 1; d < shape.size() && bytes && weights; ++d) {
    bytes = checked_mul(*bytes, shape[d]);
    weights = checked_mul(*weights, shape[d]);
  }
  if (!bytes || *bytes > INT64_MAX || !weights || *weights > INT64_MAX) return std::nullopt;
  return bytes;
}

bool is_gguf_alignment(uint32_t alignment) {
  constexpr uint32_t kLeast = 8, kMost = 1 << 16;
  return alignment >= kLeast && alignment <= kMost && std::has_single_bit(alignment);
}

}  // namespace inferens
