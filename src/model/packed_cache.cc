#include "model/packed_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/descriptor.h"
#include "base/log.h"
#include "kernels/weight_format.h"

namespace inferens {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBlobPrefix = "sha256-";
constexpr size_t kBlobNameLength = kBlobPrefix.size() + 64;
constexpr std::string_view kFileSuffix = ".bin";
constexpr std::string_view kTemporaryMark = ".bin.tmp.";

// Pieces that are hashed on their own, so that workers can share a file and the hash does not depend on how many there are.
constexpr size_t kHashPiece = size_t{4} << 20;

using Hash = XXH128_canonical_t;

// The start of a packed file; the packed matrices follow at kPayloadOffset, a whole page for the map's sake. Little endian,
// as the packed matrices are.
struct Header {
  std::array<char, 8> magic;
  uint32_t version;
  uint32_t payload_offset;
  std::array<char, 32> layout;
  std::array<char, 128> identity;
  uint64_t plan_hash;
  uint64_t payload_bytes;
  Hash payload_hash;
  uint64_t header_hash;  // of all bytes before it
};
constexpr std::array<char, 8> kMagic = {'I', 'N', 'F', 'P', 'A', 'C', 'K', '\n'};
constexpr uint32_t kPayloadOffset = 4096;
static_assert(sizeof(Header) <= kPayloadOffset);

template <size_t size>
void put_text(std::array<char, size>& to, std::string_view text) {
  to.fill(0);
  std::copy_n(text.data(), std::min(text.size(), size), to.data());
}

uint64_t header_hash(const Header& h) { return XXH3_64bits(&h, offsetof(Header, header_hash)); }

std::string hex(const Hash& hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : hash.digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Hash hash_of(std::span<const Hash> hashes) {
  Hash out;
  XXH128_canonicalFromHash(&out, XXH3_128bits(hashes.data(), hashes.size_bytes()));
  return out;
}

// `done(begin, length)` is told of every piece when it was read.
template <class Done>
Hash hash_bytes(std::span<const std::byte> bytes, WorkerPool& pool, Done&& done) {
  std::vector<Hash> pieces((bytes.size() + kHashPiece - 1) / kHashPiece);
  pool.for_each(static_cast<int64_t>(pieces.size()), [&](int64_t i, int) {
    size_t begin = static_cast<size_t>(i) * kHashPiece;
    size_t length = std::min(kHashPiece, bytes.size() - begin);
    XXH128_canonicalFromHash(&pieces[static_cast<size_t>(i)], XXH3_128bits(bytes.data() + begin, length));
    done(begin, length);
  });
  return hash_of(pieces);
}

Hash hash_bytes(std::span<const std::byte> bytes, WorkerPool& pool) {
  return hash_bytes(bytes, pool, [](size_t, size_t) {});
}

// A blob of the store bears the SHA-256 of its content as its name; the store puts only verified content there.
std::optional<std::string> blob_name_of(const std::string& path, const std::string& home) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  if (error) return std::nullopt;
  fs::path blobs = fs::canonical(home + "/blobs", error);
  if (error || real.parent_path() != blobs) return std::nullopt;
  std::string name = real.filename().string();
  if (!name.starts_with(kBlobPrefix) || name.size() != kBlobNameLength) return std::nullopt;
  return name;
}

// What names the content of a model's parts: the first blob's name and a hash of the others' for a model of the store, so
// that its packed form can be found by the blob; else a hash of all bytes.
std::string identity_of(const GgufFile& file, const std::string& home, WorkerPool& pool) {
  std::vector<std::string> blobs;
  for (const MappedFile& part : file.parts()) {
    if (auto name = blob_name_of(part.path(), home)) blobs.push_back(*name);
  }
  if (blobs.size() == file.parts().size()) {
    std::string identity = blobs.front(), rest;
    for (size_t i = 1; i < blobs.size(); ++i) rest += blobs[i];
    return rest.empty() ? identity : identity + "-" + std::to_string(XXH3_64bits(rest.data(), rest.size()));
  }
  std::vector<Hash> parts;
  for (const MappedFile& part : file.parts()) {
    // Read once and not needed again soon.
    parts.push_back(hash_bytes(part.bytes(), pool, [&](size_t begin, size_t length) { part.drop_resident(begin, length); }));
  }
  return "xxh3-" + hex(hash_of(parts));
}

struct Entry {
  std::string path;
  uint64_t bytes = 0;
  fs::file_time_type used;
};

std::vector<Entry> entries_of(const std::string& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    entries.push_back({it->path().string(), it->file_size(ignored), it->last_write_time(ignored)});
  }
  return entries;
}

std::string name_of(const Entry& e) { return fs::path(e.path).filename().string(); }

bool remove_file(const std::string& path) {
  std::error_code error;
  return fs::remove(path, error);
}

std::string packed_folder(const std::string& home) { return home + "/packed"; }

}  // namespace

std::optional<PackedCache> PackedCache::make(const PackedCacheOptions& options, const GgufFile& file, PackedPlan plan, WorkerPool& pool) {
  bool worth_it = plan.bytes >= options.least_bytes && plan.bytes <= options.most_bytes;
  if (options.home.empty() || file.parts().empty() || !worth_it) return std::nullopt;
  return PackedCache(options, file, plan, pool);
}

PackedCache::PackedCache(const PackedCacheOptions& options, const GgufFile& file, PackedPlan plan, WorkerPool& pool)
    : options_(options), plan_(plan), pool_(&pool), folder_(packed_folder(options.home)), identity_(identity_of(file, options.home, pool)) {
  path_ = folder_ + "/" + identity_ + "-" + std::string(kPackedLayout) + "-v" + std::to_string(kPackedVersion) + std::string(kFileSuffix);
}

const std::byte* PackedCache::payload(const MappedFile& file) { return file.bytes().data() + kPayloadOffset; }

StatusOr<MappedFile> PackedCache::open(bool drop_pages) const {
  auto file = MappedFile::open(path_);
  if (!file.ok()) return file.status();
  if (file->size() != kPayloadOffset + plan_.bytes) return data_loss("it has " + std::to_string(file->size()) + " bytes, not " + std::to_string(kPayloadOffset + plan_.bytes));
  Header h, wanted{};
  std::memcpy(&h, file->bytes().data(), sizeof h);
  put_text(wanted.layout, kPackedLayout);
  put_text(wanted.identity, identity_);
  if (h.magic != kMagic || h.header_hash != header_hash(h)) return data_loss("its header is damaged");
  if (h.version != kPackedVersion || h.layout != wanted.layout || h.payload_offset != kPayloadOffset) return data_loss("it has another layout");
  if (h.identity != wanted.identity) return data_loss("it was made from another model");
  if (h.plan_hash != plan_.hash || h.payload_bytes != plan_.bytes) return data_loss("it holds other matrices");
  Hash found = hash_bytes(file->bytes().subspan(kPayloadOffset), *pool_, [&](size_t begin, size_t length) {
    if (drop_pages) file->drop_resident(kPayloadOffset + begin, length);
  });
  if (std::memcmp(&found, &h.payload_hash, sizeof found) != 0) return data_loss("its content is damaged");
  return file;
}

std::optional<MappedFile> PackedCache::find() const {
  auto file = open(false);
  if (file.ok()) {
    ::utimensat(AT_FDCWD, path_.c_str(), nullptr, 0);  // the time of the last use, for make_room; a read-only disk keeps the old
    return *std::move(file);
  }
  if (file.status().code() == StatusCode::kDataLoss) spdlog::warn("packed weights '{}' are made anew: {}", path_, file.status().message());
  return std::nullopt;
}

std::optional<MappedFile> PackedCache::keep(std::span<const std::byte> bytes) const {
  Status s = write(bytes);
  if (s.ok()) {
    auto written = open(true);  // the caller's bytes are still in memory: not both
    if (written.ok()) return *std::move(written);
    s = written.status();
  }
  auto level = s.code() == StatusCode::kUnavailable ? spdlog::level::debug : spdlog::level::warn;
  spdlog::log(level, "packed weights are not kept, the next start packs again: {} (--packed-cache off: do not try)", s.message());
  return std::nullopt;
}

Status PackedCache::write(std::span<const std::byte> bytes) const {
  if (Status s = make_directories(folder_); !s.ok()) return s;
  std::string lock_path = folder_ + "/lock";
  auto lock = open_for_lock(lock_path);
  if (!lock.ok()) return lock.status();
  auto locked = try_lock_file(*lock, lock_path);
  if (!locked.ok()) return locked.status();
  if (!*locked) return unavailable("another process is writing to '" + folder_ + "'");
  if (Status s = make_room(); !s.ok()) return s;
  Header h{};
  h.magic = kMagic;
  h.version = kPackedVersion;
  h.payload_offset = kPayloadOffset;
  put_text(h.layout, kPackedLayout);
  put_text(h.identity, identity_);
  h.plan_hash = plan_.hash;
  h.payload_bytes = plan_.bytes;
  h.payload_hash = hash_bytes(bytes, *pool_);
  h.header_hash = header_hash(h);
  std::string first_page(kPayloadOffset, '\0');
  std::memcpy(first_page.data(), &h, sizeof h);
  auto file = AtomicFile::create(path_);
  if (!file.ok()) return file.status();
  if (Status s = file->append(first_page); !s.ok()) return s;
  if (Status s = file->append({reinterpret_cast<const char*>(bytes.data()), bytes.size()}); !s.ok()) return s;
  return file->commit();
}

// Called with the lock held: whatever is unfinished was left by a process that died.
Status PackedCache::make_room() const {
  std::vector<Entry> entries = entries_of(folder_);
  std::erase_if(entries, [&](const Entry& e) {
    std::string name = name_of(e);
    bool unfinished = name.find(kTemporaryMark) != std::string::npos;
    bool replaced = name.starts_with(identity_ + "-");
    return (unfinished || replaced) ? (remove_file(e.path), true) : !name.ends_with(kFileSuffix);
  });
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  uint64_t total = plan_.bytes;
  for (const Entry& e : entries) total += e.bytes;
  for (const Entry& e : entries) {
    if (total <= options_.most_bytes) break;
    if (remove_file(e.path)) total -= e.bytes;
  }
  std::error_code error;
  fs::space_info space = fs::space(folder_, error);
  if (!error && space.available < plan_.bytes + options_.spare_bytes) {
    return resource_exhausted("the disk of '" + folder_ + "' has " + std::to_string(space.available >> 20) + " MiB left, " +
                              std::to_string((plan_.bytes + options_.spare_bytes) >> 20) + " are needed");
  }
  return ok_status();
}

uint64_t remove_packed(const std::string& home, std::string_view blob_name) {
  uint64_t freed = 0;
  for (const Entry& e : entries_of(packed_folder(home))) {
    if (name_of(e).starts_with(std::string(blob_name) + "-") && remove_file(e.path)) freed += e.bytes;
  }
  return freed;
}

}  // namespace inferens
