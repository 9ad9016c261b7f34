// The wrong file named as a model: one line that says what the file is and what to do instead.
#include <filesystem>

#include "base/file.h"
#include "formats/file_kind.h"
#include "raw_gguf.h"

namespace inferens {
namespace {

using testing::HasSubstr;

struct WrongFile {
  const char* name;
  std::string bytes;
  const char* meaning;  // what the error must say
  const char* remedy;
};

std::vector<WrongFile> wrong_files() {
  using std::string_literals::operator""s;
  return {
      {"empty.gguf", "", "empty", "download"},
      {"zeros.gguf", std::string(4096, '\0'), "zero bytes", "download"},
      {"model.safetensors", "\x40\0\0\0\0\0\0\0{\"a\":{}}"s + std::string(100, ' '), "safetensors", "folder"},
      {"pytorch_model.bin", "PK\x03\x04\x00\x00archive/data.pkl"s, "PyTorch", ".gguf or .safetensors"},
      {"old.pt", "\x80\x02\x8a\x0al\xfc"s, "pickle", ".gguf or .safetensors"},
      {"page.gguf", "\n<!DOCTYPE HTML><html><body>404", "HTML", "download"},
      {"page2.gguf", "<html>", "HTML", "download"},
      {"pointer.gguf", "version https://git-lfs.github.com/spec/v1\noid sha256:0", "Git LFS", "git lfs pull"},
      {"error.gguf", "{\"error\":\"not found\"}", "JSON", "model file"},
      {"packed.gguf.gz", "\x1f\x8b\x08\0"s, "gzip", "unpack"},
      {"old.ggml", "lmgg\x01\0\0\0"s, "GGML", ".gguf"},
      {"old.ggjt", "tjgg\x03\0\0\0"s, "GGJT", ".gguf"},
      {"model.h5", "\x89HDF\r\n\x1a\n", "HDF5", ".gguf"},
      {"notes.txt", "hello", "no known model format", "check the path"},
      {"short.gguf", "GGU", "no known model format", "check the path"},
  };
}

TEST(WrongFile, EachKindIsNamedWithWhatToDo) {
  const std::string folder = testing::TempDir() + "/wrong_file";
  std::filesystem::create_directories(folder);
  for (const WrongFile& wrong : wrong_files()) {
    const std::string path = folder + "/" + wrong.name;
    ASSERT_TRUE(write_file_atomically(path, wrong.bytes).ok());
    const Status s = GgufFile::open(path).status();
    expect_refused(s, StatusCode::kInvalidArgument, path, wrong.meaning);
    EXPECT_THAT(s.message(), HasSubstr(wrong.remedy)) << wrong.name;
  }
  std::filesystem::remove_all(folder);
}

TEST(WrongFile, AMissingFileOrAFolderIsNamed) {
  expect_refused(GgufFile::open("/nowhere/m.gguf").status(), StatusCode::kNotFound, "/nowhere/m.gguf", "");
  const std::string folder = testing::TempDir();
  expect_refused(GgufFile::open(folder).status(), StatusCode::kInvalidArgument, folder, "regular file");
}

TEST(WrongFile, QuotedTextIsShortAndPrintable) {
  EXPECT_EQ(quote_name("blk.0.attn_q"), "'blk.0.attn_q'");
  EXPECT_EQ(quote_name(std::string_view("\0\x7f\xff\n", 4)), "'\\x00\\x7f\\xff\\x0a'");
  EXPECT_EQ(quote_name(std::string(1000, 'a')), "'" + std::string(80, 'a') + "…'");
}

}  // namespace
}  // namespace inferens
