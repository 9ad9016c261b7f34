#include "base/descriptor.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace inferens {
namespace {

StatusOr<Descriptor> open_by_components(const Descriptor& root, const std::string& shown, const std::string& relative) {
  int at = root.get();
  Descriptor held;
  for (size_t start = 0; start <= relative.size();) {
    size_t end = std::min(relative.find('/', start), relative.size());
    std::string component = relative.substr(start, end - start);
    if (component.empty() || component == "..") return invalid_argument("'" + shown + "' leaves the folder of the store");
    int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (end < relative.size() ? O_DIRECTORY : 0);
    Descriptor next(::openat(at, component.c_str(), flags));
    if (!next.valid()) return system_error("cannot open", shown, errno);
    held = std::move(next);
    at = held.get();
    start = end + 1;
  }
  return held;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Status system_error(const std::string& what, const std::string& path, int error_number) {
  std::string message = what + " '" + path + "': " + std::system_category().message(error_number);
  switch (error_number) {
    case ENOENT: return not_found(std::move(message));
    case EACCES:
    case EPERM:
    case EROFS: return {StatusCode::kPermissionDenied, std::move(message)};
    case ENOSPC:
    case EDQUOT: return resource_exhausted(message + "; free some space, or set INFERENS_HOME to a larger disk");
    default: return failed_precondition(std::move(message));
  }
}

StatusOr<Descriptor> open_beneath(const std::string& root, const std::string& relative) {
  Descriptor folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return system_error("cannot open", root, errno);
  std::string shown = root + "/" + relative;
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  Descriptor file(static_cast<int>(::syscall(SYS_openat2, folder.get(), relative.c_str(), &how, sizeof how)));
  if (file.valid()) return file;
  if (errno == ENOSYS || errno == EPERM) return open_by_components(folder, shown, relative);  // EPERM: a seccomp filter
  return system_error("cannot open", shown, errno);
}

StatusOr<std::string> read_beneath(const std::string& root, const std::string& relative, size_t max_bytes) {
  auto file = open_beneath(root, relative);
  if (!file.ok()) return file.status();
  std::string out;
  char buffer[1 << 14];
  for (;;) {
    ssize_t n = ::read(file->get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot read", root + "/" + relative, errno);
    if (n == 0) return out;
    if (out.size() + static_cast<size_t>(n) > max_bytes) {
      return data_loss("'" + root + "/" + relative + "' is larger than " + std::to_string(max_bytes) + " bytes, which no such file is");
    }
    out.append(buffer, static_cast<size_t>(n));
  }
}

StatusOr<Descriptor> open_for_lock(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file.valid()) return system_error("cannot open", path, errno);
  return file;
}

StatusOr<bool> try_lock_file(const Descriptor& file, const std::string& path) {
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK || errno == EINTR) return false;
  return system_error("cannot lock", path, errno);
}

Status wait_for_file_lock(const Descriptor& file, const std::string& path) {
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return system_error("cannot lock", path, errno);
  }
  return ok_status();
}

bool is_still_at(const Descriptor& file, const std::string& path) {
  struct stat held {};
  struct stat there {};
  return ::fstat(file.get(), &held) == 0 && ::stat(path.c_str(), &there) == 0 && held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

}  // namespace inferens
