// The one file system door: read whole files, write them atomically, map them. Errors name the path and the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "inferens/status.h"

namespace inferens {

// Reads a whole file of at most max_bytes; larger is an error, never a cut.
StatusOr<std::string> read_file(const std::string& path, size_t max_bytes = size_t{1} << 30);

// A file written piece by piece to a temporary name in the same folder. commit() syncs and renames it over `path`: a
// reader sees the old or the new bytes. Without commit() nothing is left behind. Movable, not copyable; one thread at a
// time.
class AtomicFile {
 public:
  static StatusOr<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&& o) noexcept;
  AtomicFile& operator=(AtomicFile&& o) noexcept;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  Status append(std::string_view bytes);
  Status commit();  // at most once, and nothing after it

 private:
  AtomicFile() = default;
  int fd_ = -1;
  std::string path_;
  std::string temporary_;  // empty once committed
};

// The same for bytes at hand.
Status write_file_atomically(const std::string& path, std::string_view bytes);

Status make_directories(const std::string& path);

// A read-only memory map of a whole regular file. Movable, not copyable. The bytes stay at one address for its life.
class MappedFile {
 public:
  static StatusOr<MappedFile> open(const std::string& path);
  MappedFile() = default;
  MappedFile(MappedFile&& o) noexcept;
  MappedFile& operator=(MappedFile&& o) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  size_t size() const { return size_; }
  const std::string& path() const { return path_; }
  // Tells the kernel that a range will be read soon, or is not needed now (its resident pages are given back; reading
  // it again is correct and slow). Hints: never fail.
  void will_need(size_t offset, size_t length) const;
  void drop_resident(size_t offset, size_t length) const;

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::string path_;
};

}  // namespace inferens
