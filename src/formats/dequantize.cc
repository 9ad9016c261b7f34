// Finds the expander of a tensor type and checks the sizes; plain numbers are converted here.
#include "formats/dequantize.h"

#include <string>

#include "formats/dequantize_blocks.h"

namespace inferens {
namespace {

template <class T>
void convert_numbers(const uint8_t* data, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(load_le<T>(data + i * sizeof(T)));
}

void copy_f32(const uint8_t* data, size_t count, float* out) {
  std::memcpy(out, data, count * sizeof(float));
}

void convert_f16(const uint8_t* data, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) out[i] = half_to_float(load_le<uint16_t>(data + i * 2));
}

void convert_bf16(const uint8_t* data, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) out[i] = bfloat16_to_float(load_le<uint16_t>(data + i * 2));
}

BlockExpander number_expander(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return copy_f32;
    case TensorType::kF16:
      return convert_f16;
    case TensorType::kBF16:
      return convert_bf16;
    case TensorType::kF64:
      return convert_numbers<double>;
    case TensorType::kI8:
      return convert_numbers<int8_t>;
    case TensorType::kI16:
      return convert_numbers<int16_t>;
    case TensorType::kI32:
      return convert_numbers<int32_t>;
    case TensorType::kI64:
      return convert_numbers<int64_t>;
    default:
      return nullptr;
  }
}

BlockExpander expander_of(TensorType type) {
  for (auto family :
       {number_expander, simple_block_expander, k_block_expander, codebook_block_expander, ternary_block_expander}) {
    if (BlockExpander expander = family(type)) return expander;
  }
  return nullptr;
}

}  // namespace

Status dequantize(TensorType type, std::span<const std::byte> data, std::span<float> out) {
  const BlockExpander expander = expander_of(type);
  if (expander == nullptr) {
    return unsupported("cannot convert tensor type " + std::string(tensor_type_name(type)) + " (number " +
                       std::to_string(static_cast<uint32_t>(type)) + ") to float: no model file stores it");
  }
  const BlockShape block = block_shape(type);
  const size_t count = data.size() / block.bytes;
  if (data.size() % block.bytes != 0 || out.size() % block.weights != 0 || out.size() / block.weights != count) {
    return invalid_argument(std::to_string(data.size()) + " bytes of " + std::string(tensor_type_name(type)) +
                            " are not exactly " + std::to_string(out.size()) + " weights");
  }
  if (count > 0) expander(reinterpret_cast<const uint8_t*>(data.data()), count, out.data());
  return ok_status();
}

}  // namespace inferens
