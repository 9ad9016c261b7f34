// Tokenizers for tests: the small ones trained for this repository, and those of real models where a folder has them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "text/tokenizer.h"

namespace inferens {

inline std::string golden_path(const std::string& name) {
  return std::string(INFERENS_TEST_DATA) + "/tokenizer/" + name;
}

// The texts on which tokenizers are compared with their reference.
inline const std::vector<std::string>& golden_texts() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> read;
    std::ifstream in(golden_path("strings.jsonl"));
    for (std::string line; std::getline(in, line);) read.push_back(nlohmann::json::parse(line).get<std::string>());
    return read;
  }();
  return texts;
}

// Where a tokenizer's file is: trained_* in the repository, others in $INFERENS_TEST_MODELS, as <name>.gguf or as the
// whole model that carries them.
inline std::optional<std::string> find_tokenizer_file(const std::string& name) {
  if (name.starts_with("trained_")) return golden_path(name + ".gguf");
  const char* folder = std::getenv("INFERENS_TEST_MODELS");
  if (folder == nullptr) return std::nullopt;
  const std::string whole = name == "smollm"   ? "smollm2-135m-instruct-q4_1.gguf"
                            : name == "gemma3" ? "gemma-3-270m-q4_k_m.gguf"
                            : name == "qwen3"  ? "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
                                               : "";
  for (const std::string& file : {name + ".gguf", whole}) {
    const std::string path = std::string(folder) + "/" + file;
    if (!file.empty() && std::filesystem::is_regular_file(path)) return path;
  }
  return std::nullopt;
}

// Fails the test when the file cannot be read.
inline std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path) {
  auto file = GgufFile::open(path);
  EXPECT_TRUE(file.ok()) << file.status().to_string();
  if (!file.ok()) return nullptr;
  auto tokenizer = Tokenizer::from_gguf(*file);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().to_string();
  return tokenizer.ok() ? std::move(*tokenizer) : nullptr;
}

}  // namespace inferens
