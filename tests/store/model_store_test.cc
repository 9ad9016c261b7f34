#include "store/model_store.h"

#include <gmock/gmock.h>
#include <sys/file.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "store/gguf_summary.h"
#include "store/incoming_file.h"
#include "store/names.h"
#include "store_fixture.h"

namespace inferens::testing {
namespace {

using ::testing::HasSubstr;

class Store : public StoreTest {};

TEST_F(Store, ALocalFileIsCopiedSoThatItsLossDoesNotMatter) {
  std::string path = write("My.Model.gguf", bytes_of(tiny_model_path()));
  Manifest m = pull_or_fail(path);
  EXPECT_EQ(m.name, "my.model");
  std::filesystem::remove(path);
  EXPECT_EQ(bytes_of(store_->model_path(m)), bytes_of(tiny_model_path()));
}

TEST_F(Store, ASplitModelIsPulledByAnyOfItsParts) {
  Manifest m = pull_or_fail(std::string(INFERENS_TEST_DATA) + "/gguf/split-00002-of-00003.gguf");
  EXPECT_EQ(m.name, "split");
  EXPECT_EQ(m.files.size(), 3U);
  EXPECT_TRUE(GgufFile::open(store_->model_path(m)).ok());
}

TEST_F(Store, AWrongFileIsRefusedBeforeItIsCopied) {
  EXPECT_THAT(pull(write("page.gguf", "<html>not a model</html>")).status().message(), HasSubstr("page.gguf"));
  EXPECT_EQ(pull(folder_ + "/absent.gguf").status().code(), StatusCode::kNotFound);
  std::string cut = bytes_of(tiny_model_path());
  EXPECT_FALSE(pull(write("cut.gguf", cut.substr(0, cut.size() / 2))).ok());
  expect_nothing_installed();
}

TEST_F(Store, ModelsAreListedByName) {
  EXPECT_TRUE(store_->list().value().models.empty());
  options_.name = "b:2";
  pull_or_fail(tiny_model_path());
  options_.name = "a";
  pull_or_fail(other_model_path());
  auto listing = store_->list().value();
  ASSERT_EQ(listing.models.size(), 2U);
  EXPECT_EQ(listing.models[0].name + " " + listing.models[1].name, "a b:2");
  EXPECT_EQ(store_->find("a:latest").value().name, "a");
  EXPECT_EQ(store_->find_source(other_model_path()).value()->name, "a");
  EXPECT_FALSE(store_->find_source("pypi:none").value().has_value());
}

TEST_F(Store, AnotherModelIsNeverOverwrittenByAPull) {
  options_.name = "mine";
  pull_or_fail(tiny_model_path());
  auto second = pull(other_model_path());
  EXPECT_EQ(second.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(second.status().message(), HasSubstr("--as"));
  EXPECT_EQ(bytes_of(store_->model_path(store_->find("mine").value())), bytes_of(tiny_model_path()));
}

TEST_F(Store, AnUpdateReplacesTheModelAndFreesTheOldBytes) {
  std::string path = write("m.gguf", bytes_of(tiny_model_path()));
  pull_or_fail(path);
  write("m.gguf", bytes_of(other_model_path()));
  EXPECT_EQ(bytes_of(store_->model_path(pull_or_fail(path))), bytes_of(tiny_model_path()));
  EXPECT_THAT(progress_.notes, HasSubstr("there already"));
  options_.update = true;
  EXPECT_EQ(bytes_of(store_->model_path(pull_or_fail(path))), bytes_of(other_model_path()));
  EXPECT_EQ(names_in("blobs").size(), 1U);
}

TEST_F(Store, ACopySharesTheBytesUntilTheLastNameIsRemoved) {
  options_.name = "one";
  pull_or_fail(tiny_model_path());
  ASSERT_TRUE(store_->copy("one", "two:v1").ok());
  EXPECT_EQ(names_in("blobs").size(), 1U);
  EXPECT_EQ(store_->copy("one", "two:v1").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(store_->copy("one", "one").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(store_->copy("one", "../evil").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(store_->copy("none", "three").code(), StatusCode::kNotFound);
  EXPECT_EQ(store_->remove("one").value(), 0U);
  EXPECT_EQ(bytes_of(store_->model_path(store_->find("two:v1").value())), bytes_of(tiny_model_path()));
  EXPECT_EQ(store_->remove("two:v1").value(), bytes_of(tiny_model_path()).size());
  EXPECT_TRUE(names_in("blobs").empty());
}

TEST_F(Store, NothingOutsideTheStoreCanBeNamed) {
  pull_or_fail(tiny_model_path());
  std::string outside = write("outside", "keep");
  for (const char* name : {"../outside", "..", "/etc", "a/../../outside", ""}) {
    EXPECT_EQ(store_->find(name).status().code(), StatusCode::kInvalidArgument) << name;
    EXPECT_EQ(store_->remove(name).status().code(), StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(bytes_of(outside), "keep");
}

TEST_F(Store, ALinkThatLeadsOutOfTheStoreIsNotFollowed) {
  std::filesystem::create_directories(folder_ + "/elsewhere");
  write("elsewhere/manifest.json", manifest_to_json(pull_or_fail(tiny_model_path())));
  std::filesystem::create_directory_symlink(folder_ + "/elsewhere", folder_ + "/home/models/evil");
  EXPECT_FALSE(store_->find("evil").ok());
  EXPECT_FALSE(read_beneath(folder_ + "/home", "../elsewhere/manifest.json", 1000).ok());
}

TEST_F(Store, ADamagedManifestIsReportedAndCanBeRemovedAndHurtsNoOther) {
  pull_or_fail(tiny_model_path());
  options_.name = "good";
  pull_or_fail(other_model_path());
  std::string path = folder_ + "/home/models/llama-q4_0/manifest.json";
  const std::string whole = bytes_of(path);
  nlohmann::json json = nlohmann::json::parse(whole);
  std::vector<std::string> damaged = {"", "{", "[]", "null", whole.substr(0, whole.size() / 2), std::string(2000, '[')};
  for (const char* digest : {"sha256:../../x", "sha256:ABC", ""}) {
    json["files"][0]["digest"] = digest;
    damaged.push_back(json.dump());
  }
  json = nlohmann::json::parse(whole);
  for (const char* name : {"../../../etc/x", "a/b", ".", "", "manifest.json"}) {
    json["files"][0]["name"] = name;
    damaged.push_back(json.dump());
  }
  json = nlohmann::json::parse(whole);
  json["files"] = nlohmann::json::array();
  damaged.push_back(json.dump());
  json["files"] = "x";
  damaged.push_back(json.dump());
  json = nlohmann::json::parse(whole);
  json["name"] = "good";
  damaged.push_back(json.dump());
  json["name"] = "../x";
  damaged.push_back(json.dump());
  for (const std::string& text : damaged) {
    std::ofstream(path) << text;
    EXPECT_EQ(store_->find("llama-q4_0").status().code(), StatusCode::kDataLoss) << text;
    auto listing = store_->list().value();
    EXPECT_EQ(listing.models.size(), 1U) << text;
    EXPECT_EQ(listing.damaged.size(), 1U) << text;
  }
  EXPECT_TRUE(store_->remove("llama-q4_0").ok());
  EXPECT_TRUE(GgufFile::open(store_->model_path(store_->find("good").value())).ok());
}

TEST_F(Store, LeftoversOfInterruptedPullsCanBeRemovedButNotThoseInUse) {
  pull_or_fail(tiny_model_path());
  RecordedProgress none;
  auto used = IncomingFile::open(folder_ + "/home", "used", none).value();
  ASSERT_TRUE(used.append(std::as_bytes(std::span(std::string_view("12345")))).ok());
  std::ofstream(folder_ + "/home/incoming/dead.partial") << "1234567";
  std::filesystem::create_directories(folder_ + "/home/incoming/pip.dir.partial");
  std::ofstream(folder_ + "/home/incoming/pip.dir.partial/x.whl") << "123";
  EXPECT_EQ(store_->remove_incomplete().value(), 10U);
  EXPECT_EQ(names_in("incoming"), std::set<std::string>{"used.partial"});
}

TEST_F(Store, AnIncomingFileGoesOnWithTheBytesOfADeadProcess) {
  RecordedProgress none;
  auto text = [](std::string_view t) { return std::as_bytes(std::span(t)); };
  {
    auto first = IncomingFile::open(folder_ + "/home", "x", none).value();
    ASSERT_TRUE(first.append(text("hello ")).ok());
  }
  auto second = IncomingFile::open(folder_ + "/home", "x", none).value();
  EXPECT_EQ(second.size(), 6U);
  ASSERT_TRUE(second.append(text("world")).ok());
  // echo -n "hello world" | sha256sum
  EXPECT_EQ(second.finish("").value(), "sha256:b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9");
}

TEST_F(Store, ShowTellsWhatTheFileSays) {
  // Values of tests/golden/model: the tiny Llama that its script makes.
  GgufSummary s = summarize_gguf(GgufFile::open(tiny_model_path()).value());
  EXPECT_EQ(s.architecture, "llama");
  EXPECT_EQ(s.file_bytes, std::filesystem::file_size(tiny_model_path()));
  EXPECT_GT(s.parameters, 0U);
  EXPECT_GT(s.layers, 0U);
  EXPECT_GT(s.context_length, 0U);
  EXPECT_EQ(s.quantization, "Q4_0");
  EXPECT_EQ(s.tensor_types.front().first, "Q4_0");
}

}  // namespace
}  // namespace inferens::testing
