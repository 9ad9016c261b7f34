// The memory of keys and values as the scheduler sees it: page pools of all groups, the prefix tree over them and the
// bytes behind. Sequences get, share, copy and give back pages only here. Not thread safe; owned by the engine thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "engine/page_pool.h"
#include "engine/prefix_tree.h"
#include "model/model.h"

namespace inferens {

// A sequence's pages. A page that is not full is written by one sequence only.
struct KvState {
  std::vector<std::vector<PageId>> pages;  // [group][page]; kNoPage once it left the group's window
  std::vector<size_t> first_page;          // [group] entries before it are kNoPage
  int32_t length = 0;                      // tokens whose K,V are in the pages

  void reset(size_t groups) {
    pages.assign(groups, {});
    first_page.assign(groups, 0);
    length = 0;
  }
};

// What one sequence of this many tokens needs in all groups together.
size_t kv_bytes_for(const std::vector<KvGroup>& groups, int32_t tokens);

// How many pages of every group `bytes` buys, in the proportion that sequences of this context need. Empty when it does
// not even hold one page each.
std::vector<int32_t> split_kv_memory(const std::vector<KvGroup>& groups, size_t bytes, int32_t context);

class KvCache {
 public:
  // pages: [group], as `memory` was made with. The groups must outlive the cache.
  // prefix_cache: false finds and keeps nothing.
  KvCache(const std::vector<KvGroup>& groups, std::span<const int32_t> pages, std::unique_ptr<KvPool> memory,
          bool prefix_cache, Nanos time_to_live);

  size_t groups() const { return groups_.size(); }
  const PagePool& pool(size_t group) const { return pools_[group]; }
  PrefixTree& tree() { return tree_; }
  KvPool& memory() { return *memory_; }

  // The longest sequence that fits when it is alone.
  int32_t capacity_tokens() const;
  // Pages that a sequence of `tokens` tokens holds at most while it decodes or takes small chunks.
  int32_t pages_for(size_t group, int32_t tokens) const;
  // Pages that can be had now: free ones and those only the tree holds.
  int32_t available(size_t group) const { return pools_[group].free_count() + tree_.evictable(group); }

  // Takes over from the tree as much of `tokens` as it has beyond kv.length. Returns the new kv.length.
  int32_t attach_prefix(KvState& kv, std::string_view salt, std::span<const TokenId> tokens, Nanos now);
  // What attach_prefix would find, without taking anything.
  PrefixHit peek_prefix(std::string_view salt, std::span<const TokenId> tokens) const {
    return tree_.match(salt, tokens);
  }
  // Pages for positions up to `end`, evicting what only the tree holds. All or nothing.
  bool reserve(KvState& kv, int32_t end);
  // Offers the sequence's pages to the tree. tokens: those of kv.length.
  void publish(KvState& kv, std::string_view salt, std::span<const TokenId> tokens, Nanos now);
  // Gives back the pages that no later token sees.
  void slide(KvState& kv, Nanos now);
  // Gives back everything.
  void release(KvState& kv, Nanos now);
  // Makes `to` a twin of `from`: full pages shared, a partial page copied. False when there is no page for the copy.
  bool fork(const KvState& from, KvState& to, Nanos now);

  // Pages in use + free = pool, and references = those of the tree and of these sequences.
  Status check(std::span<const KvState* const> sequences) const;

 private:
  PageId allocate(size_t group);

  const std::vector<KvGroup>& groups_;
  std::vector<PagePool> pools_;
  std::unique_ptr<KvPool> memory_;
  PrefixTree tree_;
  bool prefix_cache_;
};

}  // namespace inferens
