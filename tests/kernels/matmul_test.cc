// The packed products against plain arithmetic on the dequantized weights, on every instruction set this CPU has.
#include "kernels/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "random_tensor.h"

namespace inferens {
namespace {

// All that are packed, and the plain ones.
std::vector<TensorType> all_types() {
  std::vector<TensorType> types(std::begin(kBlockTypes), std::end(kBlockTypes));
  types.insert(types.end(), {TensorType::kF16, TensorType::kBF16, TensorType::kF32});
  return types;
}
const std::vector<TensorType> kTypes = all_types();

// All kernels, for `rows` rows of x, with panels computed one by one.
std::vector<float> product(const KernelTable& kernels, const PackedMatrix& w, const std::vector<float>& x, int64_t rows, bool fine = false) {
  MatmulInput in;
  in.x = x.data();
  in.x_stride = w.columns;
  in.rows = rows;
  Scratch<uint8_t> memory;
  in.tiles = in.fine = {nullptr, rows, w.columns, kernels.tile_rows};
  in.tiles.data = memory.ensure(ActivationTiles::bytes(rows, w.columns));
  Scratch<uint8_t> fine_memory;
  if (fine) in.fine.data = fine_memory.ensure(ActivationTiles::bytes(rows, w.columns));
  if (is_integer_format(w.format)) quantize_rows(kernels, x.data(), w.columns, 0, rows, in.tiles, in.fine);
  int64_t stride = w.panels() * kPanelRows;
  Scratch<float> out;
  out.ensure(static_cast<size_t>(rows * stride));
  MatmulScratch scratch;
  matmul_panels(kernels, w, in, 0, w.panels(), out.data(), stride, scratch);
  std::vector<float> result;
  for (int64_t r = 0; r < rows; ++r) result.insert(result.end(), out.data() + r * stride, out.data() + r * stride + w.rows);
  return result;
}

class MatmulOnEveryIsa : public testing::TestWithParam<Isa> {
 protected:
  const KernelTable& kernels() { return **kernels_for(GetParam()); }
};

// x rounded as quantize_row rounds it, computed plainly.
std::vector<double> as_quantized(const std::vector<float>& x) {
  std::vector<double> out(x.size());
  for (size_t b = 0; b < x.size(); b += 32) {
    float largest = 0;
    for (size_t i = b; i < b + 32; ++i) largest = std::max(largest, std::fabs(x[i]));
    for (size_t i = b; i < b + 32; ++i) {
      double q = largest > 0 ? std::nearbyint(x[i] * (127.0f / largest)) : 0;
      out[i] = q * static_cast<double>(largest / 127.0f);
    }
  }
  return out;
}

TEST_P(MatmulOnEveryIsa, EveryWeightTypeEqualsPlainArithmeticWithinTheRoundingBound) {
  for (TensorType type : kTypes) {
    for (auto [rows, n, columns] : {std::tuple{int64_t{1}, int64_t{16}, int64_t{256}}, {3, 40, 512}, {7, 33, 768}, {21, 48, 1536}, {37, 16, 256}}) {
      RandomTensor t(type, n, columns, 17 + static_cast<uint64_t>(rows));
      PackedMatrix w{packed_format_for(type, static_cast<uint64_t>(columns), false), n, columns, nullptr};
      Scratch<std::byte> memory;
      w.data = memory.ensure(static_cast<size_t>(w.bytes()));
      ASSERT_TRUE(pack_rows(t.info, w.format, 0, n, memory.data()).ok());
      RandomSequence random(5);
      std::vector<float> x(static_cast<size_t>(rows * columns));
      for (auto& v : x) v = static_cast<float>(random.normal());
      std::vector<float> got = product(kernels(), w, x, rows);
      std::vector<double> used(x.begin(), x.end());
      if (is_integer_format(w.format)) used = as_quantized(x);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t o = 0; o < n; ++o) {
          double sum = 0, magnitude = 0;
          for (int64_t k = 0; k < columns; ++k) {
            double term = used[static_cast<size_t>(r * columns + k)] * t.values[static_cast<size_t>(o * columns + k)];
            sum += term;
            magnitude += std::fabs(term);
          }
          // Every float operation on the way of a term rounds by at most 2^-24 of what has been added up so far; codes
          // with an offset are larger than the value they stand for by at most a factor of 16.
          double steps = is_integer_format(w.format) ? static_cast<double>(columns) / 16 + 8 : static_cast<double>(columns);
          double bound = magnitude * steps * 0x1.0p-24 * (is_integer_format(w.format) ? 4 : 1) + 1e-6;
          ASSERT_NEAR(got[static_cast<size_t>(r * n + o)], sum, bound)
              << tensor_type_name(type) << " row " << r << " output " << o << " of " << rows << "x" << n << "x" << columns;
        }
      }
    }
  }
}

TEST_P(MatmulOnEveryIsa, ARowsBitsDoNotDependOnHowManyRowsComeWithIt) {
  constexpr int64_t kRows = 40, kColumns = 768, kOutputs = 48;
  for (TensorType type : kTypes) {
    RandomTensor t(type, kOutputs, kColumns, 3);
    PackedMatrix w{packed_format_for(type, kColumns, false), kOutputs, kColumns, nullptr};
    Scratch<std::byte> memory;
    w.data = memory.ensure(static_cast<size_t>(w.bytes()));
    ASSERT_TRUE(pack_rows(t.info, w.format, 0, kOutputs, memory.data()).ok());
    RandomSequence random(6);
    std::vector<float> x(kRows * kColumns);
    for (auto& v : x) v = static_cast<float>(random.normal());
    std::vector<float> all = product(kernels(), w, x, kRows);
    for (int64_t count = 1; count <= 19; ++count) {
      for (int64_t first = 0; first + count <= kRows; first += count) {
        std::vector<float> part(x.begin() + first * kColumns, x.begin() + (first + count) * kColumns);
        std::vector<float> got = product(kernels(), w, part, count);
        ASSERT_EQ(std::memcmp(got.data(), all.data() + first * kOutputs, got.size() * 4), 0)
            << tensor_type_name(type) << ": rows " << first << " to " << first + count;
      }
    }
  }
}

TEST_P(MatmulOnEveryIsa, EveryInstructionSetGivesTheBitsOfThePlainOne) {
  constexpr int64_t kColumns = 512, kOutputs = 32;
  for (TensorType type : kTypes) {
    RandomTensor t(type, kOutputs, kColumns, 4);
    PackedMatrix w{packed_format_for(type, kColumns, false), kOutputs, kColumns, nullptr};
    Scratch<std::byte> memory;
    w.data = memory.ensure(static_cast<size_t>(w.bytes()));
    ASSERT_TRUE(pack_rows(t.info, w.format, 0, kOutputs, memory.data()).ok());
    for (int64_t rows : {1, 2, 4, 9, 16, 35}) {
      RandomSequence random(static_cast<uint64_t>(rows));
      std::vector<float> x(static_cast<size_t>(rows * kColumns));
      for (auto& v : x) v = static_cast<float>(random.normal());
      auto plain = product(**kernels_for(Isa::kPortable), w, x, rows);
      auto fast = product(kernels(), w, x, rows);
      ASSERT_EQ(std::memcmp(plain.data(), fast.data(), plain.size() * 4), 0) << tensor_type_name(type) << ", " << rows << " rows";
    }
  }
}

TEST_P(MatmulOnEveryIsa, FineActivationsBringTheProductNearTheExactOne) {
  constexpr int64_t kRows = 19, kColumns = 512, kOutputs = 32;
  for (TensorType type : {TensorType::kQ4_1, TensorType::kQ5_0, TensorType::kQ6_K}) {
    RandomTensor t(type, kOutputs, kColumns, 8);
    PackedMatrix w{packed_format_for(type, kColumns, false), kOutputs, kColumns, nullptr};
    Scratch<std::byte> memory;
    w.data = memory.ensure(static_cast<size_t>(w.bytes()));
    ASSERT_TRUE(pack_rows(t.info, w.format, 0, kOutputs, memory.data()).ok());
    RandomSequence random(9);
    std::vector<float> x(kRows * kColumns);
    for (auto& v : x) v = static_cast<float>(random.normal());
    double coarse = 0, fine = 0;
    for (bool with_fine : {false, true}) {
      std::vector<float> got = product(kernels(), w, x, kRows, with_fine);
      for (int64_t r = 0; r < kRows; ++r) {
        for (int64_t o = 0; o < kOutputs; ++o) {
          double sum = 0;
          for (int64_t k = 0; k < kColumns; ++k) {
            sum += static_cast<double>(x[static_cast<size_t>(r * kColumns + k)]) * t.values[static_cast<size_t>(o * kColumns + k)];
          }
          (with_fine ? fine : coarse) += std::pow(sum - got[static_cast<size_t>(r * kOutputs + o)], 2);
        }
      }
    }
    // The second part divides the rounding step by 254.
    EXPECT_LT(fine, coarse / (100 * 100)) << tensor_type_name(type);
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, MatmulOnEveryIsa, testing::ValuesIn(available_isas()),
                         [](const auto& isa) { return std::string(isa_name(isa.param)); });

}  // namespace
}  // namespace inferens
