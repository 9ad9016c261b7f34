#include "formats/safetensors.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "base/checked.h"
#include "formats/file_kind.h"
#include "formats/safetensors_json.h"

namespace inferens {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit

struct Dtype {
  std::string_view name;
  uint32_t bits;
  std::optional<TensorType> type;
};

constexpr Dtype kDtypes[] = {
    {"F32", 32, TensorType::kF32},   {"F16", 16, TensorType::kF16}, {"BF16", 16, TensorType::kBF16},
    {"F64", 64, TensorType::kF64},   {"I8", 8, TensorType::kI8},    {"I16", 16, TensorType::kI16},
    {"I32", 32, TensorType::kI32},   {"I64", 64, TensorType::kI64}, {"BOOL", 8, std::nullopt},
    {"U8", 8, std::nullopt},         {"U16", 16, std::nullopt},     {"U32", 32, std::nullopt},
    {"U64", 64, std::nullopt},       {"F8_E4M3", 8, std::nullopt},  {"F8_E5M2", 8, std::nullopt},
    {"F8_E8M0", 8, std::nullopt},    {"F4", 4, std::nullopt},       {"F6_E2M3", 6, std::nullopt},
    {"F6_E3M2", 6, std::nullopt},    {"C64", 64, std::nullopt},     {"F8_E4M3FNUZ", 8, std::nullopt},
    {"F8_E5M2FNUZ", 8, std::nullopt}};

Status damaged(std::string reason) {
  return data_loss(std::move(reason) + ": the file is damaged, download it again");
}

// The bytes that a dtype and shape say; nullopt when they do not fit in 63 bits or end inside a byte.
std::optional<uint64_t> bytes_of(const Dtype& dtype, const std::vector<uint64_t>& shape) {
  std::optional<uint64_t> bits = dtype.bits;
  for (uint64_t dimension : shape) {
    bits = checked_mul(*bits, dimension);
    if (!bits) return std::nullopt;
  }
  if (*bits % 8 != 0) return std::nullopt;
  return *bits / 8;
}

StatusOr<SafetensorsTensor> make_tensor(const std::string& name, SafetensorsEntry& entry,
                                        std::span<const std::byte> data) {
  const std::string who = "tensor " + quote_name(name);
  const auto* dtype =
      std::find_if(std::begin(kDtypes), std::end(kDtypes), [&](const Dtype& d) { return d.name == entry.dtype; });
  if (dtype == std::end(kDtypes)) {
    return unsupported(who + " has the unknown dtype " + quote_name(entry.dtype) +
                       ": update this program, or get another file");
  }
  const uint64_t begin = entry.data_offsets[0], end = entry.data_offsets[1];
  if (begin > end) return damaged(who + " ends before it begins");
  if (end > data.size()) {
    return data_loss(who + " ends at byte " + std::to_string(end) + " and the file has " + std::to_string(data.size()) +
                     " bytes of tensors: it is truncated, download it again");
  }
  if (bytes_of(*dtype, entry.shape) != end - begin) {
    return damaged(who + " has " + std::to_string(end - begin) + " bytes, not what its dtype and shape say");
  }
  return SafetensorsTensor{name, std::move(entry.dtype), dtype->type, std::move(entry.shape),
                           data.subspan(begin, end - begin)};
}

// Sorted by their bytes, tensors must fill the data exactly: bytes that no tensor owns could carry another file.
Status check_cover(const std::vector<SafetensorsTensor>& tensors, std::span<const std::byte> data) {
  const std::byte* end = data.data();
  for (const SafetensorsTensor& tensor : tensors) {
    if (tensor.data.data() < end) return damaged("tensor " + quote_name(tensor.name) + " overlaps the one before it");
    if (tensor.data.data() > end) return damaged("there is a gap before tensor " + quote_name(tensor.name));
    end += tensor.data.size();
  }
  if (end != data.data() + data.size()) return damaged("there are bytes after the last tensor");
  return ok_status();
}

// The header's JSON and the bytes behind it.
StatusOr<std::pair<std::string_view, std::span<const std::byte>>> split_header(std::span<const std::byte> bytes) {
  uint64_t header_bytes = 0;
  const std::string_view head{reinterpret_cast<const char*>(bytes.data()),
                              std::min(bytes.size(), sizeof header_bytes + 1)};
  // A GGUF file of 123 tensors has the same ninth byte.
  if (!head.substr(std::min(head.size(), sizeof header_bytes)).starts_with('{') || head.starts_with("GGUF")) {
    return invalid_argument("not a safetensors file: " + describe_wrong_file(bytes));
  }
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  if (header_bytes > kMaxHeaderBytes) {
    return damaged("its header claims " + std::to_string(header_bytes) + " bytes, and 100000000 are the most");
  }
  const std::span<const std::byte> rest = bytes.subspan(sizeof header_bytes);
  if (header_bytes > rest.size())
    return data_loss("the file ends inside its header: it is truncated, download it again");
  return std::pair(std::string_view(reinterpret_cast<const char*>(rest.data()), header_bytes),
                   rest.subspan(header_bytes));
}

}  // namespace

uint64_t SafetensorsTensor::elements() const {
  uint64_t count = 1;  // the product was checked when the file was read
  for (uint64_t dimension : shape) count *= dimension;
  return count;
}

StatusOr<SafetensorsFile> SafetensorsFile::parse(std::span<const std::byte> bytes, const std::string& name) {
  const auto fail = [&name](const Status& s) { return s.with_context("'" + name + "'"); };
  const auto parts = split_header(bytes);
  if (!parts.ok()) return fail(parts.status());
  const auto [json, data] = *parts;
  auto header = parse_safetensors_header(json);
  if (!header.ok()) return fail(header.status().with_context("its header"));
  SafetensorsFile file;
  file.path_ = name;
  file.bytes_ = bytes.size();
  file.metadata_ = std::move(header->metadata);
  for (auto& [tensor_name, entry] : header->tensors) {
    auto tensor = make_tensor(tensor_name, entry, data);
    if (!tensor.ok()) return fail(tensor.status());
    file.tensors_.push_back(std::move(tensor.value()));
  }
  // By the end too, so that empty tensors come before the one that starts where they stand.
  std::sort(file.tensors_.begin(), file.tensors_.end(), [](const SafetensorsTensor& a, const SafetensorsTensor& b) {
    return std::pair(a.data.data(), a.data.size()) < std::pair(b.data.data(), b.data.size());
  });
  if (Status s = check_cover(file.tensors_, data); !s.ok()) return fail(s);
  for (size_t i = 0; i < file.tensors_.size(); ++i) file.tensor_index_.emplace(file.tensors_[i].name, i);
  return file;
}

StatusOr<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  constexpr std::string_view kIndex = ".safetensors.index.json";
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    const std::string whole = path + "/model.safetensors", index = path + "/model.safetensors.index.json";
    if (std::filesystem::exists(whole, ignored)) return open_file(whole);
    if (std::filesystem::exists(index, ignored)) return open_sharded(index);
    return not_found("'" + path +
                     "' holds neither model.safetensors nor model.safetensors.index.json: name a model's folder");
  }
  return path.ends_with(kIndex) ? open_sharded(path) : open_file(path);
}

StatusOr<SafetensorsFile> SafetensorsFile::open_file(const std::string& path) {
  auto map = MappedFile::open(path);
  if (!map.ok()) return map.status();
  auto file = parse(map->bytes(), path);
  if (file.ok()) file->shards_.push_back(std::move(map.value()));
  return file;
}

StatusOr<SafetensorsFile> SafetensorsFile::open_sharded(const std::string& index_path) {
  const std::string where = "'" + index_path + "'";
  const auto json = read_file(index_path, kMaxHeaderBytes);
  if (!json.ok()) return json.status();
  const auto weight_map = parse_safetensors_index(*json);
  if (!weight_map.ok()) return weight_map.status().with_context(where);
  std::set<std::string> names;
  for (const auto& [tensor, file] : *weight_map) names.insert(file);
  const std::string folder = std::filesystem::path(index_path).parent_path().string();
  SafetensorsFile whole;
  for (const std::string& name : names) {
    auto shard = open_file(folder.empty() ? name : folder + "/" + name);
    if (!shard.ok()) return shard.status().with_context("a shard of " + where);
    if (Status s = whole.add_shard(std::move(shard.value())); !s.ok()) return s;
  }
  for (const auto& [tensor, file] : *weight_map) {
    if (whole.find_tensor(tensor) == nullptr) {
      return data_loss(where + ": tensor " + quote_name(tensor) +
                       " is in none of the shards: download all files again");
    }
  }
  whole.path_ = index_path;
  return whole;
}

Status SafetensorsFile::add_shard(SafetensorsFile shard) {
  if (shards_.empty()) {
    *this = std::move(shard);
    return ok_status();
  }
  for (SafetensorsTensor& tensor : shard.tensors_) {
    if (!tensor_index_.emplace(tensor.name, tensors_.size()).second) {
      return data_loss("'" + shard.path_ + "': tensor " + quote_name(tensor.name) +
                       " is also in another shard: download all files again");
    }
    tensors_.push_back(std::move(tensor));
  }
  shards_.push_back(std::move(shard.shards_.front()));
  bytes_ += shard.bytes_;
  return ok_status();
}

const SafetensorsTensor* SafetensorsFile::find_tensor(std::string_view name) const {
  const auto it = tensor_index_.find(name);
  return it == tensor_index_.end() ? nullptr : &tensors_[it->second];
}

}  // namespace inferens
