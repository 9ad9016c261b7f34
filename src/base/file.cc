#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace inferens {
namespace {

Status errno_status(const std::string& what, const std::string& path, int err) {
  std::string m = what + " '" + path + "': " + std::system_category().message(err);
  if (err == ENOENT) return not_found(std::move(m));
  if (err == ENOSPC || err == EDQUOT || err == ENOMEM) return resource_exhausted(std::move(m));
  if (err == EACCES || err == EPERM) return {StatusCode::kPermissionDenied, std::move(m)};
  return failed_precondition(std::move(m));
}

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_status("cannot write", path, errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return ok_status();
}

}  // namespace

StatusOr<std::string> read_file(const std::string& path, size_t max_bytes) {
  Descriptor d{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (d.fd < 0) return errno_status("cannot open", path, errno);
  std::string out;
  char buffer[1 << 16];
  for (;;) {
    ssize_t n = ::read(d.fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_status("cannot read", path, errno);
    if (n == 0) return out;
    if (out.size() + static_cast<size_t>(n) > max_bytes) {
      return resource_exhausted("file '" + path + "' is larger than the limit of " + std::to_string(max_bytes) +
                                " bytes");
    }
    out.append(buffer, static_cast<size_t>(n));
  }
}

StatusOr<AtomicFile> AtomicFile::create(const std::string& path) {
  AtomicFile f;
  f.path_ = path;
  const std::string temporary = path + ".tmp." + std::to_string(::getpid());
  f.fd_ = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (f.fd_ < 0) return errno_status("cannot create", temporary, errno);
  f.temporary_ = temporary;
  return f;
}

AtomicFile::AtomicFile(AtomicFile&& o) noexcept
    : fd_(std::exchange(o.fd_, -1)), path_(std::move(o.path_)), temporary_(std::exchange(o.temporary_, {})) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& o) noexcept {
  std::swap(fd_, o.fd_);
  std::swap(path_, o.path_);
  std::swap(temporary_, o.temporary_);
  return *this;
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status AtomicFile::append(std::string_view bytes) {
  return write_all(fd_, bytes, temporary_);
}

Status AtomicFile::commit() {
  if (::fsync(fd_) != 0) return errno_status("cannot sync", temporary_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return errno_status("cannot rename into", path_, errno);
  temporary_.clear();
  return ok_status();
}

Status write_file_atomically(const std::string& path, std::string_view bytes) {
  auto file = AtomicFile::create(path);
  if (!file.ok()) return file.status();
  if (Status s = file->append(bytes); !s.ok()) return s;
  return file->commit();
}

Status make_directories(const std::string& path) {
  std::error_code ec;
  std::filesystem::create_directories(path, ec);
  if (ec) return errno_status("cannot create folder", path, ec.value());
  return ok_status();
}

StatusOr<MappedFile> MappedFile::open(const std::string& path) {
  Descriptor d{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (d.fd < 0) return errno_status("cannot open", path, errno);
  struct stat st{};
  if (::fstat(d.fd, &st) != 0) return errno_status("cannot stat", path, errno);
  if (!S_ISREG(st.st_mode)) return invalid_argument("'" + path + "' is not a regular file");
  MappedFile f;
  f.path_ = path;
  f.size_ = static_cast<size_t>(st.st_size);
  if (f.size_ > 0) {
    void* p = ::mmap(nullptr, f.size_, PROT_READ, MAP_PRIVATE, d.fd, 0);
    if (p == MAP_FAILED) return errno_status("cannot map", path, errno);
    f.data_ = static_cast<const std::byte*>(p);
  }
  return f;
}

MappedFile::MappedFile(MappedFile&& o) noexcept
    : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)), path_(std::move(o.path_)) {}

MappedFile& MappedFile::operator=(MappedFile&& o) noexcept {
  std::swap(data_, o.data_);
  std::swap(size_, o.size_);
  std::swap(path_, o.path_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::will_need(size_t offset, size_t length) const {
  if (data_ == nullptr || offset >= size_) return;
  size_t begin = offset & ~size_t{4095};
  size_t end = offset + std::min(length, size_ - offset);
  ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_WILLNEED);
}

void MappedFile::drop_resident(size_t offset, size_t length) const {
  if (data_ == nullptr || offset >= size_) return;
  // Only whole pages inside the range: neighbours may still be in use.
  size_t begin = (offset + 4095) & ~size_t{4095};
  size_t end = (offset + std::min(length, size_ - offset)) & ~size_t{4095};
  if (begin < end) ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

}  // namespace inferens
