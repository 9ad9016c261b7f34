// Reads single members of a zip archive (a Python wheel) as a stream; nothing is ever unpacked to a path that the archive
// names (libarchive).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "inferens/status.h"

namespace inferens {

struct ArchiveMember {
  std::string name;    // as the archive says: not to be used as a path
  uint64_t bytes = 0;  // unpacked, as the archive says
};

// Regular files only. Errors name the archive.
StatusOr<std::vector<ArchiveMember>> list_archive(const std::string& path);

// Gives the member's bytes to `sink` in order. More bytes than the archive announced, fewer, or a wrong checksum are errors.
Status read_archive_member(const std::string& path, const ArchiveMember& member, const std::function<Status(std::span<const std::byte>)>& sink);

}  // namespace inferens
