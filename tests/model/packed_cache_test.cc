// Packed weights on disk: the next start is a map of the file, with the same bits, and no file that is not sound is used.
#include "model/packed_cache.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "model/load.h"

namespace inferens {
namespace {

namespace fs = std::filesystem;

const std::string kModel = std::string(INFERENS_TEST_DATA) + "/model/tiny/qwen2-q4_0.gguf";
const std::string kOther = std::string(INFERENS_TEST_DATA) + "/model/tiny/llama-q4_0.gguf";

class PackedWeights : public testing::Test {
 protected:
  void SetUp() override {
    home_ = testing::TempDir() + "packed-" + testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(home_);
    fs::create_directories(home_);
  }
  void TearDown() override { fs::remove_all(home_); }

  LoadOptions options() const {
    LoadOptions o;
    o.threads = 2;
    o.packed_cache = {.home = home_, .least_bytes = 0, .spare_bytes = 0};
    return o;
  }
  // The logits after some tokens of a model loaded from `path`.
  std::vector<float> logits(const std::string& path, const LoadOptions& options) const {
    auto file = GgufFile::open(path);
    EXPECT_TRUE(file.ok());
    auto model = load_model(std::make_shared<GgufFile>(*std::move(file)), options);
    EXPECT_TRUE(model.ok()) << model.status().to_string();
    std::vector<int32_t> counts((*model)->kv_groups().size(), 1);
    auto kv = (*model)->make_kv_pool(counts);
    std::vector<TokenId> tokens = {9, 17, 30, 44};
    std::vector<PageId> page = {0};
    TokenSpan span{tokens, 0, std::vector<std::span<const PageId>>(counts.size(), page), {3}};
    std::vector<float> out(static_cast<size_t>((*model)->vocab_size()));
    EXPECT_TRUE((*model)->forward({&span, 1}, **kv, out).ok());
    return out;
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    std::error_code error;
    for (const auto& e : fs::directory_iterator(home_ + "/packed", error)) {
      if (e.path().filename() != "lock") found.push_back(e.path());
    }
    return found;
  }
  fs::path only_file() const {
    auto found = files();
    EXPECT_EQ(found.size(), 1u);
    return found.empty() ? fs::path() : found.front();
  }
  static std::string bytes_of(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

  std::string home_;
};

TEST_F(PackedWeights, TheSecondStartMapsTheFileAndGivesTheSameBits) {
  std::vector<float> plain = logits(kModel, {});
  EXPECT_EQ(logits(kModel, options()), plain);
  fs::path file = only_file();
  auto inode = [&] { struct stat st{}; ::stat(file.c_str(), &st); return st.st_ino; };
  auto first = inode();
  EXPECT_EQ(logits(kModel, options()), plain);
  EXPECT_EQ(inode(), first) << "written again instead of used";
}

TEST_F(PackedWeights, WithoutAHomeNothingIsWritten) {
  LoadOptions o = options();
  o.packed_cache.home.clear();
  logits(kModel, o);
  o = options();
  o.float_path = true;
  logits(kModel, o);
  EXPECT_TRUE(files().empty());
}

TEST_F(PackedWeights, AFileThatIsCutOrChangedAnywhereIsMadeAnew) {
  std::vector<float> plain = logits(kModel, options());
  fs::path file = only_file();
  const std::string good = bytes_of(file);
  std::vector<std::string> bad = {"", "x", good.substr(0, 100), good.substr(0, 4096), good.substr(0, good.size() - 1), good + "x",
                                  std::string(good.size(), '\0')};
  for (size_t at : {size_t{0}, size_t{8}, size_t{12}, size_t{20}, size_t{60}, size_t{180}, size_t{190}, size_t{200}, size_t{212}, size_t{4096}, good.size() / 2, good.size() - 1}) {
    bad.push_back(good);
    bad.back()[at] = static_cast<char>(bad.back()[at] ^ 1);
  }
  for (size_t i = 0; i < bad.size(); ++i) {
    SCOPED_TRACE(i);
    write(file, bad[i]);
    EXPECT_EQ(logits(kModel, options()), plain);
    EXPECT_EQ(bytes_of(file), good);
  }
}

TEST_F(PackedWeights, AnotherModelsFileUnderThisNameIsNotUsed) {
  std::vector<float> plain = logits(kModel, options());
  fs::path file = only_file();
  logits(kOther, options());
  auto found = files();
  ASSERT_EQ(found.size(), 2u);
  const std::string good = bytes_of(file);
  write(file, bytes_of(found[0] == file ? found[1] : found[0]));
  EXPECT_EQ(logits(kModel, options()), plain);
  EXPECT_EQ(bytes_of(file), good);
}

TEST_F(PackedWeights, AChangedModelFileOfTheSameSizeAndTimeIsPackedAnew) {
  fs::path model = fs::path(home_) / "model.gguf";
  fs::copy_file(kModel, model);
  auto time = fs::last_write_time(model);
  std::vector<float> before = logits(model, options());
  std::string bytes = bytes_of(model);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x55);
  write(model, bytes);
  fs::last_write_time(model, time);
  std::vector<float> after = logits(model, options());
  EXPECT_NE(after, before);
  EXPECT_EQ(after, logits(model, {}));
}

TEST_F(PackedWeights, AFolderThatCannotBeWrittenCostsOnlyTime) {
  std::vector<float> plain = logits(kModel, {});
  write(home_ + "/packed", "a file where the folder should be");
  EXPECT_EQ(logits(kModel, options()), plain);
}

TEST_F(PackedWeights, ADiskThatIsFullInTheMiddleLeavesNothingBehind) {
  std::vector<float> plain = logits(kModel, {});
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit small{10000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::vector<float> got = logits(kModel, options());
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(got, plain);
  EXPECT_TRUE(files().empty());
}

TEST_F(PackedWeights, ADiskWithLittleLeftIsNotFilled) {
  LoadOptions o = options();
  o.packed_cache.spare_bytes = uint64_t{1} << 60;
  EXPECT_EQ(logits(kModel, o), logits(kModel, {}));
  EXPECT_TRUE(files().empty());
}

TEST_F(PackedWeights, WhatWasNotUsedForLongestLeavesWhenRoomIsNeeded) {
  logits(kOther, options());
  fs::path first = only_file();
  fs::last_write_time(first, fs::last_write_time(first) - std::chrono::hours(1));
  write(fs::path(home_) / "packed" / "x-panels16x32-v0.bin.tmp.123", "left by a process that died");
  LoadOptions o = options();
  o.packed_cache.most_bytes = fs::file_size(first) + 1000;
  logits(kModel, o);
  EXPECT_NE(only_file(), first);
}

TEST_F(PackedWeights, RemovingAModelOfTheStoreRemovesItsPackedForm) {
  std::string blob = "sha256-" + std::string(64, 'a');
  fs::create_directories(home_ + "/blobs");
  fs::copy_file(kModel, home_ + "/blobs/" + blob);
  fs::create_symlink("blobs/" + blob, home_ + "/model.gguf");
  logits(home_ + "/model.gguf", options());
  logits(kOther, options());
  ASSERT_EQ(files().size(), 2u);
  EXPECT_EQ(remove_packed(home_, "sha256-" + std::string(64, 'b')), 0u);
  EXPECT_GT(remove_packed(home_, blob), 0u);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(PackedWeights, ManyStartsAtOnceAllGetTheirModel) {
  std::vector<float> plain = logits(kModel, {});
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> got(8);
  for (auto& g : got) threads.emplace_back([&] { g = logits(kModel, options()); });
  for (auto& t : threads) t.join();
  for (auto& g : got) EXPECT_EQ(g, plain);
  only_file();
}

}  // namespace
}  // namespace inferens
