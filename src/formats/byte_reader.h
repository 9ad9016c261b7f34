// A cursor over little-endian bytes that never leaves them: each read says whether it fitted. Inside this folder only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace inferens {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }

  template <class T>
  [[nodiscard]] bool read(T& value) {
    if (remaining() < sizeof(T)) return false;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return true;
  }

  [[nodiscard]] bool read_bytes(uint64_t count, std::span<const std::byte>& out) {
    if (count > remaining()) return false;
    out = bytes_.subspan(position_, count);
    position_ += count;
    return true;
  }

  // A 64-bit length and that many bytes.
  [[nodiscard]] bool read_string(std::string_view& out) {
    uint64_t length = 0;
    std::span<const std::byte> text;
    if (!read(length) || !read_bytes(length, text)) return false;
    out = {reinterpret_cast<const char*>(text.data()), text.size()};
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
  size_t position_ = 0;
};

}  // namespace inferens
