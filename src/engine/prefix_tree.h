// The prefix cache: a radix tree over tokens whose edges end at page borders, so that every node is one page per KV
// group. A prompt that starts like an earlier one takes over its pages instead of computing them again. Compared by
// tokens, never by hash; one root per tenant salt, so that tenants cannot see each other's prompts. One tree serves one
// model and KV type. Not thread safe; owned by the engine thread. Source of the idea: SGLang's RadixAttention (arXiv
// 2312.07104).
//
// A node with fewer than kPageTokens tokens is a leaf. Its page may still be written behind those tokens by the
// sequence that owns it, so others copy from it and never share it. No node's tokens are a prefix of a sibling's.
//
// Sliding-window groups: a node may lack the page of such a group. A hit of L tokens needs every page that the token at
// position L still sees: all of them in full-attention groups, the window's in the others.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "engine/page_pool.h"
#include "inferens/status.h"
#include "model/model.h"

namespace inferens {

// The first page that a token at `position` sees in a group of this window (0: full attention).
constexpr int32_t first_visible_page(int32_t position, int32_t window) {
  return window == 0 || position < window ? 0 : (position - window + 1) / kPageTokens;
}

struct PrefixHit {
  int32_t tokens = 0;                      // how many tokens of the prompt have their K,V in the pages
  std::vector<std::vector<PageId>> pages;  // [group][page] up to the page of the last token; kNoPage before the window
};

struct PrefixTreeStats {
  int64_t queries = 0;  // tokens asked for
  int64_t hits = 0;     // tokens found and used: what the cache saved
  int64_t inserted_pages = 0;
  int64_t evicted_pages = 0;    // for room
  int64_t expired_pages = 0;    // by time to live
  int64_t duplicate_pages = 0;  // computed twice by sequences at the same time, and then shared
};

class PrefixTree {
 public:
  // pools: one per group, outliving the tree. Pages unused for longer than time_to_live are dropped; 0: no limit.
  PrefixTree(const std::vector<KvGroup>& groups, std::vector<PagePool>& pools, Nanos time_to_live);
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // The longest usable prefix of `tokens`. Takes no references: the caller retains the pages before anything is
  // evicted.
  PrefixHit match(std::string_view salt, std::span<const TokenId> tokens) const;

  // Puts in the pages of a sequence that has the K,V of all `tokens`; takes references to what is new. Where the tree
  // had a full page of the same tokens, the sequence's table is moved to that page and its own is released.
  void insert(std::string_view salt, std::span<const TokenId> tokens, std::vector<std::vector<PageId>>& tables,
              Nanos now);

  // Sequences tell when they take and give back a page; the tree learns which of its pages nobody uses. `cold`:
  // unlikely to be wanted again (it left a sliding window), evict it before others.
  void retain(size_t group, PageId page);
  void release(size_t group, PageId page, Nanos now, bool cold = false);

  // Frees one page of the group, the least recently used that no sequence holds. False when there is none.
  bool evict(size_t group);
  // Pages that evict() could free.
  int32_t evictable(size_t group) const { return idle_[group].count; }

  // Keeps the full pages of this prefix until `until`, whatever else happens. Returns the tokens kept.
  int32_t pin(std::string_view salt, std::span<const TokenId> tokens, Nanos until);
  bool pinned() const { return !pinned_.empty(); }
  void unpin_all(Nanos now);
  // Drops what outlived its time, pins first.
  void expire(Nanos now);
  void clear();  // all that no sequence holds and no pin keeps

  // Grows with every insertion: no need to look again for a longer hit while it stands still.
  uint64_t version() const { return version_; }
  PrefixTreeStats& stats() { return stats_; }
  int64_t nodes() const { return static_cast<int64_t>(nodes_.size()); }

  // Adds the tree's own references to expected[group][page] and checks the structure.
  Status check(std::vector<std::vector<int32_t>>& expected) const;

 private:
  struct Node;
  struct TokenOrder {
    using is_transparent = void;
    bool operator()(const Node* a, const Node* b) const;
    bool operator()(const Node* a, std::span<const TokenId> b) const;
    bool operator()(std::span<const TokenId> a, const Node* b) const;
  };
  // A node's page in one group, and its place in the list of idle pages.
  struct Slot {
    PageId page = kNoPage;
    bool idle = false;
    Node* colder = nullptr;
    Node* warmer = nullptr;
    Nanos last_use = 0;
    uint64_t stamp = 0;  // order of becoming idle
  };
  struct Node {
    Node* parent = nullptr;  // null in a root
    std::string_view salt;   // roots only
    std::vector<TokenId> tokens;
    std::set<Node*, TokenOrder> children;
    std::vector<Slot> slots;  // [group]
    Nanos pinned_until = 0;
    size_t index = 0;  // in nodes_
  };
  struct IdleList {
    Node* coldest = nullptr;
    Node* warmest = nullptr;
    int32_t count = 0;
  };

  const Node* find_root(std::string_view salt) const;
  Node* make_root(std::string_view salt);
  // The child that shares the most leading tokens with `tokens`, and how many.
  static std::pair<Node*, int32_t> best_child(const Node& parent, std::span<const TokenId> tokens);
  Node* insert_page(Node& parent, std::span<const TokenId> tokens, size_t page_index,
                    std::vector<std::vector<PageId>>& tables, Nanos now);
  Node& add_node(Node& parent, std::span<const TokenId> tokens);
  void adopt_pages(Node& node, size_t page_index, bool share, std::vector<std::vector<PageId>>& tables, Nanos now);
  void set_page(Node& node, size_t group, PageId page);
  void drop_page(Node& node, size_t group);
  void remove_if_empty(Node* node);
  void unpin(size_t place, Nanos now);
  void link_idle(Node& node, size_t group, bool cold, Nanos now);
  void unlink_idle(Node& node, size_t group);
  bool evict_coldest(size_t group);

  std::vector<int32_t> windows_;  // [group]
  std::vector<PagePool>& pools_;
  Nanos time_to_live_;
  std::map<std::string, std::unique_ptr<Node>, std::less<>> roots_;
  std::vector<std::unique_ptr<Node>> nodes_;  // all but roots; flat, so that nothing recurses over depth
  std::vector<std::vector<Node*>> owner_;     // [group][page]
  std::vector<IdleList> idle_;                // [group]
  std::vector<Node*> pinned_;
  uint64_t version_ = 0;
  uint64_t next_stamp_ = 0;
  PrefixTreeStats stats_;
};

}  // namespace inferens
