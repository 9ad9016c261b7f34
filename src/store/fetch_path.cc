// A model from this machine: copied, so that the store owns its bytes and their hash.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "formats/gguf.h"
#include "store/fetchers.h"
#include "store/incoming_file.h"
#include "store/names.h"

namespace inferens {
namespace {

StatusOr<StoredFile> copy_into_store(const std::string& path, FetchContext& context) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return system_error("cannot open", path, errno);
  std::error_code error;
  uint64_t total = std::filesystem::file_size(path, error);
  if (error) return system_error("cannot stat", path, error.value());
  // Copying again costs less than proving that a half copy is of the same file.
  auto incoming = IncomingFile::open(context.store.home(), "path-" + blob_file_name(sha256_digest(path)), context.progress);
  if (!incoming.ok()) return incoming.status();
  if (Status s = incoming->restart(); !s.ok()) return s;
  if (Status s = incoming->reserve(total); !s.ok()) return s;
  StoredFile stored{"model", safe_file_name(path), "", 0};
  context.progress.begin(stored.name, total, 0);
  std::vector<std::byte> buffer(size_t{1} << 20);
  for (;;) {
    ssize_t n = ::read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot read", path, errno);
    if (n == 0) break;
    if (Status s = incoming->append(std::span(buffer).first(static_cast<size_t>(n))); !s.ok()) return s;
    context.progress.advance(incoming->size());
  }
  context.progress.end();
  stored.bytes = incoming->size();
  auto digest = incoming->finish(context.options.sha256);
  if (!digest.ok()) return digest.status().with_context(path);
  stored.digest = *digest;
  return stored;
}

}  // namespace

std::vector<std::string> split_part_names(const std::string& name) {
  constexpr std::string_view kPattern = "-#####-of-#####.gguf";
  constexpr int kMaxParts = 1000;
  if (name.size() <= kPattern.size()) return {name};
  std::string stem = name.substr(0, name.size() - kPattern.size());
  std::string_view tail = std::string_view(name).substr(stem.size());
  for (size_t i = 0; i < kPattern.size(); ++i) {
    if (kPattern[i] == '#' ? tail[i] < '0' || tail[i] > '9' : tail[i] != kPattern[i]) return {name};
  }
  int count = 0;
  std::from_chars(tail.data() + 10, tail.data() + 15, count);
  if (count < 1 || count > kMaxParts) return {name};
  std::vector<std::string> names;
  for (int i = 1; i <= count; ++i) {
    std::array<char, 32> suffix;
    std::snprintf(suffix.data(), suffix.size(), "-%05d-of-%05d.gguf", i, count);
    names.push_back(stem + suffix.data());
  }
  return names;
}

FetchedFiles fetch_path(const Source& source, FetchContext& context) {
  // Opened first, so that a wrong file is refused before a single byte of it is copied.
  if (auto gguf = GgufFile::open(source.location); !gguf.ok()) return gguf.status();
  std::filesystem::path path = source.location;
  std::vector<std::string> names = split_part_names(path.filename().string());
  if (names.size() > 1 && !context.options.sha256.empty()) return invalid_argument("--sha256 is for a model in one file; '" + source.location + "' is one of " + std::to_string(names.size()));
  std::vector<StoredFile> files;
  for (const std::string& name : names) {
    auto file = copy_into_store((path.parent_path() / name).string(), context);
    if (!file.ok()) return file.status();
    files.push_back(std::move(file).value());
  }
  return files;
}

}  // namespace inferens
