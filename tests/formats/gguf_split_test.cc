// Split models: any part opens the whole, and parts that are missing, renamed or of different models are refused.
#include <filesystem>

#include "formats/dequantize.h"
#include "formats/gguf_split.h"
#include "formats/gguf_writer.h"
#include "raw_gguf.h"

namespace inferens {
namespace {

std::string golden(const std::string& name) {
  return std::string(INFERENS_TEST_DATA) + "/gguf/" + name;
}

float first_value(const GgufFile& file, const std::string& name) {
  const TensorInfo* tensor = file.find_tensor(name);
  std::vector<float> values(4, -1);
  if (tensor == nullptr || !dequantize(tensor->type, tensor->data, values).ok()) return -1;
  return values[0];
}

TEST(GgufSplit, AnyPartOpensTheWholeModel) {
  for (const char* part : {"split-00001-of-00003.gguf", "split-00002-of-00003.gguf", "split-00003-of-00003.gguf"}) {
    auto file = GgufFile::open(golden(part));
    ASSERT_TRUE(file.ok()) << file.status().to_string();
    EXPECT_EQ(file->path(), golden(part));
    EXPECT_EQ(file->get_uint("test.answer").value(), 42u);
    EXPECT_EQ(file->file_bytes(), 384u + 320 + 192);
    ASSERT_EQ(file->tensors().size(), 7u);
    for (int i = 0; i < 7; ++i) EXPECT_EQ(first_value(*file, "t" + std::to_string(i)), static_cast<float>(i));
    for (const TensorInfo& tensor : file->tensors()) file->drop_resident(tensor.data);
  }
}

TEST(GgufSplit, AFirstPartOfMetadataOnlyIsSound) {
  auto file = GgufFile::open(golden("split-meta-00002-of-00003.gguf"));
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  EXPECT_EQ(file->get_uint("test.answer").value(), 42u);
  EXPECT_EQ(file->tensors().size(), 6u);
}

TEST(GgufSplit, NamesOfPartsAreReadAndMade) {
  const auto name = parse_split_name("/a/b-00002-of-00013.gguf");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->stem, "/a/b");
  EXPECT_EQ(name->index, 1u);
  EXPECT_EQ(name->count, 13u);
  EXPECT_EQ(split_path("/a/b", 1, 13), "/a/b-00002-of-00013.gguf");
  for (const char* not_a_part :
       {"", ".gguf", "b.gguf", "-00001-of-00002.gguf", "b-0001-of-00002.gguf", "b-00000-of-00002.gguf",
        "b-+0001-of-00002.gguf", "b-00001_of_00002.gguf", "b-00001-of-00002.bin"}) {
    EXPECT_FALSE(parse_split_name(not_a_part).has_value()) << not_a_part;
  }
}

// Two parts of a model in a folder of their own, each with metadata that a test can spoil.
class SplitModel : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/gguf_split_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    for (uint16_t i = 0; i < 2; ++i) {
      part_[i].set("split.no", i);
      part_[i].set("split.count", uint16_t{2});
      part_[i].set("split.tensors.count", int32_t{2});
      add_tensor(i, i == 0 ? "a" : "b");
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void add_tensor(int part, std::string_view name) {
    const uint64_t shape[] = {1};
    ASSERT_TRUE(part_[part].add_tensor(name, TensorType::kF32, shape, std::as_bytes(std::span(&value_, 1))).ok());
  }
  std::string path(uint32_t part) const { return split_path(folder_ + "/m", part, 2); }
  Status open() {
    for (uint32_t i = 0; i < 2; ++i) {
      if (Status s = part_[i].write(path(i)); !s.ok()) return s;
    }
    return GgufFile::open(path(0)).status();
  }

  std::string folder_;
  GgufWriter part_[2];
  float value_ = 1;
};

TEST_F(SplitModel, SoundPartsOpen) {
  EXPECT_TRUE(open().ok()) << open().to_string();
}

TEST_F(SplitModel, AMissingPartIsNamed) {
  ASSERT_TRUE(open().ok());
  std::filesystem::remove(path(1));
  const Status s = GgufFile::open(path(0)).status();
  expect_refused(s, StatusCode::kNotFound, path(1), "part 2 of 2");
}

TEST_F(SplitModel, ATruncatedPartIsNamed) {
  ASSERT_TRUE(open().ok());
  std::filesystem::resize_file(path(1), 100);
  expect_refused(GgufFile::open(path(0)).status(), StatusCode::kDataLoss, path(1), "truncated");
}

TEST_F(SplitModel, ARenamedPartAsksForItsNameBack) {
  ASSERT_TRUE(open().ok());
  std::filesystem::rename(path(0), folder_ + "/model.gguf");
  expect_refused(GgufFile::open(folder_ + "/model.gguf").status(), StatusCode::kFailedPrecondition, folder_,
                 "-00001-of-00002.gguf");
  // A part under another part's name would give the wrong metadata.
  std::filesystem::copy_file(path(1), path(0));
  expect_refused(GgufFile::open(path(0)).status(), StatusCode::kFailedPrecondition, path(0), "-00002-of-00002.gguf");
}

TEST_F(SplitModel, PartsThatDisagreeAboutTheirNumberAreRefused) {
  part_[1].set("split.no", uint16_t{0});
  expect_refused(open(), StatusCode::kDataLoss, path(1), "part 2 of 2");
}

TEST_F(SplitModel, PartsThatDisagreeAboutTheCountAreRefused) {
  part_[1].set("split.count", uint16_t{3});
  expect_refused(open(), StatusCode::kDataLoss, path(1), "part 2 of 2");
}

TEST_F(SplitModel, PartsThatDisagreeAboutTheTensorsAreRefused) {
  part_[1].set("split.tensors.count", int32_t{3});
  expect_refused(open(), StatusCode::kDataLoss, path(1), "split.tensors.count");
}

TEST_F(SplitModel, AWrongTotalOfTensorsIsRefused) {
  for (auto& part : part_) part.set("split.tensors.count", int32_t{3});
  expect_refused(open(), StatusCode::kDataLoss, path(0), "hold 2 tensors");
}

TEST_F(SplitModel, ATensorInTwoPartsIsRefused) {
  add_tensor(1, "a");
  for (auto& part : part_) part.set("split.tensors.count", int32_t{3});
  expect_refused(open(), StatusCode::kDataLoss, path(1), "'a' is also in another part");
}

TEST_F(SplitModel, AnAbsurdCountIsRefusedWithoutLookingForParts) {
  for (auto& part : part_) part.set("split.count", uint64_t{1} << 40);
  expect_refused(open(), StatusCode::kDataLoss, path(0), "split.count");
}

TEST_F(SplitModel, ACountOfTheWrongTypeIsRefused) {
  for (auto& part : part_) part.set("split.count", "2");
  expect_refused(open(), StatusCode::kDataLoss, path(0), "split.count");
}

TEST_F(SplitModel, APartBeyondTheCountIsRefused) {
  part_[1].set("split.no", uint16_t{4});
  const std::string beyond = split_path(folder_ + "/m", 4, 2);
  ASSERT_TRUE(part_[1].write(beyond).ok());
  expect_refused(GgufFile::open(beyond).status(), StatusCode::kFailedPrecondition, beyond, "part 5 of 2");
}

TEST_F(SplitModel, AMissingNumberIsRefused) {
  part_[0] = GgufWriter();
  part_[0].set("split.count", uint16_t{2});
  expect_refused(open(), StatusCode::kNotFound, path(0), "split.no");
}

}  // namespace
}  // namespace inferens
