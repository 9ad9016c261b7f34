#include "model/paged_kv.h"

#include <cstring>
#include <string>

#include "base/checked.h"

namespace inferens {

const char* kv_type_name(KvType t) {
  switch (t) {
    case KvType::kF32: return "f32";
    case KvType::kF16: return "f16";
    case KvType::kBf16: return "bf16";
    case KvType::kQ8_0: return "q8_0";
  }
  return "unknown";
}

KvElement kv_element_for(KvType type) {
  switch (type) {
    case KvType::kF32: return KvElement::kF32;
    case KvType::kF16: return KvElement::kF16;
    case KvType::kBf16: return KvElement::kBf16;
    case KvType::kQ8_0: return KvElement::kQ8_0;
  }
  return KvElement::kF16;
}

std::vector<KvGroup> kv_groups_of(const ModelConfig& config, KvElement element) {
  KvGroup full, sliding;
  sliding.window = config.window;
  for (int32_t layer = 0; layer < config.layers; ++layer) (config.is_sliding(layer) ? sliding : full).layers.push_back(layer);
  std::vector<KvGroup> groups;
  for (KvGroup* g : {&full, &sliding}) {
    if (g->layers.empty()) continue;
    g->page_bytes = g->layers.size() * static_cast<size_t>(config.kv_heads) * kv_head_bytes(element, config.head_dim);
    groups.push_back(*g);
  }
  return groups;
}

StatusOr<std::unique_ptr<PagedKv>> PagedKv::make(const std::vector<KvGroup>& groups, KvElement element, int32_t kv_heads, int32_t head_dim,
                                                 std::span<const int32_t> pages_per_group) {
  if (pages_per_group.size() != groups.size()) return invalid_argument("one page count per KV group is needed");
  auto kv = std::make_unique<PagedKv>();
  kv->element_ = element;
  kv->kv_heads_ = kv_heads;
  kv->head_bytes_ = kv_head_bytes(element, head_dim);
  for (size_t g = 0; g < groups.size(); ++g) {
    if (pages_per_group[g] <= 0) return invalid_argument("a KV group needs at least one page");
    auto bytes = checked_mul(groups[g].page_bytes, static_cast<size_t>(pages_per_group[g]));
    if (!bytes) return resource_exhausted("KV memory of " + std::to_string(pages_per_group[g]) + " pages is beyond any machine");
    auto memory = AlignedMemory::allocate(*bytes);
    if (!memory.ok()) return memory.status().with_context("KV pages");
    kv->groups_.push_back({*std::move(memory), groups[g].page_bytes, pages_per_group[g]});
  }
  return kv;
}

std::span<std::byte> PagedKv::page(size_t group, PageId id) {
  Group& g = groups_[group];
  return {g.memory.data() + static_cast<size_t>(id) * g.page_bytes, g.page_bytes};
}

void PagedKv::copy_page(size_t group, PageId from, PageId to, int32_t) {
  // Keys lie token by token in columns: the whole page costs one straight copy, a part of it would cost a strided one.
  std::memcpy(page(group, to).data(), page(group, from).data(), groups_[group].page_bytes);
}

}  // namespace inferens
