#include "formats/gguf_writer.h"

#include <cstring>
#include <type_traits>

#include "base/checked.h"
#include "base/file.h"
#include "formats/file_kind.h"

namespace inferens {
namespace {

template <class T>
void append_number(T value, std::string& out) {
  static_assert(std::is_arithmetic_v<T>);
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof bytes);
  out.append(bytes, sizeof bytes);
}

void append_string(std::string_view text, std::string& out) {
  append_number<uint64_t>(text.size(), out);
  out += text;
}

// The depth of nesting is bounded by the reader that made the array, or by the caller's own code.
void append_array(const GgufArray& array, std::string& out) {
  append_number(array.element_type, out);
  append_number(array.count, out);
  out.append(reinterpret_cast<const char*>(array.raw.data()), array.raw.size());
  for (std::string_view text : array.strings) append_string(text, out);
  for (const auto& inner : array.arrays) append_array(*inner, out);
}

std::string encode(const GgufValue& value) {
  std::string out;
  append_number(static_cast<uint32_t>(value.index()), out);
  std::visit(
      [&out](const auto& v) {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, std::string_view>) {
          append_string(v, out);
        } else if constexpr (std::is_same_v<V, std::shared_ptr<const GgufArray>>) {
          append_array(*v, out);
        } else {
          append_number(v, out);
        }
      },
      value);
  return out;
}

void pad(std::string& out, size_t alignment) {
  out.resize(round_up(out.size(), alignment));
}

}  // namespace

GgufValue gguf_array(std::vector<std::string_view> strings) {
  auto array = std::make_shared<GgufArray>();
  array->element_type = 8;
  array->count = strings.size();
  array->strings = std::move(strings);
  return std::shared_ptr<const GgufArray>(std::move(array));
}

void GgufWriter::set(std::string_view key, const GgufValue& value) {
  const auto [it, is_new] = metadata_index_.try_emplace(std::string(key), metadata_.size());
  if (is_new) metadata_.emplace_back(key, std::string());
  metadata_[it->second].second = encode(value);
}

Status GgufWriter::add_tensor(std::string_view name, TensorType type, std::span<const uint64_t> shape,
                              TensorSource source) {
  const std::string who = "tensor " + quote_name(name);
  std::array<uint64_t, 4> padded = {1, 1, 1, 1};
  if (name.empty()) return invalid_argument("a tensor needs a name");
  if (shape.size() > padded.size()) return invalid_argument(who + " has more than 4 dimensions");
  std::copy(shape.begin(), shape.end(), padded.begin());
  const auto bytes = tensor_bytes(type, padded);
  if (!bytes || *bytes == 0) {
    return invalid_argument(who + " has a shape that " + std::string(tensor_type_name(type)) + " cannot store");
  }
  if (!tensor_index_.try_emplace(std::string(name), tensors_.size()).second) {
    return already_exists(who + " has been added before");
  }
  tensors_.push_back({std::string(name), type, {shape.begin(), shape.end()}, *bytes, std::move(source)});
  return ok_status();
}

Status GgufWriter::add_tensor(std::string_view name, TensorType type, std::span<const uint64_t> shape,
                              std::span<const std::byte> data) {
  return add_tensor(name, type, shape, [data]() -> StatusOr<std::string> {
    return std::string(reinterpret_cast<const char*>(data.data()), data.size());
  });
}

StatusOr<uint32_t> GgufWriter::alignment() const {
  const auto it = metadata_index_.find("general.alignment");
  if (it == metadata_index_.end()) return kGgufDefaultAlignment;
  const std::string& encoded = metadata_[it->second].second;
  uint32_t type_and_value[2] = {};
  if (encoded.size() != sizeof type_and_value) return invalid_argument("'general.alignment' is not a uint32");
  std::memcpy(type_and_value, encoded.data(), sizeof type_and_value);
  if (type_and_value[0] != GgufValue(uint32_t{}).index() || !is_gguf_alignment(type_and_value[1])) {
    return invalid_argument("'general.alignment' is not a power of two from 8 to 65536 as uint32");
  }
  return type_and_value[1];
}

std::string GgufWriter::header(uint32_t alignment) const {
  std::string out = "GGUF";
  append_number<uint32_t>(3, out);
  append_number<uint64_t>(tensors_.size(), out);
  append_number<uint64_t>(metadata_.size(), out);
  for (const auto& [key, value] : metadata_) {
    append_string(key, out);
    out += value;
  }
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    append_string(tensor.name, out);
    append_number(static_cast<uint32_t>(tensor.shape.size()), out);
    for (uint64_t dimension : tensor.shape) append_number(dimension, out);
    append_number(static_cast<uint32_t>(tensor.type), out);
    append_number(offset, out);
    offset += round_up<uint64_t>(tensor.bytes, alignment);
  }
  if (!tensors_.empty()) pad(out, alignment);
  return out;
}

Status GgufWriter::write_to(const ByteSink& sink) const {
  const auto align = alignment();
  if (!align.ok()) return align.status();
  if (Status s = sink(header(*align)); !s.ok()) return s;
  for (const Tensor& tensor : tensors_) {
    auto data = tensor.source();
    if (!data.ok()) return data.status().with_context("tensor " + quote_name(tensor.name));
    if (data->size() != tensor.bytes) {
      return invalid_argument("tensor " + quote_name(tensor.name) + " was given " + std::to_string(data->size()) +
                              " bytes and has " + std::to_string(tensor.bytes));
    }
    pad(*data, *align);
    if (Status s = sink(*data); !s.ok()) return s;
  }
  return ok_status();
}

Status GgufWriter::write(const std::string& path) const {
  auto file = AtomicFile::create(path);
  if (!file.ok()) return file.status();
  Status s = write_to([&file](std::string_view bytes) { return file->append(bytes); });
  if (!s.ok()) return s.with_context("'" + path + "'");
  return file->commit();
}

StatusOr<std::string> GgufWriter::to_bytes() const {
  std::string out;
  Status s = write_to([&out](std::string_view bytes) {
    out += bytes;
    return ok_status();
  });
  if (!s.ok()) return s;
  return out;
}

}  // namespace inferens
