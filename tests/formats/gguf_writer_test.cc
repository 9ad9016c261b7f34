// What the writer writes: the same bytes as the `gguf` Python package's writer, and files our own reader takes.
#include "formats/gguf_writer.h"

#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/random.h"
#include "formats/dequantize.h"
#include "raw_gguf.h"

namespace inferens {
namespace {

std::string golden(const std::string& name) {
  return std::string(INFERENS_TEST_DATA) + "/gguf/" + name;
}

// A writer with all that a file has. Its sources read from `file`.
GgufWriter copy_of(const GgufFile& file) {
  GgufWriter writer;
  writer.set("general.architecture",
             *file.find("general.architecture"));  // the package writes it first, the rest sorted
  for (const auto& [key, value] : file.metadata()) writer.set(key, value);
  for (const TensorInfo& tensor : file.tensors()) {
    const Status s =
        writer.add_tensor(tensor.name, tensor.type, std::span(tensor.shape).first(tensor.dimensions), tensor.data);
    EXPECT_TRUE(s.ok()) << s.to_string();
  }
  return writer;
}

TEST(GgufWriter, ACopyOfThePackagesFileHasTheSameBytes) {
  for (const char* name : {"everything.gguf", "aligned.gguf"}) {
    const std::string original = read_file(golden(name)).value();
    auto file = parse_gguf(original);
    ASSERT_TRUE(file.ok()) << file.status().to_string();
    auto copy = copy_of(*file).to_bytes();
    ASSERT_TRUE(copy.ok()) << copy.status().to_string();
    EXPECT_TRUE(*copy == original) << name;
  }
}

std::string random_text(RandomSequence& random, size_t most) {
  std::string text(random.below(most + 1), '\0');
  for (char& c : text) c = static_cast<char>(random.below(256));
  return text;
}

template <class T>
T random_bits(RandomSequence& random) {
  const uint64_t bits = random.next();
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Holds the memory that a random value views.
struct ValuePool {
  std::vector<std::unique_ptr<std::string>> texts;
  std::string_view keep(std::string text) {
    return *texts.emplace_back(std::make_unique<std::string>(std::move(text)));
  }
};

GgufValue random_value(RandomSequence& random, ValuePool& pool, int depth = 0);

template <class T>
GgufValue random_numbers(RandomSequence& random, ValuePool& pool) {
  std::string bytes = random_text(random, 12 * sizeof(T));
  bytes.resize(bytes.size() / sizeof(T) * sizeof(T));
  if constexpr (std::is_same_v<T, bool>) {
    for (char& c : bytes) c &= 1;
  }
  const std::string_view kept = pool.keep(std::move(bytes));
  return gguf_array(std::span(reinterpret_cast<const T*>(kept.data()), kept.size() / sizeof(T)));
}

GgufValue random_array(RandomSequence& random, ValuePool& pool, int depth) {
  switch (random.below(depth < 3 ? 13 : 12)) {
    case 0:
      return random_numbers<uint8_t>(random, pool);
    case 1:
      return random_numbers<int8_t>(random, pool);
    case 2:
      return random_numbers<uint16_t>(random, pool);
    case 3:
      return random_numbers<int16_t>(random, pool);
    case 4:
      return random_numbers<uint32_t>(random, pool);
    case 5:
      return random_numbers<int32_t>(random, pool);
    case 6:
      return random_numbers<float>(random, pool);
    case 7:
      return random_numbers<bool>(random, pool);
    case 8:
      return random_numbers<uint64_t>(random, pool);
    case 9:
      return random_numbers<int64_t>(random, pool);
    case 10:
      return random_numbers<double>(random, pool);
    case 11: {
      std::vector<std::string_view> strings(random.below(5));
      for (auto& s : strings) s = pool.keep(random_text(random, 9));
      return gguf_array(std::move(strings));
    }
    default: {
      auto outer = std::make_shared<GgufArray>();
      outer->element_type = 9;
      outer->count = random.below(4);
      for (uint64_t i = 0; i < outer->count; ++i) {
        outer->arrays.push_back(std::get<std::shared_ptr<const GgufArray>>(random_array(random, pool, depth + 1)));
      }
      return std::shared_ptr<const GgufArray>(std::move(outer));
    }
  }
}

GgufValue random_value(RandomSequence& random, ValuePool& pool, int depth) {
  switch (random.below(13)) {
    case 0:
      return random_bits<uint8_t>(random);
    case 1:
      return random_bits<int8_t>(random);
    case 2:
      return random_bits<uint16_t>(random);
    case 3:
      return random_bits<int16_t>(random);
    case 4:
      return random_bits<uint32_t>(random);
    case 5:
      return random_bits<int32_t>(random);
    case 6:
      return static_cast<float>(random.normal());
    case 7:
      return random.below(2) == 1;
    case 8:
      return pool.keep(random_text(random, 40));
    case 9:
      return random_array(random, pool, depth);
    case 10:
      return random_bits<uint64_t>(random);
    case 11:
      return random_bits<int64_t>(random);
    default:
      return random.normal();
  }
}

void expect_equal(const GgufValue& a, const GgufValue& b) {
  ASSERT_EQ(a.index(), b.index());
  if (a.index() != 9) {
    EXPECT_TRUE(a == b);
    return;
  }
  const auto& x = *std::get<std::shared_ptr<const GgufArray>>(a);
  const auto& y = *std::get<std::shared_ptr<const GgufArray>>(b);
  EXPECT_EQ(x.element_type, y.element_type);
  EXPECT_EQ(x.count, y.count);
  EXPECT_TRUE(std::equal(x.raw.begin(), x.raw.end(), y.raw.begin(), y.raw.end()));
  EXPECT_EQ(x.strings, y.strings);
  ASSERT_EQ(x.arrays.size(), y.arrays.size());
  for (size_t i = 0; i < x.arrays.size(); ++i) expect_equal(x.arrays[i], y.arrays[i]);
}

TEST(GgufWriter, RandomFilesComeBackAsTheyWere) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomSequence random(seed);
    ValuePool pool;
    GgufWriter writer;
    std::map<std::string, GgufValue> metadata;
    std::map<std::string, std::string> tensors;
    for (size_t i = random.below(12); i > 0; --i) {
      const std::string key = "k" + random_text(random, 20);
      metadata[key] = random_value(random, pool);
      writer.set(key, metadata[key]);
    }
    for (size_t i = random.below(6); i > 0; --i) {
      const auto type = static_cast<TensorType>(random.below(42));
      if (!is_known_tensor_type(static_cast<uint32_t>(type)) || type == TensorType::kQ8_1) continue;
      std::array<uint64_t, 4> shape = {1, 1, 1, 1};
      const size_t dimensions = 1 + random.below(4);
      for (size_t d = 0; d < dimensions; ++d) shape[d] = 1 + random.below(3);
      shape[0] *= block_shape(type).weights;
      std::string data(tensor_bytes(type, shape).value(), '\0');
      for (char& c : data) c = static_cast<char>(random.below(256));
      const std::string name = "t" + random_text(random, 30);
      if (tensors.contains(name)) continue;
      tensors[name] = data;
      ASSERT_TRUE(writer
                      .add_tensor(name, type, std::span(shape).first(dimensions),
                                  [data]() -> StatusOr<std::string> { return data; })
                      .ok());
    }
    const std::string bytes = writer.to_bytes().value();
    auto file = parse_gguf(bytes);
    ASSERT_TRUE(file.ok()) << "seed " << seed << ": " << file.status().to_string();
    ASSERT_EQ(file->metadata().size(), metadata.size());
    for (const auto& [key, value] : metadata) expect_equal(*file->find(key), value);
    ASSERT_EQ(file->tensors().size(), tensors.size());
    for (const auto& [name, data] : tensors) {
      const TensorInfo* tensor = file->find_tensor(name);
      ASSERT_NE(tensor, nullptr);
      EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(tensor->data.data()), tensor->data.size()), data);
    }
  }
}

TEST(GgufWriter, AKeySetAgainTakesTheNewValue) {
  GgufWriter writer;
  writer.set("a", uint32_t{1});
  writer.set("b", "x");
  writer.set("a", uint32_t{2});
  const std::string bytes = writer.to_bytes().value();
  const GgufFile file = parse_gguf(bytes).value();
  EXPECT_EQ(file.get_uint("a").value(), 2u);
  EXPECT_EQ(file.metadata().size(), 2u);
}

TEST(GgufWriter, ShapesThatCannotBeStoredAreRefused) {
  GgufWriter writer;
  const auto add = [&](std::string_view name, TensorType type, std::vector<uint64_t> shape) {
    return writer.add_tensor(name, type, shape, std::span<const std::byte>()).code();
  };
  EXPECT_EQ(add("a", TensorType::kQ4_K, {255}), StatusCode::kInvalidArgument);
  EXPECT_EQ(add("a", TensorType::kF32, {0}), StatusCode::kInvalidArgument);
  EXPECT_EQ(add("a", TensorType::kF32, {1, 1, 1, 1, 1}), StatusCode::kInvalidArgument);
  EXPECT_EQ(add("a", TensorType::kF32, {uint64_t{1} << 40, uint64_t{1} << 40}), StatusCode::kInvalidArgument);
  EXPECT_EQ(add("", TensorType::kF32, {1}), StatusCode::kInvalidArgument);
  EXPECT_EQ(add("a", static_cast<TensorType>(4), {1}), StatusCode::kInvalidArgument);
  EXPECT_EQ(add("a", TensorType::kF32, {1}), StatusCode::kOk);
  EXPECT_EQ(add("a", TensorType::kF32, {1}), StatusCode::kAlreadyExists);
  EXPECT_EQ(writer.to_bytes().status().code(), StatusCode::kInvalidArgument);  // 0 bytes given, 4 needed
}

TEST(GgufWriter, AnAlignmentNoReaderTakesIsRefused) {
  for (uint32_t bad : {0u, 3u, 4u, 1u << 20, 1u << 31}) {
    GgufWriter writer;
    writer.set("general.alignment", bad);
    EXPECT_EQ(writer.to_bytes().status().code(), StatusCode::kInvalidArgument) << bad;
  }
  GgufWriter writer;
  writer.set("general.alignment", int32_t{32});
  EXPECT_EQ(writer.to_bytes().status().code(), StatusCode::kInvalidArgument);
}

TEST(GgufWriter, AFailedWriteLeavesTheOldFileAndNoRubbish) {
  const std::string folder = testing::TempDir() + "/gguf_writer_failed";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/m.gguf";
  GgufWriter good;
  good.set("a", uint32_t{1});
  ASSERT_TRUE(good.write(path).ok());
  GgufWriter bad;
  const uint64_t shape[] = {8};
  ASSERT_TRUE(bad.add_tensor("t", TensorType::kF32, shape,
                             []() -> StatusOr<std::string> { return cancelled("stopped by the user"); })
                  .ok());
  const Status s = bad.write(path);
  EXPECT_EQ(s.code(), StatusCode::kCancelled);
  EXPECT_THAT(s.message(), testing::AllOf(testing::HasSubstr("'t'"), testing::HasSubstr(path)));
  EXPECT_EQ(GgufFile::open(path).value().get_uint("a").value(), 1u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace inferens
