// Opening a GGUF file or all parts of a split model, and typed access to what was read.
#include "formats/gguf.h"

#include <cstring>
#include <limits>
#include <utility>

#include "base/checked.h"
#include "formats/file_kind.h"
#include "formats/gguf_parser.h"
#include "formats/gguf_split.h"

namespace inferens {
namespace {

constexpr uint64_t kMaxParts = 65535;  // split.count is a uint16

// What a value is, for errors.
std::string_view kind_of(const GgufValue& value) {
  constexpr std::string_view kKinds[] = {"a uint8",  "an int8",   "a uint16", "an int16", "a uint32",
                                         "an int32", "a float32", "a bool",   "a string", "an array",
                                         "a uint64", "an int64",  "a float64"};
  return kKinds[value.index()];
}

// The value as an integer of type T when it is an integer that fits.
template <class T>
std::optional<T> integer_of(const GgufValue& value) {
  return std::visit(
      [](const auto& v) -> std::optional<T> {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_integral_v<V> && !std::is_same_v<V, bool>) {
          if (std::in_range<T>(v)) return static_cast<T>(v);
        }
        return std::nullopt;
      },
      value);
}

template <class T, class Out>
void append_elements(const GgufArray& array, std::vector<Out>& out) {
  out.resize(array.count);
  for (size_t i = 0; i < array.count; ++i) {
    T element;
    std::memcpy(&element, array.raw.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<Out>(element);
  }
}

Status wrong_kind(std::string_view key, const GgufValue& value, std::string_view wanted, const std::string& path) {
  return data_loss("'" + path + "': metadata key " + quote_name(key) + " is " + std::string(kind_of(value)) + ", not " +
                   std::string(wanted) + ": the file was made wrongly, get another conversion");
}

Status missing(std::string_view key, const std::string& path) {
  return not_found("'" + path + "': metadata key " + quote_name(key) +
                   " is missing: the file is not a whole model, get another conversion");
}

}  // namespace

StatusOr<GgufFile> GgufFile::open(const std::string& path) {
  auto named = open_part(path);
  if (!named.ok()) return named.status();
  const GgufValue* count = named->find("split.count");
  if (count == nullptr) return named;
  const auto parts = integer_of<uint64_t>(*count);
  if (!parts || *parts > kMaxParts) {
    return data_loss("'" + path +
                     "': metadata key 'split.count' is not a number of parts: the file is damaged, download it again");
  }
  if (*parts <= 1) return named;
  return open_split(std::move(named.value()), static_cast<uint32_t>(*parts));
}

StatusOr<GgufFile> GgufFile::parse(std::span<const std::byte> bytes, const std::string& name) {
  GgufFile file;
  file.path_ = name;
  file.bytes_ = bytes.size();
  if (Status s = GgufParser(bytes, name).parse_into(file); !s.ok()) return s;
  return file;
}

StatusOr<GgufFile> GgufFile::open_part(const std::string& path) {
  auto map = MappedFile::open(path);
  if (!map.ok()) return map.status();
  auto file = parse(map->bytes(), path);
  if (file.ok()) file->parts_.push_back(std::move(map.value()));
  return file;
}

// `named` is the part the caller named. The result has the first part's metadata and the tensors of all parts.
StatusOr<GgufFile> GgufFile::open_split(GgufFile named, uint32_t count) {
  const std::string path = named.path_;
  const auto name = parse_split_name(path);
  const auto index = named.get_uint("split.no");
  if (!index.ok()) return index.status();
  if (!name || name->count != count || name->index != *index || *index >= count) {
    return failed_precondition("'" + path + "' is part " + std::to_string(*index + 1) + " of " + std::to_string(count) +
                               " of a split model and has been renamed: give all parts their names back, '…" +
                               split_path("", static_cast<uint32_t>(*index), count) + "'");
  }
  GgufFile whole;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string part_path = split_path(name->stem, i, count);
    auto part = i == *index ? StatusOr<GgufFile>(std::move(named)) : open_part(part_path);
    if (!part.ok()) {
      return part.status().with_context("part " + std::to_string(i + 1) + " of " + std::to_string(count) + " of '" +
                                        path + "' (all parts must be in one folder)");
    }
    if (Status s = whole.add_part(std::move(part.value()), i, count); !s.ok()) return s;
  }
  whole.path_ = path;
  const auto tensors = whole.get_uint("split.tensors.count");
  if (!tensors.ok()) return tensors.status();
  if (*tensors != whole.tensors_.size()) {
    return data_loss("'" + path + "': the parts hold " + std::to_string(whole.tensors_.size()) +
                     " tensors, and should hold " + std::to_string(*tensors) +
                     ": they are not of one model, download all parts again");
  }
  return whole;
}

Status GgufFile::add_part(GgufFile part, uint32_t index, uint32_t count) {
  const auto part_index = part.get_uint("split.no"), part_count = part.get_uint("split.count");
  const bool agrees = part_index.ok() && part_count.ok() && *part_index == index && *part_count == count;
  if (!agrees) {
    return data_loss("'" + part.path_ + "' does not say that it is part " + std::to_string(index + 1) + " of " +
                     std::to_string(count) + " as its name does: it is of another model, download all parts again");
  }
  if (parts_.empty()) {
    *this = std::move(part);
    return ok_status();
  }
  const auto total = get_uint("split.tensors.count"), part_total = part.get_uint("split.tensors.count");
  if (!total.ok()) return total.status();
  if (!part_total.ok() || *total != *part_total) {
    return data_loss(
        "'" + part.path_ +
        "' disagrees with part 1 about 'split.tensors.count': it is of another model, download all parts again");
  }
  for (const TensorInfo& tensor : part.tensors_) {
    if (!tensor_index_.emplace(tensor.name, tensors_.size()).second) {
      return data_loss("'" + part.path_ + "': tensor " + quote_name(tensor.name) +
                       " is also in another part: they are not of one model, download all parts again");
    }
    tensors_.push_back(tensor);
  }
  parts_.push_back(std::move(part.parts_.front()));
  bytes_ += part.bytes_;
  return ok_status();
}

uint64_t GgufFile::file_bytes() const {
  return bytes_;
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto it = metadata_.find(key);
  return it == metadata_.end() ? nullptr : &it->second;
}

const TensorInfo* GgufFile::find_tensor(std::string_view name) const {
  const auto it = tensor_index_.find(name);
  return it == tensor_index_.end() ? nullptr : &tensors_[it->second];
}

StatusOr<uint64_t> GgufFile::get_uint(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return missing(key, path_);
  if (const auto number = integer_of<uint64_t>(*value)) return *number;
  return wrong_kind(key, *value, "a whole number from 0", path_);
}

StatusOr<int64_t> GgufFile::get_int(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return missing(key, path_);
  if (const auto number = integer_of<int64_t>(*value)) return *number;
  return wrong_kind(key, *value, "a whole number of 64 bits", path_);
}

StatusOr<double> GgufFile::get_float(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return missing(key, path_);
  if (const auto* f = std::get_if<float>(value)) return static_cast<double>(*f);
  if (const auto* d = std::get_if<double>(value)) return *d;
  return wrong_kind(key, *value, "a float", path_);
}

StatusOr<bool> GgufFile::get_bool(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return missing(key, path_);
  if (const auto* b = std::get_if<bool>(value)) return *b;
  return wrong_kind(key, *value, "a bool", path_);
}

StatusOr<std::string_view> GgufFile::get_string(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return missing(key, path_);
  if (const auto* s = std::get_if<std::string_view>(value)) return *s;
  return wrong_kind(key, *value, "a string", path_);
}

StatusOr<const GgufArray*> GgufFile::get_array(std::string_view key, std::string_view wanted) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return missing(key, path_);
  if (const auto* array = std::get_if<std::shared_ptr<const GgufArray>>(value)) return array->get();
  return wrong_kind(key, *value, wanted, path_);
}

Status GgufFile::wrong_elements(std::string_view key, std::string_view wanted) const {
  return data_loss("'" + path_ + "': metadata key " + quote_name(key) + " is an array of another type, not " +
                   std::string(wanted) + ": the file was made wrongly, get another conversion");
}

StatusOr<std::vector<std::string_view>> GgufFile::get_strings(std::string_view key) const {
  constexpr std::string_view kWanted = "an array of strings";
  auto array = get_array(key, kWanted);
  if (!array.ok()) return array.status();
  if ((*array)->element_type != 8) return wrong_elements(key, kWanted);
  return (*array)->strings;
}

StatusOr<std::vector<float>> GgufFile::get_floats(std::string_view key) const {
  constexpr std::string_view kWanted = "an array of floats";
  auto array = get_array(key, kWanted);
  if (!array.ok()) return array.status();
  std::vector<float> out;
  switch ((*array)->element_type) {
    case 6:
      append_elements<float>(**array, out);
      return out;
    case 12:
      append_elements<double>(**array, out);
      return out;
    default:
      return wrong_elements(key, kWanted);
  }
}

StatusOr<std::vector<int64_t>> GgufFile::get_ints(std::string_view key) const {
  constexpr std::string_view kWanted = "an array of whole numbers of 64 bits";
  auto array = get_array(key, kWanted);
  if (!array.ok()) return array.status();
  std::vector<int64_t> out;
  switch ((*array)->element_type) {
    case 0:
    case 7:
      append_elements<uint8_t>(**array, out);
      return out;
    case 1:
      append_elements<int8_t>(**array, out);
      return out;
    case 2:
      append_elements<uint16_t>(**array, out);
      return out;
    case 3:
      append_elements<int16_t>(**array, out);
      return out;
    case 4:
      append_elements<uint32_t>(**array, out);
      return out;
    case 5:
      append_elements<int32_t>(**array, out);
      return out;
    case 11:
      append_elements<int64_t>(**array, out);
      return out;
    case 10: {
      append_elements<uint64_t>(**array, out);
      for (int64_t v : out) {
        if (v < 0) return wrong_elements(key, kWanted);  // above the largest int64
      }
      return out;
    }
    default:
      return wrong_elements(key, kWanted);
  }
}

void GgufFile::drop_resident(std::span<const std::byte> data) const {
  for (const MappedFile& part : parts_) {
    const std::byte* begin = part.bytes().data();
    if (data.data() >= begin && data.data() < begin + part.size()) {
      part.drop_resident(static_cast<size_t>(data.data() - begin), data.size());
      return;
    }
  }
}

void GgufFile::will_need() const {
  for (const MappedFile& part : parts_) part.will_need(0, part.size());
}

}  // namespace inferens
