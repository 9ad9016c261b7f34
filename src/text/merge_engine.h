// Byte-pair merging itself: replaces the neighbours of best rank by their merged token until none is left, leftmost
// first among equals. Words are short, so a plain scan serves them; a long run goes through a heap in n log n time.
#pragma once

#include <cstdint>
#include <vector>

#include "inferens/generation.h"

namespace inferens {

inline constexpr uint32_t kNoRank = UINT32_MAX;

struct Merge {
  uint32_t rank = kNoRank;  // smaller merges first
  TokenId merged = -1;
};

// (left, right) → merge. Open addressing over a power of two, at most three quarters full.
class MergeTable {
 public:
  explicit MergeTable(size_t expected);
  // The first of equal pairs stays. rank < kNoRank.
  void insert(TokenId left, TokenId right, Merge merge);
  Merge find(TokenId left, TokenId right) const {
    const uint64_t key = key_of(left, right);
    for (size_t at = slot_of(key);; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.key == key) return slot.merge;
      if (slot.key == kEmpty) return {};
    }
  }
  size_t size() const { return used_; }

 private:
  static constexpr uint64_t kEmpty = UINT64_MAX;  // no pair of ids ≥ 0 has this key
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge;
  };
  static uint64_t key_of(TokenId left, TokenId right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  // Fibonacci hashing: the high bits of a product with 2^64 / golden ratio.
  size_t slot_of(uint64_t key) const {
    return static_cast<size_t>(((key ^ key >> 29) * 0x9E3779B97F4A7C15u) >> shift_);
  }
  void grow();

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  int shift_ = 0;
  size_t used_ = 0;
};

// Buffers that one thread keeps between words.
class MergeEngine {
 public:
  explicit MergeEngine(const MergeTable& table) : table_(table) {}
  // Merges `symbols` in place; negative ids merge with nothing. At most 2^31 symbols.
  void merge(std::vector<TokenId>& symbols);

 private:
  void merge_short(std::vector<TokenId>& symbols);
  void merge_long(std::vector<TokenId>& symbols);
  Merge find(TokenId left, TokenId right) const { return left < 0 || right < 0 ? Merge{} : table_.find(left, right); }
  void push(uint32_t position);

  const MergeTable& table_;
  std::vector<Merge> pairs_;    // [i]: the merge of symbol i with the one after it
  std::vector<uint64_t> heap_;  // rank << 32 | position, smallest first; entries go stale and are then skipped
  std::vector<uint32_t> next_, previous_;
};

}  // namespace inferens
