#include "store/incoming_file.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <vector>

#include "base/file.h"
#include "store/names.h"

namespace inferens {
namespace {

// Left free on the disk, so that a pull does not starve the database, logs and everything else on it.
constexpr uint64_t kSpareBytes = uint64_t{64} << 20;
constexpr size_t kMaxValidator = 512;

}  // namespace

StatusOr<IncomingFile> IncomingFile::open(const std::string& home, const std::string& key, Progress& progress) {
  IncomingFile incoming;
  incoming.home_ = home;
  incoming.path_ = home + "/incoming/" + key + ".partial";
  if (Status s = make_directories(home + "/incoming"); !s.ok()) return s;
  auto file = open_locked(incoming.path_, [&] { progress.note("another pull is fetching the same file; waiting for it"); });
  if (!file.ok()) return file.status();
  incoming.file_ = std::move(file).value();
  std::vector<std::byte> buffer(size_t{1} << 20);
  for (;;) {
    ssize_t n = ::read(incoming.file_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot read", incoming.path_, errno);
    if (n == 0) break;
    incoming.hash_.update(std::span(buffer).first(static_cast<size_t>(n)));
    incoming.size_ += static_cast<uint64_t>(n);
  }
  return incoming;
}

Status IncomingFile::append(std::span<const std::byte> bytes) {
  hash_.update(bytes);
  while (!bytes.empty()) {
    ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error("cannot write", path_, errno);
    size_ += static_cast<uint64_t>(n);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return ok_status();
}

Status IncomingFile::restart() {
  hash_ = Sha256();
  size_ = 0;
  if (::ftruncate(file_.get(), 0) != 0 || ::lseek(file_.get(), 0, SEEK_SET) != 0) return system_error("cannot truncate", path_, errno);
  return ok_status();
}

std::string IncomingFile::validator() const {
  auto text = read_file(path_ + ".etag.partial", kMaxValidator);
  return text.ok() ? *text : "";
}

Status IncomingFile::set_validator(const std::string& validator) {
  std::string path = path_ + ".etag.partial";
  if (validator.empty() || validator.size() > kMaxValidator) {
    ::unlink(path.c_str());
    return ok_status();
  }
  // Not written atomically: half a validator matches nothing, and then the download starts over.
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << validator;
  out.close();
  if (!out) return failed_precondition("cannot write '" + path + "'");
  return ok_status();
}

Status IncomingFile::reserve(uint64_t more_bytes) const {
  struct statvfs disk {};
  if (::fstatvfs(file_.get(), &disk) != 0) return ok_status();  // the write itself will tell
  uint64_t free_bytes = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
  if (free_bytes >= kSpareBytes && free_bytes - kSpareBytes >= more_bytes) return ok_status();
  return resource_exhausted("the disk of '" + home_ + "' has " + std::to_string(free_bytes >> 20) + " MiB free and the model needs " +
                            std::to_string(more_bytes >> 20) + " MiB more; free some space, or set INFERENS_HOME to a larger disk");
}

StatusOr<std::string> IncomingFile::finish(const std::string& expected_digest) {
  std::string digest = hash_.digest();
  if (!expected_digest.empty() && digest != expected_digest) {
    discard();
    return data_loss("the file's hash is " + digest + " but should be " + expected_digest +
                     ": it was damaged on the way or is not the file that was promised; the bytes were removed, pull again");
  }
  if (::fsync(file_.get()) != 0) return system_error("cannot sync", path_, errno);
  if (Status s = make_directories(home_ + "/blobs"); !s.ok()) return s;
  std::string blob = home_ + "/blobs/" + blob_file_name(digest);
  if (::rename(path_.c_str(), blob.c_str()) != 0) return system_error("cannot rename into", blob, errno);
  ::unlink((path_ + ".etag.partial").c_str());
  return digest;
}

void IncomingFile::discard() {
  ::unlink(path_.c_str());
  ::unlink((path_ + ".etag.partial").c_str());
}

}  // namespace inferens
