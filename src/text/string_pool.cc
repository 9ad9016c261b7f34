#include "text/string_pool.h"

#include <xxhash.h>

#include <bit>
#include <utility>

namespace inferens {
namespace {

uint64_t hash_of(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}
uint32_t tag_of(uint64_t hash) {
  return static_cast<uint32_t>(hash >> 32);
}

}  // namespace

void StringPool::reserve(size_t strings, size_t bytes) {
  starts_.reserve(strings + 1);
  bytes_.reserve(bytes);
}

void StringPool::add(std::string_view text) {
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  starts_.push_back(bytes_.size());
}

StringIndex::StringIndex(const StringPool& pool, size_t expected_strings)
    : pool_(&pool), slots_(std::bit_ceil(expected_strings * 3 / 2 + 8)) {}

size_t StringIndex::slot_of(std::string_view text, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  const uint32_t tag = tag_of(hash);
  size_t at = hash & mask;
  while (slots_[at].position != kNone) {
    if (slots_[at].tag == tag && (*pool_)[static_cast<size_t>(slots_[at].position)] == text) break;
    at = (at + 1) & mask;
  }
  return at;
}

bool StringIndex::insert(int32_t position) {
  const std::string_view text = (*pool_)[static_cast<size_t>(position)];
  const uint64_t hash = hash_of(text);
  Slot& slot = slots_[slot_of(text, hash)];
  if (slot.position != kNone) return false;
  slot = {tag_of(hash), position};
  if (++used_ * 3 > slots_.size() * 2) grow();
  return true;
}

int32_t StringIndex::find(std::string_view text) const {
  return slots_[slot_of(text, hash_of(text))].position;
}

void StringIndex::grow() {
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
  for (const Slot& slot : old) {
    if (slot.position == kNone) continue;
    const std::string_view text = (*pool_)[static_cast<size_t>(slot.position)];
    slots_[slot_of(text, hash_of(text))] = slot;
  }
}

}  // namespace inferens
