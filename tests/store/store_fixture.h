// A store in a folder of its own, removed afterwards, and real GGUF files to put into it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/file.h"
#include "store/pull.h"

namespace inferens::testing {

// A two-layer llama written by the gguf Python package.
inline std::string tiny_model_path() { return std::string(INFERENS_TEST_DATA) + "/model/tiny/llama-q4_0.gguf"; }
inline std::string other_model_path() { return std::string(INFERENS_TEST_DATA) + "/model/tiny/qwen2-q4_0.gguf"; }
inline std::string bytes_of(const std::string& path) { return read_file(path).value(); }

// Keeps what a user would have been told.
class RecordedProgress final : public Progress {
 public:
  void begin(const std::string&, uint64_t total, uint64_t done) override {
    last_total = total;
    started_at.push_back(done);
  }
  void advance(uint64_t) override {}
  void end() override {}
  void note(const std::string& line) override { notes += line + "\n"; }

  uint64_t last_total = 0;
  std::vector<uint64_t> started_at;  // bytes there at each start of a transfer
  std::string notes;
};

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "inferens-store-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    store_.emplace(folder_ + "/home");
    options_.http = {.connect_timeout_s = 5, .stall_timeout_s = 1, .attempts = 3, .backoff_ms = 1};
  }
  ~StoreTest() override { std::filesystem::remove_all(folder_); }

  StatusOr<Manifest> pull(const std::string& source) {
    auto parsed = parse_source(source);
    if (!parsed.ok()) return parsed.status();
    return pull_model(*store_, *parsed, options_, system_clock(), progress_);
  }
  Manifest pull_or_fail(const std::string& source) {
    auto manifest = pull(source);
    EXPECT_TRUE(manifest.ok()) << manifest.status().message();
    return manifest.ok() ? *manifest : Manifest();
  }
  std::string write(const std::string& name, const std::string& bytes) {
    std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  // Names in a folder of the store, "blobs" say.
  std::set<std::string> names_in(const std::string& part) const {
    std::set<std::string> names;
    std::error_code none;
    for (std::filesystem::directory_iterator it(folder_ + "/home/" + part, none); !none && it != std::filesystem::directory_iterator(); ++it) names.insert(it->path().filename());
    return names;
  }
  void expect_nothing_installed() const {
    EXPECT_TRUE(names_in("models").empty());
    EXPECT_TRUE(names_in("blobs").empty());
  }

  std::string folder_;
  std::optional<ModelStore> store_;
  PullOptions options_;
  RecordedProgress progress_;
};

}  // namespace inferens::testing
