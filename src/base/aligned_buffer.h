// Memory for kernels: 64-byte aligned, zeroed, grown on demand and never shrunk by the hot path. Large ones come straight
// from the kernel in huge pages where it offers them, since weights and KV are read in long streams.
#pragma once

#include <cstddef>
#include <utility>

#include "inferens/status.h"

namespace inferens {

class AlignedMemory {
 public:
  AlignedMemory() = default;
  // resource_exhausted when the machine has no such memory.
  static StatusOr<AlignedMemory> allocate(size_t bytes);
  AlignedMemory(AlignedMemory&& o) noexcept : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  AlignedMemory& operator=(AlignedMemory&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
  }
  AlignedMemory(const AlignedMemory&) = delete;
  AlignedMemory& operator=(const AlignedMemory&) = delete;
  ~AlignedMemory();
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// A reusable scratch array of plain values. Contents are not kept when it grows.
template <class T>
class Scratch {
 public:
  // At least `count` values; throws std::bad_alloc, which the engine step turns into a Status.
  T* ensure(size_t count) {
    if (count * sizeof(T) > memory_.size()) {
      auto m = AlignedMemory::allocate(count * sizeof(T));
      if (!m.ok()) throw std::bad_alloc();
      memory_ = *std::move(m);
    }
    return data();
  }
  T* data() const { return reinterpret_cast<T*>(memory_.data()); }

 private:
  AlignedMemory memory_;
};

}  // namespace inferens
