// The packed form holds the file's own numbers: unpacked again, every weight has the bits that dequantize() gives it; and
// its bytes do not change between versions unnoticed.
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/inl/matmul.h"
#include "kernels/kernel_table.h"
#include "kernels/packed_matrix.h"
#include "random_tensor.h"

namespace inferens {
namespace {

struct PackedTensor {
  RandomTensor tensor;
  PackedMatrix w;
  Scratch<std::byte> memory;
  PackedTensor(TensorType type, int64_t rows, int64_t columns, uint64_t seed) : tensor(type, rows, columns, seed) {
    w = {packed_format_for(type, static_cast<uint64_t>(columns), false), rows, columns, nullptr};
    w.data = memory.ensure(static_cast<size_t>(w.bytes()));
    EXPECT_TRUE(pack_rows(tensor.info, w.format, 0, rows, memory.data()).ok());
  }
};

// The weight of row `lane` of a panel, column k, as a product's arithmetic takes it.
float weight_in(const inl::Strip& strip, FormatTraits t, int lane, int k) {
  int groups = t.half_groups() ? 2 : 1;
  int block = k / kBlockColumns, column = k % kBlockColumns;
  int group = block * groups + column * groups / kBlockColumns;
  int code = strip.quads[block * 512 + column / 4 * 64 + lane * 4 + column % 4];
  int zero = t.zero_shift >= 0 ? 1 << t.zero_shift : 0;
  float value = strip.scales[group * 16 + lane] * static_cast<float>(code - zero);
  return t.has_min() ? value - strip.mins[group * 16 + lane] : value;
}

TEST(Packed, EveryTypeKeepsEveryWeightExactly) {
  constexpr int64_t kRows = 32, kColumns = 1024;
  const KernelTable& kernels = **kernels_for(Isa::kPortable);
  for (TensorType type : kBlockTypes) {
    PackedTensor p(type, kRows, kColumns, 77);
    ASSERT_TRUE(is_integer_format(p.w.format)) << tensor_type_name(type);
    FormatTraits t = format_traits(p.w.format);
    Scratch<uint8_t> scratch;
    inl::Strip strip = inl::strip_in(scratch.ensure(inl::kStripBytes), 0, kColumns / kBlockColumns);
    for (int64_t row = 0; row < kRows; ++row) {
      if (row % kPanelRows == 0) {
        kernels.unpack_strip[static_cast<int>(p.w.format)](reinterpret_cast<const uint8_t*>(p.w.panel(row / kPanelRows)), kColumns / kBlockColumns, 0, strip);
      }
      for (int k = 0; k < kColumns; ++k) {
        ASSERT_EQ(weight_in(strip, t, static_cast<int>(row % kPanelRows), k), p.tensor.values[static_cast<size_t>(row * kColumns + k)])
            << tensor_type_name(type) << " row " << row << " column " << k;
      }
    }
  }
}

TEST(Packed, NoTypeTakesMoreThanAByteAndAFifthPerWeight) {
  for (TensorType type : kBlockTypes) {
    double bytes = static_cast<double>(panel_bytes(packed_format_for(type, 4096, false), 4096)) / (4096.0 * kPanelRows);
    double file = static_cast<double>(block_shape(type).bytes) / block_shape(type).weights;
    EXPECT_LE(bytes, 1.2) << tensor_type_name(type);
    // From four bits on nearly the file's size; 6-bit scales become bytes.
    if (file >= 0.5) {
      EXPECT_LE(bytes, file * 1.12) << tensor_type_name(type);
    }
  }
}

// A changed layout read from a file of an older build would be wrong numbers, silently. When this fails: raise
// kPackedVersion (kernels/weight_format.h), then put the new hash here.
TEST(Packed, BytesChangeOnlyWithTheVersion) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  std::vector<TensorType> types(std::begin(kBlockTypes), std::end(kBlockTypes));
  types.insert(types.end(), {TensorType::kF16, TensorType::kBF16, TensorType::kF32});
  for (TensorType type : types) {
    PackedTensor p(type, 32, 512, 5);
    for (int64_t i = 0; i < p.w.bytes(); ++i) hash = (hash ^ static_cast<uint8_t>(p.w.data[i])) * 0x100000001b3;
  }
  EXPECT_EQ(kPackedVersion, 1u);
  EXPECT_EQ(hash, 8786267242273597499u);
}

}  // namespace
}  // namespace inferens
