#include "store/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <memory>

#include "store/names.h"

namespace inferens {
namespace {

constexpr size_t kReadBlock = size_t{1} << 18;
constexpr size_t kMaxMembers = 100'000;

struct FreeArchive {
  void operator()(archive* a) const { archive_read_free(a); }
};
using ArchivePointer = std::unique_ptr<archive, FreeArchive>;

Status archive_error(const std::string& path, archive* a) {
  const char* reason = archive_error_string(a);
  return data_loss("cannot read '" + path + "' as a zip archive: " + printable(reason == nullptr ? "damaged" : reason) + "; remove it and pull again");
}

StatusOr<ArchivePointer> open_archive(const std::string& path) {
  ArchivePointer a(archive_read_new());
  if (a == nullptr) return resource_exhausted("no memory to read '" + path + "'");
  // The seeking reader trusts the central directory, which has the sizes that the streaming one may lack.
  archive_read_support_format_zip_seekable(a.get());
  if (archive_read_open_filename(a.get(), path.c_str(), kReadBlock) != ARCHIVE_OK) return archive_error(path, a.get());
  return a;
}

std::string entry_name(archive_entry* entry) {
  const char* name = archive_entry_pathname_utf8(entry);
  if (name == nullptr) name = archive_entry_pathname(entry);
  return name == nullptr ? "" : name;
}

// The next header; false at the end.
StatusOr<bool> next_entry(archive* a, const std::string& path, archive_entry** entry) {
  int r = archive_read_next_header(a, entry);
  if (r == ARCHIVE_EOF) return false;
  // A warning here is about a name that the locale cannot show, which does not matter.
  if (r != ARCHIVE_OK && r != ARCHIVE_WARN) return archive_error(path, a);
  return true;
}

ArchiveMember member_of(archive_entry* entry) {
  int64_t size = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : 0;
  return {entry_name(entry), size < 0 ? 0 : static_cast<uint64_t>(size)};
}

}  // namespace

StatusOr<std::vector<ArchiveMember>> list_archive(const std::string& path) {
  auto a = open_archive(path);
  if (!a.ok()) return a.status();
  std::vector<ArchiveMember> members;
  for (archive_entry* entry = nullptr;;) {
    auto more = next_entry(a->get(), path, &entry);
    if (!more.ok()) return more.status();
    if (!*more) return members;
    if (archive_entry_filetype(entry) == AE_IFREG) members.push_back(member_of(entry));
    if (members.size() > kMaxMembers) return data_loss("'" + path + "' has more than " + std::to_string(kMaxMembers) + " members, which no model's package has");
  }
}

Status read_archive_member(const std::string& path, const ArchiveMember& member, const std::function<Status(std::span<const std::byte>)>& sink) {
  auto a = open_archive(path);
  if (!a.ok()) return a.status();
  archive_entry* entry = nullptr;
  do {
    auto more = next_entry(a->get(), path, &entry);
    if (!more.ok()) return more.status();
    if (!*more) return not_found("'" + path + "' has no member '" + printable(member.name) + "'");
  } while (entry_name(entry) != member.name);

  std::vector<std::byte> buffer(kReadBlock);
  uint64_t total = 0;
  for (;;) {
    la_ssize_t n = archive_read_data(a->get(), buffer.data(), buffer.size());
    if (n < 0) return archive_error(path, a->get());  // a wrong checksum is a warning, which is negative too
    if (n == 0) break;
    total += static_cast<uint64_t>(n);
    if (total > member.bytes) break;
    if (Status s = sink(std::span(buffer).first(static_cast<size_t>(n))); !s.ok()) return s;
  }
  if (total != member.bytes) return data_loss("member '" + printable(member.name) + "' of '" + path + "' does not have the size that the archive announces; remove it and pull again");
  return ok_status();
}

}  // namespace inferens
