// Damaged and hostile GGUF files: each gives one line that names the file and the reason; none crashes, hangs or makes
// the program allocate what the file only claims.
#include <algorithm>

#include "base/file.h"
#include "formats/dequantize.h"
#include "raw_gguf.h"

namespace inferens {
namespace {

constexpr uint64_t kHuge[] = {uint64_t{1} << 31, uint64_t{1} << 62,    uint64_t{1} << 63, (uint64_t{1} << 63) - 1,
                              ~uint64_t{0},      ~uint64_t{0} / 8 + 1, ~uint64_t{0} - 3};
constexpr uint32_t kF32 = 0, kString = 8, kArray = 9;

TEST(GgufHostile, CountsOfTensorsAreCheckedAgainstTheFile) {
  for (uint64_t count : kHuge) {
    expect_refused(RawGguf(count, 0).data(4096), StatusCode::kDataLoss, "tensors, more than the file can hold");
    expect_refused(RawGguf(0, count).data(4096), StatusCode::kDataLoss, "metadata keys, more than the file can hold");
  }
}

TEST(GgufHostile, LengthsOfStringsAreCheckedAgainstTheFile) {
  for (uint64_t length : kHuge) {
    expect_refused(RawGguf(0, 1).u64(length).data(64), StatusCode::kDataLoss, "truncated");              // of a key
    expect_refused(RawGguf(0, 1).key("k", kString).u64(length).data(64), StatusCode::kDataLoss, "'k'");  // of a value
    expect_refused(RawGguf(0, 1).key("k", kArray).u32(kString).u64(1).u64(length).data(64), StatusCode::kDataLoss,
                   "'k'");
    expect_refused(RawGguf(1, 0).u64(length).data(64), StatusCode::kDataLoss, "truncated");  // of a tensor's name
  }
}

TEST(GgufHostile, LengthsOfArraysAreCheckedAgainstTheFile) {
  for (uint64_t count : kHuge) {
    for (uint32_t element = 0; element <= 12; ++element) {
      expect_refused(RawGguf(0, 1).key("k", kArray).u32(element).u64(count).data(256), StatusCode::kDataLoss,
                     "elements, more than the file can hold");
    }
  }
}

// The smallest published ones: 43 bytes with an array of 2^63 elements, 51 bytes with an array of strings.
TEST(GgufHostile, TheSmallestKnownBombsAreRefused) {
  const RawGguf numbers = RawGguf(0, 1).key("abc", kArray).u32(kF32).u64(uint64_t{1} << 63);
  EXPECT_LT(numbers.bytes().size(), 64u);
  expect_refused(numbers, StatusCode::kDataLoss, "more than the file can hold");
  const RawGguf strings = RawGguf(0, 1).key("abc", kArray).u32(kString).u64(uint64_t{1} << 60).u64(0);
  expect_refused(strings, StatusCode::kDataLoss, "more than the file can hold");
}

TEST(GgufHostile, NestedArraysEndAtADepthLimit) {
  RawGguf deep = RawGguf(0, 1).key("k", kArray);
  for (int i = 0; i < 100000; ++i) deep.u32(kArray).u64(1);
  expect_refused(deep, StatusCode::kDataLoss, "nested more than");
}

TEST(GgufHostile, ManyNestedArraysAreRefusedBeforeTheyFillMemory) {
  RawGguf wide = RawGguf(0, 1).key("k", kArray).u32(kArray).u64(100000);
  for (int i = 0; i < 100000; ++i) wide.u32(kF32).u64(0);
  expect_refused(wide, StatusCode::kDataLoss, "more than the file can hold");
}

TEST(GgufHostile, UnknownTypesAreRefusedByNumber) {
  expect_refused(RawGguf(0, 1).key("k", 13).data(64), StatusCode::kDataLoss, "value type 13");
  expect_refused(RawGguf(0, 1).key("k", kArray).u32(77).u64(1).data(64), StatusCode::kDataLoss, "element type 77");
  for (uint32_t type : {4u, 5u, 31u, 36u, 42u, 0xffffffffu}) {
    expect_refused(RawGguf(1, 0).tensor("t", {32}, type, 0).data(128), StatusCode::kUnsupported,
                   "type number " + std::to_string(type));
  }
  expect_refused(RawGguf(1, 0).tensor("t", {32}, 9, 0).data(128), StatusCode::kUnsupported, "Q8_1");
}

TEST(GgufHostile, BoolsOtherThanZeroAndOneAreRefused) {
  expect_refused(RawGguf(0, 1).key("k", 7).u8(2), StatusCode::kDataLoss, "bool");
  expect_refused(RawGguf(0, 1).key("k", kArray).u32(7).u64(2).u8(1).u8(255), StatusCode::kDataLoss, "bool");
}

TEST(GgufHostile, EmptyAndDoubledNamesAreRefused) {
  expect_refused(RawGguf(0, 1).key("", 0).u8(1).data(8), StatusCode::kDataLoss, "name of 0 bytes");
  expect_refused(RawGguf(0, 2).key("k", 0).u8(1).key("k", 0).u8(2), StatusCode::kDataLoss, "'k' appears twice");
  expect_refused(RawGguf(1, 0).tensor("", {1}, kF32, 0).data(64), StatusCode::kDataLoss, "name of 0 bytes");
  expect_refused(RawGguf(2, 0).tensor("t", {1}, kF32, 0).tensor("t", {1}, kF32, 32).data(64), StatusCode::kDataLoss,
                 "'t' appears twice");
}

TEST(GgufHostile, NamesInErrorsCannotForgeLines) {
  const RawGguf file = RawGguf(0, 1).key("a\nERROR: all is well\x1b[2J", 13).data(8);
  expect_refused(file, StatusCode::kDataLoss, "'a\\x0aERROR: all is well\\x1b[2J'");
}

TEST(GgufHostile, DimensionsAreChecked) {
  RawGguf five = RawGguf(1, 0).string("t").u32(5);
  for (int i = 0; i < 5; ++i) five.u64(1);
  expect_refused(five.u32(kF32).u64(0).data(64), StatusCode::kDataLoss, "5 dimensions");
  expect_refused(RawGguf(1, 0).string("t").u32(0xffffffff).data(64), StatusCode::kDataLoss, "dimensions");
  expect_refused(RawGguf(1, 0).tensor("t", {4, 0}, kF32, 0).data(64), StatusCode::kDataLoss, "dimension 2 is 0");
  expect_refused(RawGguf(1, 0).tensor("t", {33}, 2, 0).data(64), StatusCode::kDataLoss, "not a multiple of 32");
}

TEST(GgufHostile, ProductsOfDimensionsCannotWrap) {
  const uint64_t k32 = uint64_t{1} << 32, k62 = uint64_t{1} << 62, k63 = uint64_t{1} << 63;
  const std::initializer_list<uint64_t> shapes[] = {
      {k32, k32},
      {k62, 4},
      {k62, 2},
      {k63, 2},
      {~uint64_t{0}},
      {k63},
      {32, (uint64_t{1} << 42) + 1, uint64_t{1} << 20},
      {k32, k32, k32, k32},
      {1, k62, 4},
      {4, k62, 1, 1},
      {uint64_t{1} << 16, uint64_t{1} << 16, uint64_t{1} << 16, uint64_t{1} << 16}};
  for (const auto& shape : shapes) {
    for (uint32_t type : {kF32, 24u, 28u, 2u}) {  // F32, I8, F64, Q4_0
      auto parsed = parse_gguf(RawGguf(1, 0).tensor("t", shape, type, 0).data(64).bytes());
      ASSERT_FALSE(parsed.ok());
      expect_refused(parsed.status(), StatusCode::kDataLoss, "model.gguf", "tensor 't'");
    }
  }
}

TEST(GgufHostile, OffsetsAreCheckedAgainstTheFile) {
  expect_refused(RawGguf(1, 0).tensor("t", {8}, kF32, 1).data(64), StatusCode::kDataLoss, "not a multiple of 32");
  for (uint64_t offset : {uint64_t{32}, uint64_t{64}, uint64_t{1} << 40, uint64_t{1} << 63, ~uint64_t{0} - 31}) {
    expect_refused(RawGguf(1, 0).tensor("t", {16}, kF32, offset).data(64), StatusCode::kDataLoss,
                   "needs 64 bytes at offset");
  }
  EXPECT_TRUE(parse_gguf(RawGguf(1, 0).tensor("t", {16}, kF32, 0).data(64).bytes()).ok());
  expect_refused(RawGguf(1, 0).tensor("t", {16}, kF32, 0).data(63), StatusCode::kDataLoss, "truncated");
  expect_refused(RawGguf(1, 0).tensor("t", {16}, kF32, 0), StatusCode::kDataLoss, "truncated");
}

TEST(GgufHostile, OverlappingTensorsAreRefused) {
  expect_refused(RawGguf(2, 0).tensor("a", {16}, kF32, 0).tensor("b", {16}, kF32, 32).data(128), StatusCode::kDataLoss,
                 "overlap");
  expect_refused(RawGguf(2, 0).tensor("a", {16}, kF32, 0).tensor("b", {16}, kF32, 0).data(128), StatusCode::kDataLoss,
                 "overlap");
  // Gaps and any order are sound.
  EXPECT_TRUE(parse_gguf(RawGguf(2, 0).tensor("a", {8}, kF32, 96).tensor("b", {8}, kF32, 0).data(128).bytes()).ok());
}

TEST(GgufHostile, AlignmentIsBounded) {
  constexpr uint32_t kUint32 = 4, kUint64 = 10;
  for (uint32_t bad : {0u, 1u, 3u, 4u, 33u, 1u << 20, 1u << 31, 0xffffffffu}) {
    expect_refused(RawGguf(1, 1).key("general.alignment", kUint32).u32(bad).tensor("t", {8}, kF32, 0).data(64),
                   StatusCode::kDataLoss, "general.alignment");
    expect_refused(RawGguf(0, 1).key("general.alignment", kUint32).u32(bad), StatusCode::kDataLoss,
                   "general.alignment");
  }
  expect_refused(RawGguf(0, 1).key("general.alignment", kUint64).u64(32), StatusCode::kDataLoss, "not a uint32");
  EXPECT_TRUE(
      parse_gguf(RawGguf(1, 1).key("general.alignment", kUint32).u32(8).tensor("t", {8}, kF32, 0).data(32, 8).bytes())
          .ok());
}

TEST(GgufHostile, VersionsAreRefusedByName) {
  expect_refused(RawGguf(0, 0, 1), StatusCode::kUnsupported, "GGUF version 1 is not supported");
  expect_refused(RawGguf(0, 0, 4), StatusCode::kUnsupported, "GGUF version 4 is not supported");
  expect_refused(RawGguf(0, 0, 0), StatusCode::kUnsupported, "GGUF version 0 is not supported");
  expect_refused(RawGguf(0, 0, 3u << 24), StatusCode::kUnsupported, "big-endian");
}

std::string golden(const std::string& name) {
  return read_file(std::string(INFERENS_TEST_DATA) + "/gguf/" + name).value();
}

// Touches all that a sound file promises: under a sanitizer every byte out of bounds ends the test.
void read_everything(const GgufFile& file) {
  for (const auto& [key, value] : file.metadata()) {
    (void)file.get_uint(key);
    (void)file.get_float(key);
    (void)file.get_strings(key);
    (void)file.get_floats(key);
    (void)file.get_ints(key);
  }
  for (const TensorInfo& tensor : file.tensors()) {
    ASSERT_LE(tensor.row_bytes() * tensor.rows(), tensor.data.size());
    std::vector<float> row(tensor.row_length());
    ASSERT_TRUE(dequantize(tensor.type, tensor.data.first(tensor.row_bytes()), row).ok());
  }
}

// A copy of its own for each length: a sanitizer sees every read beyond the end.
TEST(GgufHostile, AFileCutAtAnyByteIsRefused) {
  for (const char* name : {"aligned.gguf", "split-00001-of-00003.gguf", "everything.gguf"}) {
    const std::string whole = golden(name);
    size_t end_of_data = 0;
    {
      const GgufFile file = parse_gguf(whole).value();
      const auto* begin = reinterpret_cast<const std::byte*>(whole.data());
      for (const TensorInfo& tensor : file.tensors()) {
        end_of_data = std::max(end_of_data, static_cast<size_t>(tensor.data.data() + tensor.data.size() - begin));
      }
    }
    for (size_t length = 0; length < whole.size(); ++length) {
      const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
      auto parsed = parse_gguf(std::string_view(cut.data(), cut.size()));
      ASSERT_EQ(parsed.ok(), length >= end_of_data) << name << " cut at " << length;
      if (!parsed.ok()) expect_refused(parsed.status(), parsed.status().code(), "model.gguf", ": ");
    }
  }
}

TEST(GgufHostile, NoChangeOfOneByteCrashes) {
  for (const char* name : {"aligned.gguf", "split-00001-of-00003.gguf"}) {
    const std::string whole = golden(name);
    size_t refused = 0;
    for (size_t at = 0; at < whole.size(); ++at) {
      std::string changed = whole;
      for (int value = 0; value < 256; ++value) {
        changed[at] = static_cast<char>(value);
        auto parsed = parse_gguf(changed);
        refused += parsed.ok() ? 0 : 1;
        if (parsed.ok()) read_everything(*parsed);
      }
    }
    EXPECT_GT(refused, 1000u) << name;
  }
}

TEST(GgufHostile, NoChangeOfOneBitOfALargerFileCrashes) {
  const std::string whole = golden("everything.gguf");
  for (size_t at = 0; at < 3000; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      if (auto parsed = parse_gguf(changed); parsed.ok()) read_everything(*parsed);
    }
  }
}

}  // namespace
}  // namespace inferens
