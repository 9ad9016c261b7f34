#include "bench/kernel_matmul.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/random.h"
#include "bench/kernel_timer.h"
#include "formats/half.h"
#include "kernels/matmul.h"

namespace inferens {
namespace {

// One type for every packed format.
constexpr TensorType kTypes[] = {TensorType::kQ4_0, TensorType::kQ4_1, TensorType::kQ5_0, TensorType::kQ5_1,   TensorType::kQ8_0,   TensorType::kQ2_K,
                                 TensorType::kQ3_K, TensorType::kQ4_K, TensorType::kQ5_K, TensorType::kQ6_K,   TensorType::kIQ4_NL, TensorType::kIQ4_XS,
                                 TensorType::kMXFP4, TensorType::kF16, TensorType::kBF16, TensorType::kF32};

struct Shape {
  int64_t outputs;
  int64_t inputs;
};
// Up and down projection of Qwen2.5-0.5B, up projection of SmolLM2-135M. A format of blocks of 256 has no matrix of 896
// or 576 inputs; it gets the next multiple.
constexpr Shape kShapes[] = {{4864, 896}, {896, 4864}, {1536, 576}};

Shape fitting(Shape shape, TensorType type) {
  const int64_t block = block_shape(type).weights;
  return {shape.outputs, (shape.inputs + block - 1) / block * block};
}

std::string name_of(Shape s) { return std::to_string(s.outputs) + "x" + std::to_string(s.inputs); }

// Blocks of a tensor with numbers that cost what real ones do: none is denormal, infinite or not a number.
std::vector<std::byte> plausible_blocks(TensorType type, int64_t weights) {
  const BlockShape block = block_shape(type);
  std::vector<std::byte> bytes(static_cast<size_t>(weights / block.weights * block.bytes));
  RandomSequence random(1);
  auto fill = [&](auto value) {
    for (size_t at = 0; at < bytes.size(); at += sizeof value) {
      value = static_cast<decltype(value)>(value ^ static_cast<decltype(value)>(random.next() & 0x7F));  // the last bits of the fraction
      std::memcpy(bytes.data() + at, &value, sizeof value);
    }
  };
  if (type == TensorType::kF32) fill(std::bit_cast<uint32_t>(0.5f));
  else if (type == TensorType::kF16) fill(float_to_half(0.5f));
  else if (type == TensorType::kBF16) fill(static_cast<uint16_t>(std::bit_cast<uint32_t>(0.5f) >> 16));
  else {
    // Bytes below 0x3C make every f16 scale, wherever it lies, a number below 1.
    for (auto& b : bytes) b = static_cast<std::byte>(random.next() & 0x3B);
    for (size_t at = 0; type == TensorType::kMXFP4 && at < bytes.size(); at += block.bytes) bytes[at] = std::byte{120};  // e8m0: 2^-7
  }
  return bytes;
}

// The packed matrix over and over, so that a call does not find it in the nearest cache.
class Copies {
 public:
  static StatusOr<Copies> make(TensorType type, Shape shape, int64_t working_set) {
    const std::vector<std::byte> blocks = plausible_blocks(type, shape.outputs * shape.inputs);
    TensorInfo tensor;
    tensor.name = "w";
    tensor.type = type;
    tensor.shape = {static_cast<uint64_t>(shape.inputs), static_cast<uint64_t>(shape.outputs), 1, 1};
    tensor.dimensions = 2;
    tensor.data = blocks;
    Copies c;
    c.first_.format = packed_format_for(type, tensor.row_length(), false);
    c.first_.rows = shape.outputs;
    c.first_.columns = shape.inputs;
    c.count_ = std::max<int64_t>(1, working_set / c.first_.bytes());
    auto memory = AlignedMemory::allocate(static_cast<size_t>(c.count_ * c.first_.bytes()));
    if (!memory.ok()) return memory.status();
    c.memory_ = *std::move(memory);
    c.first_.data = c.memory_.data();
    if (Status s = pack_rows(tensor, c.first_.format, 0, shape.outputs, c.memory_.data()); !s.ok()) return s;
    for (int64_t i = 1; i < c.count_; ++i) std::memcpy(c.memory_.data() + i * c.first_.bytes(), c.memory_.data(), static_cast<size_t>(c.first_.bytes()));
    return c;
  }

  PackedMatrix take(int64_t i) const {
    PackedMatrix w = first_;
    w.data += i % count_ * first_.bytes();
    return w;
  }
  int64_t bytes() const { return first_.bytes(); }
  int64_t all_bytes() const { return count_ * first_.bytes(); }
  bool integer() const { return is_integer_format(first_.format); }

 private:
  AlignedMemory memory_;
  PackedMatrix first_;
  int64_t count_ = 0;
};

// Activations of `rows` rows in both forms.
struct Inputs {
  std::vector<float> x;
  Scratch<uint8_t> tiles;
  MatmulInput in;

  Inputs(const KernelTable& kernels, int64_t rows, int64_t columns) : x(static_cast<size_t>(rows * columns)) {
    RandomSequence random(2);
    for (auto& v : x) v = static_cast<float>(random.normal());
    in.x = x.data();
    in.x_stride = columns;
    in.rows = rows;
    in.tiles = {tiles.ensure(ActivationTiles::bytes(rows, columns)), rows, columns, kernels.tile_rows};
    quantize_rows(kernels, x.data(), columns, 0, rows, in.tiles, {});
  }
};

Status measure_shape(const KernelTable& kernels, WorkerPool& pool, const KernelOptions& options, TensorType type, Shape shape,
                     std::vector<KernelSpeed>& out) {
  auto copies = Copies::make(type, shape, options.working_set);
  if (!copies.ok()) return copies.status();
  std::vector<MatmulScratch> scratch(static_cast<size_t>(pool.size()));
  std::vector<float> first_row;
  for (int32_t rows : options.rows) {
    Inputs inputs(kernels, rows, shape.inputs);
    std::vector<float> y(static_cast<size_t>(rows * shape.outputs));
    KernelSpeed k;
    k.kernel = "matmul " + std::string(tensor_type_name(type));
    k.shape = name_of(shape);
    k.rows = rows;
    k.operations = 2.0 * static_cast<double>(rows * shape.outputs * shape.inputs);
    k.bytes = static_cast<double>(copies->bytes());
    k.integer = copies->integer();
    k.working_set = copies->all_bytes();
    k.seconds = time_calls(pool, options.seconds, [&](const Team& team, int64_t i) {
      matmul(kernels, team, copies->take(i), inputs.in, y.data(), shape.outputs, scratch[static_cast<size_t>(team.worker())]);
    });
    out.push_back(std::move(k));
    y.resize(static_cast<size_t>(shape.outputs));
    if (first_row.empty()) first_row = y;
    if (std::memcmp(first_row.data(), y.data(), y.size() * sizeof(float)) != 0) {
      return internal_error("matmul " + std::string(tensor_type_name(type)) + " " + name_of(shape) + ": the first row changes with " +
                            std::to_string(rows) + " rows");
    }
  }
  return ok_status();
}

}  // namespace

Status measure_matmuls(const KernelTable& kernels, WorkerPool& pool, const KernelOptions& options, std::vector<KernelSpeed>& out) {
  std::vector<TensorType> types(std::begin(kTypes), std::end(kTypes));
  if (!options.formats.empty()) {
    types.clear();
    for (const std::string& name : options.formats) {
      auto type = tensor_type_from_name(name);
      if (!type || std::find(std::begin(kTypes), std::end(kTypes), *type) == std::end(kTypes)) {
        std::string known;
        for (TensorType t : kTypes) known += (known.empty() ? "" : ", ") + std::string(tensor_type_name(t));
        return invalid_argument("'" + name + "' is not a packed format; there are " + known);
      }
      types.push_back(*type);
    }
  }
  for (TensorType type : types) {
    for (Shape shape : kShapes) {
      shape = fitting(shape, type);
      if (options.progress) options.progress("matmul " + std::string(tensor_type_name(type)) + " " + name_of(shape));
      if (Status s = measure_shape(kernels, pool, options, type, shape, out); !s.ok()) return s;
    }
  }
  return ok_status();
}

}  // namespace inferens
