// Files as users have them: empty, unreadable, too large, moved while held. Never a cut, never half a file.
#include "base/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace inferens {
namespace {

class FileTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(make_directories(folder_).ok()); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_ = testing::TempDir() + "/inferens_file_test_" + std::to_string(::getpid());
};

TEST_F(FileTest, AnEmptyFileIsMappedAsNoBytes) {
  ASSERT_TRUE(write_file_atomically(path("empty"), "").ok());
  auto file = MappedFile::open(path("empty"));
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  EXPECT_EQ(file->size(), 0u);
  EXPECT_TRUE(file->bytes().empty());
}

TEST_F(FileTest, MappedBytesStayAtTheirAddressWhenTheMapMovesAndTheFileIsReplaced) {
  ASSERT_TRUE(write_file_atomically(path("a"), "first").ok());
  auto opened = MappedFile::open(path("a"));
  ASSERT_TRUE(opened.ok());
  const std::byte* address = opened->bytes().data();
  MappedFile moved = *std::move(opened);
  EXPECT_EQ(moved.bytes().data(), address);
  ASSERT_TRUE(write_file_atomically(path("a"), "other").ok());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(moved.bytes().data()), moved.size()), "first")
      << "a model in use must not change when it is pulled again";
  MappedFile target;
  target = std::move(moved);
  EXPECT_EQ(target.bytes().data(), address);
  EXPECT_EQ(target.path(), path("a"));
}

TEST_F(FileTest, DroppedBytesAreReadAgainFromTheFile) {
  std::string big(1 << 20, 'x');
  big[700000] = 'y';
  ASSERT_TRUE(write_file_atomically(path("big"), big).ok());
  auto file = MappedFile::open(path("big"));
  ASSERT_TRUE(file.ok());
  file->will_need(0, big.size());
  file->drop_resident(0, big.size());
  file->drop_resident(123, 456);            // not on page borders
  file->drop_resident(big.size() - 1, 99);  // beyond the end: a hint never fails
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file->bytes().data()), file->size()), big);
}

TEST_F(FileTest, AFailedWriteLeavesTheOldFileAndNoLitter) {
  std::string target = path("folder");
  ASSERT_TRUE(make_directories(target + "/child").ok());
  EXPECT_FALSE(write_file_atomically(target, "bytes").ok()) << "a folder is not replaced by a file";
  EXPECT_FALSE(write_file_atomically(path("missing/file"), "bytes").ok());
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) EXPECT_EQ(entry.path(), target);
}

TEST_F(FileTest, ALimitIsToldWithItsNumber) {
  ASSERT_TRUE(write_file_atomically(path("ten"), "0123456789").ok());
  EXPECT_EQ(*read_file(path("ten"), 10), "0123456789");
  auto cut = read_file(path("ten"), 9);
  ASSERT_FALSE(cut.ok());
  EXPECT_NE(cut.status().message().find("9"), std::string::npos);
  EXPECT_NE(cut.status().message().find(path("ten")), std::string::npos);
}

TEST_F(FileTest, AFolderThatCannotBeMadeIsNamed) {
  ASSERT_TRUE(write_file_atomically(path("file"), "x").ok());
  Status s = make_directories(path("file/below"));
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.message().find(path("file/below")), std::string::npos);
}

}  // namespace
}  // namespace inferens
