// Many short strings in one block of memory, and an index from bytes to position: what a vocabulary of a quarter of a
// million tokens needs to be small and quick to search.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace inferens {

class StringPool {
 public:
  void reserve(size_t strings, size_t bytes);
  void add(std::string_view text);
  size_t size() const { return starts_.size() - 1; }
  std::string_view operator[](size_t i) const {
    return {bytes_.data() + starts_[i], static_cast<size_t>(starts_[i + 1] - starts_[i])};
  }

 private:
  std::vector<char> bytes_;
  std::vector<uint64_t> starts_ = {0};
};

// Which string of a pool has these bytes. Open addressing over a power of two, at most two thirds full. Only the
// strings that were inserted are found; of equal strings the first. The pool must outlive the index and keep its
// address.
class StringIndex {
 public:
  static constexpr int32_t kNone = -1;

  StringIndex(const StringPool& pool, size_t expected_strings);
  // False, and no change, when equal bytes are there already.
  bool insert(int32_t position);
  int32_t find(std::string_view text) const;

 private:
  struct Slot {
    uint32_t tag = 0;
    int32_t position = kNone;
  };
  // The slot that holds `text`, or the free one where it belongs.
  size_t slot_of(std::string_view text, uint64_t hash) const;
  void grow();

  const StringPool* pool_;
  std::vector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace inferens
