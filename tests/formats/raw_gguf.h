// Builds GGUF bytes by hand, sound or not, for the tests of this folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "formats/gguf.h"

namespace inferens {

class RawGguf {
 public:
  RawGguf(uint64_t tensors, uint64_t keys, uint32_t version = 3) { text("GGUF").u32(version).u64(tensors).u64(keys); }

  RawGguf& text(std::string_view s) {
    bytes_ += s;
    return *this;
  }
  RawGguf& u8(uint8_t v) { return raw(v); }
  RawGguf& u32(uint32_t v) { return raw(v); }
  RawGguf& u64(uint64_t v) { return raw(v); }
  RawGguf& string(std::string_view s) { return u64(s.size()).text(s); }
  RawGguf& key(std::string_view name, uint32_t type) { return string(name).u32(type); }
  RawGguf& tensor(std::string_view name, std::initializer_list<uint64_t> shape, uint32_t type, uint64_t offset) {
    string(name).u32(static_cast<uint32_t>(shape.size()));
    for (uint64_t dimension : shape) u64(dimension);
    return u32(type).u64(offset);
  }
  // Zeros up to a multiple of `alignment`, then `count` more.
  RawGguf& data(size_t count, size_t alignment = 32) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment + count);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  template <class T>
  RawGguf& raw(T v) {
    char b[sizeof v];
    std::memcpy(b, &v, sizeof v);
    bytes_.append(b, sizeof v);
    return *this;
  }
  std::string bytes_;
};

inline StatusOr<GgufFile> parse_gguf(std::string_view bytes) {
  return GgufFile::parse(std::as_bytes(std::span(bytes.data(), bytes.size())), "model.gguf");
}

// A refusal is one line that begins with the file's name and says `reason`.
inline void expect_refused(const Status& s, StatusCode code, std::string_view file, std::string_view reason) {
  EXPECT_EQ(s.code(), code) << s.to_string();
  EXPECT_THAT(s.message(), testing::HasSubstr("'" + std::string(file)));
  EXPECT_THAT(s.message(), testing::HasSubstr(std::string(reason)));
  EXPECT_THAT(s.message(), testing::Not(testing::HasSubstr("\n")));
}

inline void expect_refused(const RawGguf& file, StatusCode code, std::string_view reason) {
  auto parsed = parse_gguf(file.bytes());
  ASSERT_FALSE(parsed.ok());
  expect_refused(parsed.status(), code, "model.gguf", reason);
}

}  // namespace inferens
