// The pool of KV pages of a transformer: per group one block of memory cut into pages; in a page, per layer of the group
// and KV head, keys as [head_dim][64 tokens] (ready for the dot product over 16 tokens at once), then values.
#pragma once

#include <memory>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/attention.h"
#include "model/model.h"
#include "model/model_config.h"

namespace inferens {

KvElement kv_element_for(KvType type);

// The groups of a configuration: full-attention layers first, then sliding-window layers. Empty groups are left out.
std::vector<KvGroup> kv_groups_of(const ModelConfig& config, KvElement element);

class PagedKv final : public KvPool {
 public:
  static StatusOr<std::unique_ptr<PagedKv>> make(const std::vector<KvGroup>& groups, KvElement element, int32_t kv_heads, int32_t head_dim,
                                                 std::span<const int32_t> pages_per_group);

  int32_t page_count(size_t group) const override { return groups_[group].pages; }
  void copy_page(size_t group, PageId from, PageId to, int32_t tokens) override;
  std::span<std::byte> page(size_t group, PageId id) override;

  // The block of one head of the group's `index`-th layer.
  std::byte* head_block(size_t group, PageId id, int32_t index, int32_t kv_head) {
    return page(group, id).data() + static_cast<size_t>(index * kv_heads_ + kv_head) * head_bytes_;
  }
  KvElement element() const { return element_; }

 private:
  struct Group {
    AlignedMemory memory;
    size_t page_bytes = 0;
    int32_t pages = 0;
  };
  std::vector<Group> groups_;
  KvElement element_ = KvElement::kF16;
  int32_t kv_heads_ = 0;
  size_t head_bytes_ = 0;
};

}  // namespace inferens
