// Reads GGUF v2 and v3 (the container of llama.cpp's models), whole or split, memory-mapped. A file is hostile until
// proven sound: open() checks every count, length, offset and product against the bytes that are there before anything
// is used. Source: the GGUF specification (ggml docs/gguf.md) and the `gguf` Python package as reference.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/file.h"
#include "inferens/status.h"

namespace inferens {

// Numbers are the format's own.
enum class TensorType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ8_1 = 9,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kQ8_K = 15,
  kIQ2_XXS = 16,
  kIQ2_XS = 17,
  kIQ3_XXS = 18,
  kIQ1_S = 19,
  kIQ4_NL = 20,
  kIQ3_S = 21,
  kIQ2_S = 22,
  kIQ4_XS = 23,
  kI8 = 24,
  kI16 = 25,
  kI32 = 26,
  kI64 = 27,
  kF64 = 28,
  kIQ1_M = 29,
  kBF16 = 30,
  kTQ1_0 = 34,
  kTQ2_0 = 35,
  kMXFP4 = 39,
  kNVFP4 = 40,
  kQ1_0 = 41,
};

std::string_view tensor_type_name(TensorType t);  // "Q4_K"
std::optional<TensorType> tensor_type_from_name(std::string_view name);
bool is_known_tensor_type(uint32_t number);
// A block is the smallest unit: `weights` consecutive values of a row in `bytes` bytes.
struct BlockShape {
  uint32_t weights;
  uint32_t bytes;
};
BlockShape block_shape(TensorType t);
// The stored size of a tensor; shape[0] is the length of a row. nullopt when a row is not whole blocks, or when the
// bytes or the count of weights do not fit in 63 bits.
std::optional<uint64_t> tensor_bytes(TensorType t, const std::array<uint64_t, 4>& shape);

// Alignment of tensor data when 'general.alignment' does not say otherwise, and what it may say: a power of two up to
// the largest page size in use. Beyond that, padding is an attack.
inline constexpr uint32_t kGgufDefaultAlignment = 32;
bool is_gguf_alignment(uint32_t alignment);

struct GgufArray;
using GgufValue = std::variant<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, float, bool, std::string_view,
                               std::shared_ptr<const GgufArray>, uint64_t, int64_t, double>;

// Elements are kept in the file and read on demand; an array of arrays is kept as nested GgufArrays. The index of a
// GgufValue is the format's value type number.
struct GgufArray {
  uint32_t element_type = 0;  // GGUF value type number (8 = string, 9 = array)
  uint64_t count = 0;
  std::span<const std::byte> raw;                        // fixed-size elements: count * element size bytes, unaligned
  std::vector<std::string_view> strings;                 // element_type 8
  std::vector<std::shared_ptr<const GgufArray>> arrays;  // element_type 9
};

struct TensorInfo {
  std::string_view name;
  TensorType type = TensorType::kF32;
  // ne[0] is the length of a row (contiguous values), as the format orders it. Unused dimensions are 1.
  std::array<uint64_t, 4> shape = {1, 1, 1, 1};
  uint32_t dimensions = 0;
  std::span<const std::byte> data;  // inside the map, exactly the tensor's bytes
  uint64_t row_length() const { return shape[0]; }
  uint64_t rows() const { return shape[1] * shape[2] * shape[3]; }
  uint64_t elements() const { return shape[0] * rows(); }
  size_t row_bytes() const { return data.size() / (rows() == 0 ? 1 : rows()); }
};

class GgufFile {
 public:
  // Opens a file; of a split model any part may be named and all parts are opened: metadata is that of the first part,
  // tensors are those of all. Errors are one line that names the file, the reason and what to do.
  // A file that another process shortens while it is open cannot be defended against: reading the lost bytes raises
  // SIGBUS, as with every memory map. Replace model files by renaming a new one over them, as our own writers do.
  static StatusOr<GgufFile> open(const std::string& path);
  // The same checks over one file's bytes in memory (fuzzing, tests). The bytes must outlive the result.
  static StatusOr<GgufFile> parse(std::span<const std::byte> bytes, const std::string& name);

  const std::string& path() const { return path_; }
  uint32_t version() const { return version_; }
  uint64_t file_bytes() const;  // all parts
  const std::vector<MappedFile>& parts() const { return parts_; }  // none after parse()

  const std::map<std::string_view, GgufValue>& metadata() const { return metadata_; }
  const GgufValue* find(std::string_view key) const;
  // Typed access. Integers convert between widths when the value fits; a key of another type is an error that names it.
  StatusOr<uint64_t> get_uint(std::string_view key) const;
  StatusOr<int64_t> get_int(std::string_view key) const;
  StatusOr<double> get_float(std::string_view key) const;
  StatusOr<bool> get_bool(std::string_view key) const;
  StatusOr<std::string_view> get_string(std::string_view key) const;
  StatusOr<std::vector<std::string_view>> get_strings(std::string_view key) const;
  StatusOr<std::vector<float>> get_floats(std::string_view key) const;  // element type f32 or f64
  StatusOr<std::vector<int64_t>> get_ints(std::string_view key) const;  // any integer or bool element type

  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const TensorInfo* find_tensor(std::string_view name) const;
  // Gives back the resident pages of a run of tensor bytes after they were packed elsewhere.
  void drop_resident(std::span<const std::byte> data) const;
  // Asks the kernel to read the whole file ahead.
  void will_need() const;

 private:
  friend class GgufParser;
  static StatusOr<GgufFile> open_part(const std::string& path);
  static StatusOr<GgufFile> open_split(GgufFile named, uint32_t count);
  Status add_part(GgufFile part, uint32_t index, uint32_t count);
  StatusOr<const GgufArray*> get_array(std::string_view key, std::string_view wanted) const;
  Status wrong_elements(std::string_view key, std::string_view wanted) const;

  std::string path_;
  uint32_t version_ = 0;
  std::vector<MappedFile> parts_;
  uint64_t bytes_ = 0;
  std::map<std::string_view, GgufValue> metadata_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string_view, size_t> tensor_index_;
};

}  // namespace inferens
