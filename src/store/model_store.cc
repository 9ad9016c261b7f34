#include "store/model_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/file.h"
#include "formats/gguf.h"
#include "model/packed_cache.h"
#include "store/names.h"

namespace inferens {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxManifest = size_t{1} << 20;
constexpr size_t kMaxText = size_t{4} << 20;
constexpr std::string_view kFolderSuffix = ".dir.partial";
constexpr unsigned kExchange = 1u << 1;  // RENAME_EXCHANGE of renameat2(2)

uint64_t file_bytes(const std::string& path) {
  std::error_code error;
  uint64_t bytes = fs::file_size(path, error);
  return error ? 0 : bytes;
}

uint64_t folder_bytes(const std::string& path) {
  std::error_code error;
  uint64_t total = 0;
  for (fs::recursive_directory_iterator it(path, error); !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it->is_regular_file(error) && !it->is_symlink(error)) total += file_bytes(it->path().string());
  }
  return total;
}

Status link_error(const std::string& path, const std::error_code& error) { return system_error("cannot link", path, error.value()); }

}  // namespace

StatusOr<ModelStore::Listing> ModelStore::list() const {
  Listing listing;
  std::error_code error;
  fs::directory_iterator entries(home_ + "/models", error);
  if (error.value() == ENOENT) return listing;
  if (error) return system_error("cannot read folder", home_ + "/models", error.value());
  std::set<std::string> names;
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    std::string name = entries->path().filename().string();
    if (parse_model_name(name).ok()) names.insert(name);
    if (error) return system_error("cannot read folder", home_ + "/models", error.value());
  }
  for (const std::string& name : names) {
    auto manifest = find(name);
    if (manifest.ok()) {
      listing.models.push_back(std::move(manifest).value());
    } else if (manifest.status().code() != StatusCode::kNotFound) {
      listing.damaged.push_back(manifest.status());
    }
  }
  return listing;
}

StatusOr<Manifest> ModelStore::find(const std::string& text) const {
  auto name = parse_model_name(text);
  if (!name.ok()) return name.status();
  std::string relative = "models/" + *name + "/manifest.json";
  auto json = read_beneath(home_, relative, kMaxManifest);
  if (!json.ok()) {
    if (json.status().code() != StatusCode::kNotFound) return json.status();
    return not_found("no model '" + *name + "' in '" + home_ + "'; 'inferens list' shows the models there, 'inferens pull SOURCE' fetches one");
  }
  auto manifest = manifest_from_json(*json, home_ + "/" + relative);
  if (manifest.ok() && manifest->name != *name) return data_loss("'" + home_ + "/" + relative + "' is the manifest of '" + manifest->name + "'; remove the model and pull it again");
  return manifest;
}

StatusOr<std::optional<Manifest>> ModelStore::find_source(const std::string& source) const {
  auto listing = list();
  if (!listing.ok()) return listing.status();
  for (Manifest& m : listing->models) {
    if (m.source == source) return std::optional(std::move(m));
  }
  return std::optional<Manifest>();
}

std::string ModelStore::model_path(const Manifest& manifest) const { return model_folder(manifest.name) + "/" + manifest.find("model")->name; }

StatusOr<std::string> ModelStore::text_of(const Manifest& manifest, std::string_view role) const {
  const StoredFile* file = manifest.find(role);
  if (file == nullptr) return std::string();
  return read_beneath(home_, "blobs/" + blob_file_name(file->digest), kMaxText);
}

bool ModelStore::has_blob(const std::string& digest, uint64_t bytes) const {
  struct stat st {};
  return ::lstat((home_ + "/blobs/" + blob_file_name(digest)).c_str(), &st) == 0 && S_ISREG(st.st_mode) && static_cast<uint64_t>(st.st_size) == bytes;
}

StatusOr<Descriptor> ModelStore::lock() const {
  if (Status s = make_directories(home_); !s.ok()) return s;
  return open_locked(home_ + "/store.lock", [] {});
}

Status ModelStore::stage(const Manifest& manifest, const std::string& folder) const {
  std::error_code error;
  fs::remove_all(folder, error);
  if (Status s = make_directories(folder); !s.ok()) return s;
  for (const StoredFile& file : manifest.files) {
    if (!has_blob(file.digest, file.bytes)) {
      return unavailable("file '" + file.name + "' of model '" + manifest.name + "' was removed while it was being installed; pull again");
    }
    fs::create_symlink("../../blobs/" + blob_file_name(file.digest), folder + "/" + file.name, error);
    if (error) return link_error(folder + "/" + file.name, error);
  }
  auto gguf = GgufFile::open(folder + "/" + manifest.find("model")->name);
  if (!gguf.ok()) {
    // The staging folder means nothing to the user; and bytes that came from elsewhere are a damaged delivery, not his input.
    std::string reason = gguf.status().message();
    for (size_t at = reason.find(folder + "/"); at != std::string::npos; at = reason.find(folder + "/")) reason.erase(at, folder.size() + 1);
    return data_loss("model '" + manifest.name + "' from " + printable(manifest.source) + ": " + reason);
  }
  return write_file_atomically(folder + "/manifest.json", manifest_to_json(manifest));
}

Status ModelStore::replace_folder(const std::string& staged, const std::string& name) const {
  if (Status s = make_directories(home_ + "/models"); !s.ok()) return s;
  std::string target = model_folder(name);
  if (::rename(staged.c_str(), target.c_str()) == 0) return ok_status();
  if (errno != ENOTEMPTY && errno != EEXIST) return system_error("cannot rename into", target, errno);
  std::error_code error;
  if (::syscall(SYS_renameat2, AT_FDCWD, staged.c_str(), AT_FDCWD, target.c_str(), kExchange) != 0) {
    // A file system without exchange: for a moment the model does not exist.
    std::string aside = staged + ".old.partial";
    if (::rename(target.c_str(), aside.c_str()) != 0 || ::rename(staged.c_str(), target.c_str()) != 0) return system_error("cannot rename into", target, errno);
    fs::remove_all(aside, error);
  }
  fs::remove_all(staged, error);
  return ok_status();
}

Status ModelStore::install(const Manifest& manifest) {
  auto held = lock();
  if (!held.ok()) return held.status();
  // The depth of this folder below home is that of models/<name>: relative links hold in both places.
  std::string staged = home_ + "/incoming/install-" + std::to_string(::getpid()) + ".partial";
  Status s = stage(manifest, staged);
  if (s.ok()) {
    auto previous = find(manifest.name);
    s = replace_folder(staged, manifest.name);
    if (s.ok() && previous.ok()) {
      std::vector<std::string> digests;
      for (const StoredFile& f : previous->files) digests.push_back(f.digest);
      if (auto freed = remove_unused_blobs_locked(digests); !freed.ok()) return freed.status();
    }
  }
  std::error_code error;
  if (!s.ok()) fs::remove_all(staged, error);
  return s;
}

Status ModelStore::copy(const std::string& from, const std::string& to) {
  auto source = find(from);
  if (!source.ok()) return source.status();
  auto name = parse_model_name(to);
  if (!name.ok()) return name.status();
  if (*name == source->name) return invalid_argument("'" + *name + "' is the model itself; give another name");
  if (find(*name).ok()) return already_exists("model '" + *name + "' exists; choose another name, or 'inferens rm " + *name + "' first");
  Manifest copy = *source;
  copy.name = *name;
  return install(copy);
}

StatusOr<uint64_t> ModelStore::remove(const std::string& text) {
  auto name = parse_model_name(text);
  if (!name.ok()) return name.status();
  auto held = lock();
  if (!held.ok()) return held.status();
  auto manifest = find(*name);
  // A damaged manifest must not make a model impossible to remove; what its blobs were is not known then.
  if (!manifest.ok() && manifest.status().code() != StatusCode::kDataLoss) return manifest.status();
  if (Status s = make_directories(home_ + "/incoming"); !s.ok()) return s;
  std::string aside = home_ + "/incoming/remove-" + std::to_string(::getpid()) + ".partial";
  if (::rename(model_folder(*name).c_str(), aside.c_str()) != 0) return system_error("cannot remove", model_folder(*name), errno);
  std::error_code error;
  fs::remove_all(aside, error);
  if (error) return system_error("cannot remove", aside, error.value());
  std::vector<std::string> digests;
  if (manifest.ok()) {
    for (const StoredFile& f : manifest->files) digests.push_back(f.digest);
  }
  return remove_unused_blobs_locked(digests);
}

StatusOr<uint64_t> ModelStore::remove_unused_blobs(const std::vector<std::string>& digests) {
  auto held = lock();
  if (!held.ok()) return held.status();
  return remove_unused_blobs_locked(digests);
}

StatusOr<uint64_t> ModelStore::remove_unused_blobs_locked(const std::vector<std::string>& digests) const {
  auto listing = list();
  if (!listing.ok()) return listing.status();
  // While a manifest cannot be read, any blob may be its own.
  if (!listing->damaged.empty()) return uint64_t{0};
  std::set<std::string> unused(digests.begin(), digests.end());
  for (const Manifest& m : listing->models) {
    for (const StoredFile& f : m.files) unused.erase(f.digest);
  }
  uint64_t freed = 0;
  for (const std::string& digest : unused) {
    std::string path = home_ + "/blobs/" + blob_file_name(digest);
    uint64_t bytes = file_bytes(path);
    if (::unlink(path.c_str()) == 0) freed += bytes;
    freed += remove_packed(home_, blob_file_name(digest));
  }
  return freed;
}

StatusOr<uint64_t> ModelStore::remove_incomplete() {
  auto held = lock();
  if (!held.ok()) return held.status();
  std::error_code error;
  std::set<std::string> paths;  // sorted: "x.dir.partial" comes before the "x.partial" whose lock guards it
  for (fs::directory_iterator entries(home_ + "/incoming", error); !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::string path = entries->path().string();
    if (path.ends_with(".partial")) paths.insert(path);
  }
  uint64_t freed = 0;
  for (const std::string& path : paths) {
    bool folder = fs::is_directory(fs::symlink_status(path, error));
    std::string guard = folder && path.ends_with(kFolderSuffix) ? path.substr(0, path.size() - kFolderSuffix.size()) + ".partial" : path;
    Descriptor file;
    if (!folder || guard != path) {
      auto opened = open_for_lock(guard);
      if (!opened.ok()) continue;
      auto locked = try_lock_file(*opened, guard);
      if (!locked.ok() || !*locked) continue;
      file = std::move(opened).value();
    }
    uint64_t bytes = folder ? folder_bytes(path) : file_bytes(path);
    fs::remove_all(path, error);
    if (!error) freed += bytes;
    if (guard != path) ::unlink(guard.c_str());
  }
  return freed;
}

}  // namespace inferens
