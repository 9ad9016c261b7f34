// Files that the `gguf` Python package wrote (tests/golden/gguf/make_golden.py): what is read is what was written.
#include "formats/gguf.h"

#include <limits>

#include "formats/dequantize.h"
#include "raw_gguf.h"

namespace inferens {
namespace {

using testing::ElementsAre;

std::string golden(const std::string& name) {
  return std::string(INFERENS_TEST_DATA) + "/gguf/" + name;
}

GgufFile open_golden(const std::string& name) {
  auto file = GgufFile::open(golden(name));
  EXPECT_TRUE(file.ok()) << file.status().to_string();
  return file.ok() ? std::move(file.value()) : GgufFile();
}

TEST(Gguf, EveryScalarTypeIsRead) {
  const GgufFile file = open_golden("everything.gguf");
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.file_bytes(), 15456u);
  EXPECT_EQ(file.get_string("general.architecture").value(), "test");
  EXPECT_EQ(file.get_string("test.string").value(), "naïve 日本");
  EXPECT_EQ(file.get_uint("test.uint8").value(), 255u);
  EXPECT_EQ(file.get_uint("test.uint16").value(), 65535u);
  EXPECT_EQ(file.get_uint("test.uint32").value(), 4294967295u);
  EXPECT_EQ(file.get_uint("test.uint64").value(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(file.get_int("test.int8").value(), -128);
  EXPECT_EQ(file.get_int("test.int16").value(), -32768);
  EXPECT_EQ(file.get_int("test.int32").value(), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(file.get_int("test.int64").value(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(file.get_int("test.uint32").value(), 4294967295);
  EXPECT_EQ(file.get_float("test.float32").value(), static_cast<double>(1e-5f));
  EXPECT_EQ(file.get_float("test.float64").value(), 1e-300);
  EXPECT_TRUE(file.get_bool("test.bool").value());
}

TEST(Gguf, EveryArrayTypeIsRead) {
  const GgufFile file = open_golden("everything.gguf");
  const auto ints = [&](const char* key) { return file.get_ints(key).value(); };
  EXPECT_THAT(ints("test.array.bool"), ElementsAre(1, 0, 1));
  EXPECT_THAT(ints("test.array.int8"), ElementsAre(-128, 127));
  EXPECT_THAT(ints("test.array.int16"), ElementsAre(-32768, 32767));
  EXPECT_THAT(ints("test.array.int32"),
              ElementsAre(std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
  EXPECT_THAT(ints("test.array.int64"),
              ElementsAre(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(ints("test.array.uint8"), ElementsAre(0, 255));
  EXPECT_THAT(ints("test.array.uint16"), ElementsAre(0, 65535));
  EXPECT_THAT(ints("test.array.uint32"), ElementsAre(0, 4294967295));
  EXPECT_THAT(file.get_floats("test.array.float32").value(), ElementsAre(0.5f, -1.25f));
  EXPECT_THAT(file.get_floats("test.array.float64").value(),
              ElementsAre(0.1f, -std::numeric_limits<float>::infinity()));
  EXPECT_THAT(file.get_strings("test.array.string").value(),
              ElementsAre("", "naïve", "日本", std::string_view("a\0b", 3)));
  const auto& nested = std::get<std::shared_ptr<const GgufArray>>(*file.find("test.array.nested"));
  ASSERT_EQ(nested->arrays.size(), 2u);
  EXPECT_EQ(nested->arrays[0]->count, 2u);
  EXPECT_EQ(nested->arrays[1]->raw.size(), 4u);
}

TEST(Gguf, NumbersThatDoNotFitAreRefusedNotCut) {
  const GgufFile file = open_golden("everything.gguf");
  EXPECT_FALSE(file.get_uint("test.int8").ok());   // negative
  EXPECT_FALSE(file.get_int("test.uint64").ok());  // above the largest int64
  EXPECT_FALSE(file.get_ints("test.array.uint64").ok());
}

TEST(Gguf, MissingKeysAreNamed) {
  const GgufFile file = open_golden("everything.gguf");
  const Status s = file.get_uint("llama.block_count").status();
  EXPECT_EQ(s.code(), StatusCode::kNotFound);
  EXPECT_THAT(s.message(),
              testing::AllOf(testing::HasSubstr("everything.gguf"), testing::HasSubstr("llama.block_count")));
  EXPECT_EQ(file.find("llama.block_count"), nullptr);
}

// A key of every stored type against every getter: only the right pairs may answer, so that no array is ever read as
// elements of another type.
TEST(Gguf, EveryKeyReadAsEveryWrongTypeIsRefused) {
  const GgufFile file = open_golden("everything.gguf");
  size_t refused = 0;
  const auto expect = [&](const Status& s, bool right, std::string_view key) {
    if (right) return;
    ++refused;
    EXPECT_EQ(s.code(), StatusCode::kDataLoss) << key << ": " << s.to_string();
    EXPECT_THAT(s.message(), testing::HasSubstr(std::string(key)));
  };
  for (const auto& [key, value] : file.metadata()) {
    const size_t type = value.index();
    const bool is_integer = type <= 5 || type == 10 || type == 11;
    uint32_t element = 99;
    if (const auto* array = std::get_if<std::shared_ptr<const GgufArray>>(&value)) element = (*array)->element_type;
    const bool integer_elements = element <= 5 || element == 7 || element == 10 || element == 11;
    expect(file.get_uint(key).status(), is_integer, key);
    expect(file.get_int(key).status(), is_integer, key);
    expect(file.get_float(key).status(), type == 6 || type == 12, key);
    expect(file.get_bool(key).status(), type == 7, key);
    expect(file.get_string(key).status(), type == 8, key);
    expect(file.get_strings(key).status(), element == 8, key);
    expect(file.get_floats(key).status(), element == 6 || element == 12, key);
    expect(file.get_ints(key).status(), integer_elements, key);
  }
  EXPECT_EQ(file.metadata().size(), 26u);
  EXPECT_GT(refused, 26u * 5);
}

TEST(Gguf, TensorsOfEveryTypeHaveTheirShapeAndBytes) {
  const GgufFile file = open_golden("everything.gguf");
  ASSERT_EQ(file.tensors().size(), 33u);
  size_t number = 0;
  for (const TensorInfo& tensor : file.tensors()) {
    ++number;
    const BlockShape block = block_shape(tensor.type);
    EXPECT_EQ(tensor.name, "t." + std::string(tensor_type_name(tensor.type)));
    EXPECT_EQ(tensor.dimensions, 2u);
    EXPECT_EQ(tensor.row_length(), 3u * block.weights);
    EXPECT_EQ(tensor.rows(), 2u);
    EXPECT_EQ(tensor.row_bytes(), 3u * block.bytes);
    ASSERT_EQ(tensor.data.size(), 6u * block.bytes);
    for (size_t i = 0; i < tensor.data.size(); ++i) {
      ASSERT_EQ(static_cast<size_t>(tensor.data[i]), (number * 31 + i * 7) % 251) << tensor.name << " byte " << i;
    }
    EXPECT_EQ(file.find_tensor(tensor.name), &tensor);
  }
  EXPECT_EQ(file.find_tensor("t"), nullptr);
}

TEST(Gguf, AlignmentFromTheFileIsObeyed) {
  const GgufFile file = open_golden("aligned.gguf");
  const TensorInfo* scalar = file.find_tensor("scalar");
  const TensorInfo* cube = file.find_tensor("cube");
  ASSERT_NE(scalar, nullptr);
  ASSERT_NE(cube, nullptr);
  EXPECT_EQ(scalar->dimensions, 0u);
  EXPECT_EQ(scalar->elements(), 1u);
  EXPECT_THAT(cube->shape, ElementsAre(5, 4, 3, 2));
  float value = 0;
  ASSERT_TRUE(dequantize(scalar->type, scalar->data, std::span(&value, 1)).ok());
  EXPECT_EQ(value, 2.5f);
  std::vector<float> cube_values(cube->elements());
  ASSERT_TRUE(dequantize(cube->type, cube->data, cube_values).ok());
  for (size_t i = 0; i < cube_values.size(); ++i) EXPECT_EQ(cube_values[i], static_cast<float>(i));
}

TEST(Gguf, Version2IsReadAsVersion3Is) {
  const GgufFile file = open_golden("version2.gguf");
  EXPECT_EQ(file.version(), 2u);
  EXPECT_EQ(file.tensors().size(), 2u);
}

TEST(Gguf, BigEndianFilesAreRefusedByName) {
  expect_refused(GgufFile::open(golden("big-endian.gguf")).status(), StatusCode::kUnsupported,
                 golden("big-endian.gguf"), "big-endian");
}

TEST(Gguf, PagesGivenBackCanBeReadAgain) {
  const GgufFile file = open_golden("everything.gguf");
  file.will_need();
  const TensorInfo& tensor = file.tensors().back();
  const std::vector<std::byte> before(tensor.data.begin(), tensor.data.end());
  file.drop_resident(tensor.data);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), tensor.data.begin()));
}

TEST(Gguf, AMovedFileKeepsItsViews) {
  GgufFile file = open_golden("everything.gguf");
  const GgufFile moved = std::move(file);
  EXPECT_EQ(moved.get_string("test.string").value(), "naïve 日本");
  EXPECT_EQ(moved.find_tensor("t.F16")->name, "t.F16");
}

}  // namespace
}  // namespace inferens
