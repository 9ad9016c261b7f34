// A file on its way into the store: incoming/<key>.partial, locked by the one process that fills it, hashed while it
// grows, kept when the process dies so that the next pull goes on where it ended, and renamed into blobs/ under its hash.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/descriptor.h"
#include "inferens/status.h"
#include "store/progress.h"
#include "store/sha256.h"

namespace inferens {

class IncomingFile {
 public:
  // `key` tells files apart and is a safe file name (a digest's hex). Bytes of an earlier try are kept and hashed.
  static StatusOr<IncomingFile> open(const std::string& home, const std::string& key, Progress& progress);

  uint64_t size() const { return size_; }
  Status append(std::span<const std::byte> bytes);
  Status restart();  // back to no bytes

  // What tells versions of the remote file apart (an ETag), kept beside the bytes of an unfinished try.
  std::string validator() const;
  Status set_validator(const std::string& validator);

  // Fails before the first byte when the disk cannot hold that many more.
  Status reserve(uint64_t more_bytes) const;

  // Checks the hash (expected empty: any), makes the bytes durable and moves them into blobs/. Returns the digest. Bytes
  // with a wrong hash are removed.
  StatusOr<std::string> finish(const std::string& expected_digest);
  // Removes the bytes.
  void discard();

 private:
  IncomingFile() = default;
  std::string home_;
  std::string path_;
  Descriptor file_;
  Sha256 hash_;
  uint64_t size_ = 0;
};

}  // namespace inferens
