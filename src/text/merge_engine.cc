#include "text/merge_engine.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace inferens {
namespace {

// Up to here a scan over all pairs after each merge is quicker than a heap (measured on English and code).
constexpr size_t kShort = 64;

}  // namespace

MergeTable::MergeTable(size_t expected) {
  slots_.resize(std::bit_ceil(std::max<size_t>(expected + expected / 3, 8)));
  mask_ = slots_.size() - 1;
  shift_ = 64 - std::countr_zero(slots_.size());
}

void MergeTable::insert(TokenId left, TokenId right, Merge merge) {
  const uint64_t key = key_of(left, right);
  size_t at = slot_of(key);
  for (; slots_[at].key != kEmpty; at = (at + 1) & mask_) {
    if (slots_[at].key == key) return;
  }
  slots_[at] = {key, merge};
  if (++used_ * 4 > slots_.size() * 3) grow();
}

void MergeTable::grow() {
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
  mask_ = slots_.size() - 1;
  --shift_;
  for (const Slot& slot : old) {
    if (slot.key == kEmpty) continue;
    size_t at = slot_of(slot.key);
    while (slots_[at].key != kEmpty) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
}

void MergeEngine::merge(std::vector<TokenId>& symbols) {
  if (symbols.size() < 2) return;
  pairs_.resize(symbols.size());
  for (size_t i = 0; i + 1 < symbols.size(); ++i) pairs_[i] = find(symbols[i], symbols[i + 1]);
  pairs_.back() = {};
  if (symbols.size() <= kShort) {
    merge_short(symbols);
  } else {
    merge_long(symbols);
  }
}

void MergeEngine::merge_short(std::vector<TokenId>& symbols) {
  size_t count = symbols.size();
  while (true) {
    size_t best = 0;
    for (size_t i = 1; i < count; ++i) {
      if (pairs_[i].rank < pairs_[best].rank) best = i;
    }
    if (pairs_[best].rank == kNoRank) break;
    symbols[best] = pairs_[best].merged;
    std::copy(symbols.begin() + best + 2, symbols.begin() + count, symbols.begin() + best + 1);
    std::copy(pairs_.begin() + best + 2, pairs_.begin() + count, pairs_.begin() + best + 1);
    --count;
    pairs_[best] = best + 1 < count ? find(symbols[best], symbols[best + 1]) : Merge{};
    if (best > 0) pairs_[best - 1] = find(symbols[best - 1], symbols[best]);
  }
  symbols.resize(count);
}

void MergeEngine::push(uint32_t position) {
  if (pairs_[position].rank == kNoRank) return;
  heap_.push_back(static_cast<uint64_t>(pairs_[position].rank) << 32 | position);
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void MergeEngine::merge_long(std::vector<TokenId>& symbols) {
  const auto count = static_cast<uint32_t>(symbols.size());
  constexpr uint32_t kEnd = UINT32_MAX;
  next_.resize(count);
  previous_.resize(count);
  heap_.clear();
  for (uint32_t i = 0; i < count; ++i) {
    next_[i] = i + 1 < count ? i + 1 : kEnd;
    previous_[i] = i > 0 ? i - 1 : kEnd;
    if (pairs_[i].rank != kNoRank) heap_.push_back(static_cast<uint64_t>(pairs_[i].rank) << 32 | i);
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const auto at = static_cast<uint32_t>(heap_.back());
    const auto rank = static_cast<uint32_t>(heap_.back() >> 32);
    heap_.pop_back();
    if (pairs_[at].rank != rank) continue;  // stale: a neighbour merged since
    const uint32_t gone = next_[at];
    symbols[at] = pairs_[at].merged;
    pairs_[gone] = {};
    next_[at] = next_[gone];
    if (next_[at] != kEnd) previous_[next_[at]] = at;
    pairs_[at] = next_[at] != kEnd ? find(symbols[at], symbols[next_[at]]) : Merge{};
    push(at);
    if (previous_[at] != kEnd) {
      pairs_[previous_[at]] = find(symbols[previous_[at]], symbols[at]);
      push(previous_[at]);
    }
  }
  size_t kept = 0;
  for (uint32_t i = 0; i != kEnd; i = next_[i]) symbols[kept++] = symbols[i];
  symbols.resize(kept);
}

}  // namespace inferens
