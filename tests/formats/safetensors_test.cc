// Files that the `safetensors` Python package wrote (tests/golden/safetensors/make_golden.py), and hostile ones.
#include "formats/safetensors.h"

#include <filesystem>

#include "formats/dequantize.h"
#include "raw_gguf.h"

namespace inferens {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string golden(const std::string& name) {
  return std::string(INFERENS_TEST_DATA) + "/safetensors/" + name;
}

std::vector<float> values_of(const SafetensorsTensor& tensor) {
  std::vector<float> values(tensor.elements(), -1);
  EXPECT_TRUE(tensor.type.has_value() && dequantize(*tensor.type, tensor.data, values).ok()) << tensor.name;
  return values;
}

TEST(Safetensors, EveryDtypeIsRead) {
  auto file = SafetensorsFile::open(golden("types.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  ASSERT_EQ(file->tensors().size(), 16u);
  for (const char* dtype : {"F64", "F32", "F16", "I64", "I32", "I16", "I8"}) {
    const SafetensorsTensor* tensor = file->find_tensor(std::string("t.") + dtype);
    ASSERT_NE(tensor, nullptr) << dtype;
    EXPECT_EQ(tensor->dtype, dtype);
    EXPECT_THAT(tensor->shape, ElementsAre(2, 3));
    EXPECT_THAT(values_of(*tensor), ElementsAre(0, 1, 2, 3, 4, 5)) << dtype;
  }
  for (const char* dtype : {"U64", "U32", "U16", "U8", "BOOL"}) {
    const SafetensorsTensor* tensor = file->find_tensor(std::string("t.") + dtype);
    ASSERT_NE(tensor, nullptr) << dtype;
    EXPECT_FALSE(tensor->type.has_value());
    EXPECT_EQ(tensor->elements(), 6u);
  }
  EXPECT_THAT(values_of(*file->find_tensor("t.BF16")), ElementsAre(1, -2, 0.25f));
  EXPECT_THAT(values_of(*file->find_tensor("scalar")), ElementsAre(2.5f));
  EXPECT_EQ(file->find_tensor("empty")->elements(), 0u);
  EXPECT_EQ(file->find_tensor("odd \"name\"\n日本")->data[0], std::byte{7});
  EXPECT_EQ(file->find_tensor("nothing"), nullptr);
  EXPECT_EQ(file->metadata().at("schöne"), "Dinge");
}

TEST(Safetensors, AShardedModelOpensByItsFolderOrIndex) {
  for (const std::string& path : {golden("sharded"), golden("sharded/model.safetensors.index.json")}) {
    auto file = SafetensorsFile::open(path);
    ASSERT_TRUE(file.ok()) << file.status().to_string();
    ASSERT_EQ(file->tensors().size(), 4u);
    for (int i = 0; i < 4; ++i) {
      const float value = static_cast<float>(i);
      EXPECT_THAT(values_of(*file->find_tensor("w" + std::to_string(i))), ElementsAre(value, value, value, value));
    }
  }
}

// A file from its header's JSON and a number of data bytes.
std::string raw_file(std::string_view json, size_t data = 0) {
  std::string out(sizeof(uint64_t), '\0');
  const uint64_t size = json.size();
  std::memcpy(out.data(), &size, sizeof size);
  out += json;
  out.resize(out.size() + data);
  return out;
}

StatusOr<SafetensorsFile> parse_raw(std::string_view bytes) {
  return SafetensorsFile::parse(std::as_bytes(std::span(bytes.data(), bytes.size())), "model.safetensors");
}

void expect_header_refused(std::string_view json, size_t data, StatusCode code, std::string_view reason) {
  SCOPED_TRACE(std::string(json.substr(0, 200)));
  const std::string bytes = raw_file(json, data);
  auto parsed = parse_raw(bytes);
  ASSERT_FALSE(parsed.ok());
  expect_refused(parsed.status(), code, "model.safetensors", reason);
}

std::string entry(std::string_view name, std::string_view dtype, std::string_view shape, std::string_view offsets) {
  std::string s = "\"";
  s.append(name).append("\":{\"dtype\":\"").append(dtype).append("\",\"shape\":").append(shape);
  return s.append(",\"data_offsets\":").append(offsets).append("}");
}

TEST(Safetensors, SoundHeadersOfEveryShapeAreTaken) {
  EXPECT_TRUE(parse_raw(raw_file("{}")).ok());
  EXPECT_TRUE(parse_raw(raw_file("{}      ")).ok());  // writers pad with spaces
  EXPECT_TRUE(parse_raw(raw_file("{\"__metadata__\":{}}")).ok());
  EXPECT_TRUE(
      parse_raw(raw_file("{" + entry("b", "U8", "[1]", "[4,5]") + "," + entry("a", "F32", "[1]", "[0,4]") + "}", 5))
          .ok());
  EXPECT_TRUE(parse_raw(raw_file("{" + entry("a", "F4", "[3,2]", "[0,3]") + "}", 3)).ok());
}

TEST(Safetensors, OffsetsThatDoNotFillTheFileAreRefused) {
  const auto refused = [](const std::string& entries, size_t data, std::string_view reason) {
    expect_header_refused("{" + entries + "}", data, StatusCode::kDataLoss, reason);
  };
  const std::string a = entry("a", "F32", "[1]", "[0,4]");
  refused(a + "," + entry("b", "F32", "[1]", "[2,6]"), 6, "overlap");
  refused(a + "," + entry("b", "F32", "[1]", "[0,4]"), 4, "overlap");
  refused(a + "," + entry("b", "F32", "[1]", "[8,12]"), 12, "gap");
  refused(entry("a", "F32", "[1]", "[4,8]"), 8, "gap");
  refused(a, 5, "after the last tensor");
  refused(a, 3, "truncated");
  refused(entry("a", "F32", "[1]", "[4,0]"), 4, "ends before it begins");
  refused(entry("a", "F32", "[1]", "[0,18446744073709551615]"), 4, "truncated");
  refused(entry("a", "F32", "[1]", "[18446744073709551612,4]"), 4, "ends before");
}

TEST(Safetensors, SizesThatDoNotMatchDtypeAndShapeAreRefused) {
  const auto refused = [](std::string_view dtype, std::string_view shape) {
    expect_header_refused("{" + entry("a", dtype, shape, "[0,4]") + "}", 4, StatusCode::kDataLoss, "dtype and shape");
  };
  refused("F32", "[2]");
  refused("F16", "[1]");
  refused("F32", "[0]");
  refused("U8", "[4294967296,4294967296]");
  refused("U8", "[18446744073709551615,2]");
  refused("F32", "[4611686018427387905]");  // times 4 wraps to 4
  refused("F4", "[7]");                     // ends inside a byte
}

TEST(Safetensors, UnknownDtypesAreRefusedByName) {
  expect_header_refused("{" + entry("a", "F128", "[1]", "[0,16]") + "}", 16, StatusCode::kUnsupported, "'F128'");
}

TEST(Safetensors, JsonOfAnotherShapeIsRefused) {
  const std::string a = entry("a", "F32", "[1]", "[0,4]");
  for (const std::string& json : {
           std::string("{"),
           std::string("{]"),
           std::string("{} x"),
           std::string("{\"a\":1}"),
           std::string("{\"a\":null}"),
           std::string("{\"a\":[]}"),
           std::string("{\"a\":\"x\"}"),
           std::string("{\"a\":{}}"),
           std::string("{\"__metadata__\":[]}"),
           std::string("{\"__metadata__\":\"x\"}"),
           std::string("{\"__metadata__\":{\"a\":1}}"),
           std::string("{\"__metadata__\":{\"a\":{}}}"),
           std::string("{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}"),
           std::string("{\"__metadata__\":{},\"__metadata__\":{}}"),
           "{" + a + "," + a + "}",
           "{\"x\":{" + a + "}}",
           "{" + entry("a", "F32", "[-1]", "[0,4]") + "}",
           "{" + entry("a", "F32", "[1.0]", "[0,4]") + "}",
           "{" + entry("a", "F32", "[[1]]", "[0,4]") + "}",
           "{" + entry("a", "F32", "[{}]", "[0,4]") + "}",
           "{" + entry("a", "F32", "[1]", "[0]") + "}",
           "{" + entry("a", "F32", "[1]", "[0,4,4]") + "}",
           "{" + entry("a", "F32", "[1]", "4") + "}",
           "{" + entry("a", "F32", "[1e400]", "[0,4]") + "}",
           "{" + entry("a", "F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") + "}",
           "{" + entry("a", "F32", "[18446744073709551616]", "[0,4]") + "}",
           std::string("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}"),
           std::string("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"),
           std::string("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"code\":\"x\"}}"),
           std::string("{\"\xff\":{}}"),
       }) {
    expect_header_refused(json, 4, StatusCode::kDataLoss, "its header");
  }
}

TEST(Safetensors, DeepJsonDoesNotRecurse) {
  for (const char* open : {"[", "{\"a\":"}) {
    std::string json = "{\"a\":";
    for (int i = 0; i < 1000000; ++i) json += open;
    expect_header_refused(json, 0, StatusCode::kDataLoss, "its header");
  }
}

TEST(Safetensors, HeaderLengthsAreChecked) {
  for (uint64_t length : {uint64_t{100'000'001}, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{0} - 7}) {
    std::string bytes = raw_file("{}", 64);
    std::memcpy(bytes.data(), &length, sizeof length);
    expect_refused(parse_raw(bytes).status(), StatusCode::kDataLoss, "model.safetensors", "100000000 are the most");
  }
  std::string bytes = raw_file("{}", 64);
  bytes[1] = 1;  // 258 bytes
  expect_refused(parse_raw(bytes).status(), StatusCode::kDataLoss, "model.safetensors", "truncated");
}

TEST(Safetensors, AFileCutAtAnyByteIsRefused) {
  const std::string whole = read_file(golden("types.safetensors")).value();
  ASSERT_TRUE(parse_raw(whole).ok());
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
    EXPECT_FALSE(parse_raw(std::string_view(cut.data(), cut.size())).ok()) << length;
  }
}

TEST(Safetensors, NoChangeOfOneByteCrashes) {
  const std::string whole = read_file(golden("types.safetensors")).value();
  size_t refused = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      auto parsed = parse_raw(changed);
      refused += parsed.ok() ? 0 : 1;
      if (!parsed.ok()) continue;
      for (const SafetensorsTensor& tensor : parsed->tensors()) {
        if (tensor.type) values_of(tensor);
      }
    }
  }
  EXPECT_GT(refused, 1000u);
}

TEST(Safetensors, OtherFilesAreNamed) {
  const auto refused = [](std::string_view bytes, std::string_view what) {
    expect_refused(parse_raw(bytes).status(), StatusCode::kInvalidArgument, "model.safetensors", what);
  };
  refused("", "empty");
  refused("PK\x03\x04 and so on", "PyTorch");
  refused("<html><body>404", "HTML");
  refused(RawGguf(123, 0).data(64).bytes(), "GGUF");  // its ninth byte is that of a safetensors file
}

class SafetensorsShards : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/safetensors_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    write("1.safetensors", raw_file("{" + entry("a", "U8", "[1]", "[0,1]") + "}", 1));
    write("2.safetensors", raw_file("{" + entry("b", "U8", "[1]", "[0,1]") + "}", 1));
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(write_file_atomically(folder_ + "/" + name, bytes).ok());
  }
  Status open_with(const std::string& index) {
    write("model.safetensors.index.json", index);
    return SafetensorsFile::open(folder_).status();
  }
  std::string folder_;
};

TEST_F(SafetensorsShards, ASoundIndexOpens) {
  const Status s = open_with(
      "{\"metadata\":{\"total_size\":2,\"x\":null},\"weight_map\":{\"a\":\"1.safetensors\",\"b\":\"2.safetensors\"}}");
  EXPECT_TRUE(s.ok()) << s.to_string();
}

TEST_F(SafetensorsShards, FilesOutsideTheFolderAreNeverOpened) {
  for (const char* name :
       {"../1.safetensors", "/etc/passwd", "..", ".", "", "a\\\\b", "x/1.safetensors", "1.safetensors\\u0000"}) {
    const Status s = open_with(std::string("{\"weight_map\":{\"a\":\"") + name + "\"}}");
    expect_refused(s, StatusCode::kDataLoss, folder_, "is not a plain name");
  }
}

TEST_F(SafetensorsShards, AMissingShardIsNamed) {
  expect_refused(open_with("{\"weight_map\":{\"a\":\"3.safetensors\"}}"), StatusCode::kNotFound, folder_,
                 "3.safetensors");
}

TEST_F(SafetensorsShards, AMissingTensorIsNamed) {
  expect_refused(open_with("{\"weight_map\":{\"a\":\"1.safetensors\",\"c\":\"2.safetensors\"}}"), StatusCode::kDataLoss,
                 folder_, "'c'");
}

TEST_F(SafetensorsShards, ATensorInTwoShardsIsRefused) {
  write("2.safetensors", raw_file("{" + entry("a", "U8", "[1]", "[0,1]") + "}", 1));
  expect_refused(open_with("{\"weight_map\":{\"a\":\"1.safetensors\",\"b\":\"2.safetensors\"}}"), StatusCode::kDataLoss,
                 folder_, "'a'");
}

TEST_F(SafetensorsShards, AnIndexOfAnotherShapeIsRefused) {
  for (const char* index :
       {"", "{}", "[]", "{\"weight_map\":{}}", "{\"weight_map\":[]}", "{\"weight_map\":\"x\"}",
        "{\"weight_map\":{\"a\":1}}", "{\"weight_map\":{\"a\":{}}}", "{\"weight_map\":{\"a\":null}}",
        "{\"metadata\":{\"a\":[]},\"weight_map\":{\"a\":\"1.safetensors\"}}",
        "{\"weight_map\":{\"a\":\"1.safetensors\",\"a\":\"1.safetensors\"}}"}) {
    SCOPED_TRACE(index);
    expect_refused(open_with(index), StatusCode::kDataLoss, folder_, "");
  }
}

TEST_F(SafetensorsShards, AFolderWithoutAModelIsNamed) {
  expect_refused(SafetensorsFile::open(folder_).status(), StatusCode::kNotFound, folder_, "neither");
}

}  // namespace
}  // namespace inferens
