#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <new>
#include <string>

namespace inferens {

StatusOr<AlignedMemory> AlignedMemory::allocate(size_t bytes) {
  AlignedMemory m;
  if (bytes == 0) return m;
  // mmap gives zeroed pages that cost nothing until touched; a page is aligned more than enough.
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return resource_exhausted("cannot get " + std::to_string(bytes) + " bytes of memory");
  constexpr size_t kHugePage = size_t{2} << 20;
  if (bytes >= 2 * kHugePage) ::madvise(p, bytes, MADV_HUGEPAGE);
  m.data_ = static_cast<std::byte*>(p);
  m.size_ = bytes;
  return m;
}

AlignedMemory::~AlignedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace inferens
