// Which pages of one KV group are free and how many hold each of the others. Only numbers: the bytes are in
// model/model.h's KvPool. Not thread safe; owned by the engine thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "inferens/status.h"
#include "model/model.h"

namespace inferens {

class PagePool {
 public:
  explicit PagePool(int32_t pages);

  int32_t size() const { return static_cast<int32_t>(references_.size()); }
  int32_t free_count() const { return static_cast<int32_t>(free_.size()); }
  int32_t in_use() const { return size() - free_count(); }
  int32_t references(PageId page) const { return references_[static_cast<size_t>(page)]; }

  // A page with one reference, or kNoPage when none is free.
  PageId allocate();
  void retain(PageId page) { ++references_[static_cast<size_t>(page)]; }
  // Returns the references that are left; at 0 the page is free again.
  int32_t release(PageId page);

  // In use + free = size, no page twice in the free list, and every page's references are `expected`.
  Status check(std::span<const int32_t> expected) const;

 private:
  std::vector<PageId> free_;  // a stack: the page used last is warm in the caches
  std::vector<int32_t> references_;
};

}  // namespace inferens
