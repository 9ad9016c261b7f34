// A file descriptor with an owner, opening below a folder that cannot be left, and advisory locks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "inferens/status.h"

namespace inferens {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~Descriptor();
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// The error of a failed system call: "cannot OPEN 'PATH': reason".
Status system_error(const std::string& what, const std::string& path, int error_number);

// Opens `relative` below the folder `root` for reading; neither ".." nor a symbolic link can lead outside of it
// (openat2 with RESOLVE_BENEATH; on a kernel without it, one component at a time without following links).
StatusOr<Descriptor> open_beneath(const std::string& root, const std::string& relative);
// The same, reading the whole file of at most max_bytes.
StatusOr<std::string> read_beneath(const std::string& root, const std::string& relative, size_t max_bytes);

// The steps of open_locked.
StatusOr<Descriptor> open_for_lock(const std::string& path);
StatusOr<bool> try_lock_file(const Descriptor& file, const std::string& path);  // false: another holds it
Status wait_for_file_lock(const Descriptor& file, const std::string& path);
bool is_still_at(const Descriptor& file, const std::string& path);

// Opens or creates `path` and takes an exclusive lock on it, waiting for another holder; on_wait is called once if it must.
// The lock goes with the descriptor. The file that is locked is the one at `path` at the time of return, also when another
// process renamed or removed it while this one waited.
template <class OnWait>
StatusOr<Descriptor> open_locked(const std::string& path, OnWait&& on_wait) {
  for (bool told = false;;) {
    auto file = open_for_lock(path);
    if (!file.ok()) return file.status();
    auto locked = try_lock_file(*file, path);
    if (!locked.ok()) return locked.status();
    if (!*locked) {
      if (!std::exchange(told, true)) on_wait();
      if (Status s = wait_for_file_lock(*file, path); !s.ok()) return s;
    }
    if (is_still_at(*file, path)) return std::move(file).value();
  }
}

}  // namespace inferens
