#include "formats/gguf_parser.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "formats/file_kind.h"

namespace inferens {
namespace {

enum ValueType : uint32_t {
  kUint8 = 0,
  kInt8,
  kUint16,
  kInt16,
  kUint32,
  kInt32,
  kFloat32,
  kBool,
  kString,
  kArray,
  kUint64,
  kInt64,
  kFloat64
};

// Limits on what a small file may make us hold; each is far above any real model and keeps the worst case near 250 MB.
constexpr uint64_t kMaxMetadataKeys = 1 << 16;  // real models: below 200
constexpr uint64_t kMaxTensors = 1 << 18;       // real models: a few thousand; unmerged experts: some tens of thousands
constexpr uint64_t kMaxStrings = 1 << 24;       // real vocabularies with merges: below a million
constexpr uint64_t kMaxNestedArrays = 1 << 16;  // no known model has one
constexpr int kMaxArrayDepth = 4;
constexpr uint64_t kMaxNameBytes = 65535;  // the specification's limit for keys
// The least a metadata pair and a tensor description take in the file: a count can be refused before anything is read.
constexpr uint64_t kMinMetadataBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 8 + 1 + 4 + 4 + 8;

// 0 for strings, arrays and unknown numbers.
uint32_t fixed_size_of(uint32_t type) {
  switch (type) {
    case kUint8:
    case kInt8:
    case kBool:
      return 1;
    case kUint16:
    case kInt16:
      return 2;
    case kUint32:
    case kInt32:
    case kFloat32:
      return 4;
    case kUint64:
    case kInt64:
    case kFloat64:
      return 8;
    default:
      return 0;
  }
}

Status truncated(std::string_view where) {
  return data_loss("the file ends inside " + std::string(where) + ": it is truncated, download it again");
}

Status damaged(std::string reason) {
  return data_loss(std::move(reason) + ": the file is damaged, download it again");
}

std::string number(uint64_t n) {
  return std::to_string(n);
}

template <class T>
StatusOr<GgufValue> read_number(ByteReader& reader) {
  T value{};
  if (!reader.read(value)) return truncated("a metadata value");
  return GgufValue(value);
}

}  // namespace

Status GgufParser::parse_into(GgufFile& file) {
  return parse(file).with_context("'" + name_ + "'");
}

Status GgufParser::parse(GgufFile& file) {
  if (Status s = parse_header(file); !s.ok()) return s;
  if (Status s = parse_metadata(file); !s.ok()) return s;
  return parse_tensor_infos(file);
}

Status GgufParser::parse_header(GgufFile& file) {
  uint32_t magic = 0;
  const bool has_magic = reader_.read(magic) && magic == 0x46554747;  // "GGUF"
  if (!has_magic) return invalid_argument("not a GGUF file: " + describe_wrong_file(bytes_));
  if (!reader_.read(file.version_)) return truncated("its header");
  if (file.version_ == 1) {
    return unsupported("GGUF version 1 is not supported: convert the model again with a current converter");
  }
  if (file.version_ != 0 && (file.version_ & 0xffff) == 0) {
    return unsupported("a big-endian GGUF file is not supported: get the little-endian one or convert it");
  }
  if (file.version_ != 2 && file.version_ != 3) {
    return unsupported("GGUF version " + number(file.version_) +
                       " is not supported (2 and 3 are): update this program");
  }
  if (!reader_.read(tensor_count_) || !reader_.read(metadata_count_)) return truncated("its header");
  if (metadata_count_ > kMaxMetadataKeys || metadata_count_ > reader_.remaining() / kMinMetadataBytes) {
    return damaged("its header claims " + number(metadata_count_) + " metadata keys, more than the file can hold");
  }
  if (tensor_count_ > kMaxTensors || tensor_count_ > reader_.remaining() / kMinTensorBytes) {
    return damaged("its header claims " + number(tensor_count_) + " tensors, more than the file can hold");
  }
  return ok_status();
}

Status GgufParser::parse_metadata(GgufFile& file) {
  for (uint64_t i = 0; i < metadata_count_; ++i) {
    const std::string where = "metadata key " + number(i + 1) + " of " + number(metadata_count_);
    std::string_view key;
    uint32_t type = 0;
    if (!reader_.read_string(key)) return truncated(where);
    if (key.empty() || key.size() > kMaxNameBytes) {
      return damaged(where + " has a name of " + number(key.size()) + " bytes");
    }
    if (!reader_.read(type)) return truncated(where);
    auto value = parse_value(type);
    if (!value.ok()) return value.status().with_context("metadata key " + quote_name(key));
    if (!file.metadata_.emplace(key, std::move(value.value())).second) {
      return damaged("metadata key " + quote_name(key) + " appears twice");
    }
  }
  return ok_status();
}

StatusOr<GgufValue> GgufParser::parse_value(uint32_t type) {
  switch (type) {
    case kUint8:
      return read_number<uint8_t>(reader_);
    case kInt8:
      return read_number<int8_t>(reader_);
    case kUint16:
      return read_number<uint16_t>(reader_);
    case kInt16:
      return read_number<int16_t>(reader_);
    case kUint32:
      return read_number<uint32_t>(reader_);
    case kInt32:
      return read_number<int32_t>(reader_);
    case kFloat32:
      return read_number<float>(reader_);
    case kUint64:
      return read_number<uint64_t>(reader_);
    case kInt64:
      return read_number<int64_t>(reader_);
    case kFloat64:
      return read_number<double>(reader_);
    case kBool: {
      uint8_t byte = 0;
      if (!reader_.read(byte)) return truncated("a metadata value");
      if (byte > 1) return damaged("a bool holds the byte " + number(byte));
      return GgufValue(byte == 1);
    }
    case kString: {
      std::string_view text;
      if (!reader_.read_string(text)) return truncated("a string");
      return GgufValue(text);
    }
    case kArray: {
      auto array = parse_array(1);
      if (!array.ok()) return array.status();
      return GgufValue(std::move(array.value()));
    }
    default:
      return damaged("value type " + number(type) + " does not exist");
  }
}

StatusOr<std::shared_ptr<const GgufArray>> GgufParser::parse_array(int depth) {
  if (depth > kMaxArrayDepth) return damaged("arrays are nested more than " + number(kMaxArrayDepth) + " deep");
  auto array = std::make_shared<GgufArray>();
  if (!reader_.read(array->element_type) || !reader_.read(array->count)) return truncated("an array");
  if (Status s = parse_array_elements(*array, depth); !s.ok()) return s;
  return std::shared_ptr<const GgufArray>(std::move(array));
}

Status GgufParser::parse_array_elements(GgufArray& array, int depth) {
  const auto too_many = [&array] {
    return damaged("an array claims " + number(array.count) + " elements, more than the file can hold");
  };
  if (const uint32_t size = fixed_size_of(array.element_type); size != 0) {
    auto bytes = checked_mul<uint64_t>(array.count, size);
    if (!bytes || !reader_.read_bytes(*bytes, array.raw)) return too_many();
    const bool is_bool = array.element_type == kBool;
    if (is_bool && std::any_of(array.raw.begin(), array.raw.end(), [](std::byte b) { return b > std::byte{1}; })) {
      return damaged("an array of bool holds a byte above 1");
    }
    return ok_status();
  }
  if (array.element_type == kString) {
    constexpr uint64_t kLeast = 8;
    if (array.count > reader_.remaining() / kLeast || array.count > kMaxStrings - strings_seen_) return too_many();
    strings_seen_ += array.count;
    array.strings.resize(array.count);
    for (std::string_view& text : array.strings) {
      if (!reader_.read_string(text)) return truncated("an array of strings");
    }
    return ok_status();
  }
  if (array.element_type == kArray) {
    constexpr uint64_t kLeast = 4 + 8;
    if (array.count > reader_.remaining() / kLeast || array.count > kMaxNestedArrays - nested_arrays_seen_) {
      return too_many();
    }
    nested_arrays_seen_ += array.count;
    for (uint64_t i = 0; i < array.count; ++i) {
      auto inner = parse_array(depth + 1);
      if (!inner.ok()) return inner.status();
      array.arrays.push_back(std::move(inner.value()));
    }
    return ok_status();
  }
  return damaged("array element type " + number(array.element_type) + " does not exist");
}

Status GgufParser::parse_tensor_infos(GgufFile& file) {
  file.tensors_.resize(tensor_count_);
  std::vector<uint64_t> offsets(tensor_count_);
  for (uint64_t i = 0; i < tensor_count_; ++i) {
    TensorInfo& tensor = file.tensors_[i];
    if (!reader_.read_string(tensor.name)) {
      return truncated("tensor description " + number(i + 1) + " of " + number(tensor_count_));
    }
    if (tensor.name.empty() || tensor.name.size() > kMaxNameBytes) {
      return damaged("tensor " + number(i + 1) + " has a name of " + number(tensor.name.size()) + " bytes");
    }
    if (Status s = parse_tensor_info(tensor, offsets[i]); !s.ok()) {
      return s.with_context("tensor " + quote_name(tensor.name));
    }
    if (!file.tensor_index_.emplace(tensor.name, i).second) {
      return damaged("tensor " + quote_name(tensor.name) + " appears twice");
    }
  }
  if (Status s = place_tensors(file, offsets); !s.ok()) return s;
  return check_no_overlap(file);
}

Status GgufParser::parse_tensor_info(TensorInfo& tensor, uint64_t& offset) {
  if (!reader_.read(tensor.dimensions)) return truncated("its description");
  if (tensor.dimensions > tensor.shape.size()) {
    return damaged("it has " + number(tensor.dimensions) + " dimensions, and 4 are the most");
  }
  for (uint32_t d = 0; d < tensor.dimensions; ++d) {
    if (!reader_.read(tensor.shape[d])) return truncated("its description");
    if (tensor.shape[d] == 0) return damaged("its dimension " + number(d + 1) + " is 0");
  }
  uint32_t type = 0;
  if (!reader_.read(type) || !reader_.read(offset)) return truncated("its description");
  if (!is_known_tensor_type(type)) {
    return unsupported("its type number " + number(type) + " is not known: update this program, or get another file");
  }
  tensor.type = static_cast<TensorType>(type);
  if (tensor.type == TensorType::kQ8_1) {
    return unsupported("its type Q8_1 is for activations and is stored by no model: get another file");
  }
  return ok_status();
}

StatusOr<size_t> GgufParser::alignment_of(const GgufFile& file) const {
  const GgufValue* value = file.find("general.alignment");
  if (value == nullptr) return size_t{kGgufDefaultAlignment};
  const auto* alignment = std::get_if<uint32_t>(value);
  if (alignment == nullptr) return damaged("metadata key 'general.alignment' is not a uint32");
  if (!is_gguf_alignment(*alignment)) {
    return damaged("metadata key 'general.alignment' is " + number(*alignment) +
                   ", not a power of two from 8 to 65536");
  }
  return size_t{*alignment};
}

Status GgufParser::place_tensors(GgufFile& file, std::span<const uint64_t> offsets) {
  auto alignment = alignment_of(file);
  if (!alignment.ok()) return alignment.status();
  if (file.tensors_.empty()) return ok_status();
  const auto start = checked_round_up<size_t>(reader_.position(), *alignment);
  if (!start || *start > bytes_.size()) return truncated("the padding before its tensors");
  const std::span<const std::byte> data = bytes_.subspan(*start);
  for (size_t i = 0; i < offsets.size(); ++i) {
    TensorInfo& tensor = file.tensors_[i];
    const std::string who = "tensor " + quote_name(tensor.name);
    const uint32_t weights = block_shape(tensor.type).weights;
    if (tensor.row_length() % weights != 0) {
      return damaged(who + " has rows of " + number(tensor.row_length()) + " values, not a multiple of " +
                     number(weights) + " as " + std::string(tensor_type_name(tensor.type)) + " needs");
    }
    const std::optional<uint64_t> bytes = tensor_bytes(tensor.type, tensor.shape);
    if (!bytes) return damaged(who + " has more values than any file can hold");
    if (offsets[i] % *alignment != 0) {
      return damaged(who + " starts at offset " + number(offsets[i]) + ", not a multiple of " + number(*alignment));
    }
    if (offsets[i] > data.size() || *bytes > data.size() - offsets[i]) {
      return data_loss(who + " needs " + number(*bytes) + " bytes at offset " + number(offsets[i]) +
                       " and the file has " + number(data.size()) +
                       " bytes of tensors: it is truncated, download it again");
    }
    tensor.data = data.subspan(offsets[i], *bytes);
  }
  return ok_status();
}

Status GgufParser::check_no_overlap(const GgufFile& file) const {
  std::vector<const TensorInfo*> by_address;
  by_address.reserve(file.tensors_.size());
  for (const TensorInfo& tensor : file.tensors_) by_address.push_back(&tensor);
  std::sort(by_address.begin(), by_address.end(),
            [](const TensorInfo* a, const TensorInfo* b) { return a->data.data() < b->data.data(); });
  for (size_t i = 1; i < by_address.size(); ++i) {
    const TensorInfo& before = *by_address[i - 1];
    if (before.data.data() + before.data.size() > by_address[i]->data.data()) {
      return damaged("tensors " + quote_name(before.name) + " and " + quote_name(by_address[i]->name) + " overlap");
    }
  }
  return ok_status();
}

}  // namespace inferens
