// Free list and reference counts of pages.
#include "engine/page_pool.h"

#include <string>

namespace inferens {

PagePool::PagePool(int32_t pages) : references_(static_cast<size_t>(pages), 0) {
  free_.reserve(static_cast<size_t>(pages));
  for (PageId page = pages - 1; page >= 0; --page) free_.push_back(page);
}

PageId PagePool::allocate() {
  if (free_.empty()) return kNoPage;
  const PageId page = free_.back();
  free_.pop_back();
  references_[static_cast<size_t>(page)] = 1;
  return page;
}

int32_t PagePool::release(PageId page) {
  const int32_t left = --references_[static_cast<size_t>(page)];
  if (left == 0) free_.push_back(page);
  return left;
}

Status PagePool::check(std::span<const int32_t> expected) const {
  std::vector<bool> is_free(references_.size(), false);
  for (const PageId page : free_) {
    if (is_free[static_cast<size_t>(page)]) return internal_error("page " + std::to_string(page) + " is free twice");
    is_free[static_cast<size_t>(page)] = true;
  }
  for (size_t i = 0; i < references_.size(); ++i) {
    const std::string page = "page " + std::to_string(i);
    if (references_[i] != expected[i]) {
      return internal_error(page + " counts " + std::to_string(references_[i]) + " references and has " +
                            std::to_string(expected[i]));
    }
    if (is_free[i] != (references_[i] == 0)) {
      return internal_error(page + (is_free[i] ? " is free and referenced" : " is lost: neither free nor referenced"));
    }
  }
  return ok_status();
}

}  // namespace inferens
