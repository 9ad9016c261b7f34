#include "store/manifest.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/checked.h"
#include "store/names.h"

namespace inferens {
namespace {

using Json = nlohmann::json;

constexpr int kManifestVersion = 1;

std::string string_at(const Json& object, const char* key) {
  auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

}  // namespace

const StoredFile* Manifest::find(std::string_view role) const {
  auto it = std::find_if(files.begin(), files.end(), [&](const StoredFile& f) { return f.role == role; });
  return it == files.end() ? nullptr : &*it;
}

uint64_t Manifest::total_bytes() const {
  uint64_t total = 0;
  for (const StoredFile& f : files) total = checked_add(total, f.bytes).value_or(std::numeric_limits<uint64_t>::max());
  return total;
}

std::string manifest_to_json(const Manifest& manifest) {
  Json files = Json::array();
  for (const StoredFile& f : manifest.files) files.push_back({{"role", f.role}, {"name", f.name}, {"digest", f.digest}, {"bytes", f.bytes}});
  Json json = {{"version", kManifestVersion}, {"name", manifest.name}, {"source", manifest.source}, {"created", manifest.created}, {"files", files}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

StatusOr<Manifest> manifest_from_json(const std::string& text, const std::string& where) {
  Status damaged = data_loss("'" + where + "' is not a manifest of this store; remove the model and pull it again");
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("version", Json()) != kManifestVersion) return damaged;
  Manifest manifest;
  auto name = parse_model_name(string_at(json, "name"));
  if (!name.ok()) return damaged;
  manifest.name = *name;
  manifest.source = string_at(json, "source");
  if (auto created = json.find("created"); created != json.end() && created->is_number_integer()) manifest.created = created->get<int64_t>();
  auto files = json.find("files");
  if (files == json.end() || !files->is_array()) return damaged;
  std::set<std::string> names;
  for (const Json& entry : *files) {
    if (!entry.is_object()) return damaged;
    StoredFile file{string_at(entry, "role"), string_at(entry, "name"), string_at(entry, "digest"), 0};
    auto bytes = entry.find("bytes");
    if (bytes == entry.end() || !bytes->is_number_unsigned() || !is_sha256_digest(file.digest)) return damaged;
    file.bytes = bytes->get<uint64_t>();
    if (file.name != safe_file_name(file.name) || file.name == "manifest.json" || !names.insert(file.name).second) return damaged;
    manifest.files.push_back(std::move(file));
  }
  if (manifest.find("model") == nullptr) return damaged;
  return manifest;
}

}  // namespace inferens
