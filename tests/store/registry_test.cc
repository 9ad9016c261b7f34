// hf: and ollama: against stand-ins that speak the public protocols.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "stand_in_server.h"
#include "store_fixture.h"

namespace inferens::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

StandInReply json_reply(const Json& json) {
  StandInReply reply;
  reply.body = json.dump();
  return reply;
}

StandInReply missing() {
  StandInReply reply;
  reply.status = 404;
  return reply;
}

class HubPull : public StoreTest {
 protected:
  HubPull() : server_([this](const StandInRequest& r) { return answer(r); }) {
    options_.hub_endpoint = server_.url();
    add("tiny.Q4_0.gguf", bytes_of(tiny_model_path()));
  }
  void add(const std::string& path, const std::string& bytes) {
    files_[path] = bytes;
    tree_.push_back({{"type", "file"}, {"path", path}, {"size", bytes.size()}, {"oid", std::string(40, 'a')}, {"lfs", {{"oid", sha256_digest(bytes).substr(7)}, {"size", bytes.size()}}}});
  }
  virtual StandInReply answer(const StandInRequest& r) {
    if (r.target == "/api/models/Org/Repo-GGUF/tree/main?recursive=true") return json_reply(tree_);
    const std::string prefix = "/Org/Repo-GGUF/resolve/main/";
    if (!r.target.starts_with(prefix) || files_.count(r.target.substr(prefix.size())) == 0) return missing();
    return file_reply(r, files_[r.target.substr(prefix.size())], "\"e\"");
  }

  Json tree_ = Json::array({{{"type", "directory"}, {"path", "x.gguf"}, {"size", 0}}, {{"type", "file"}, {"path", "README.md"}, {"size", 3}, {"oid", "b"}}});
  std::map<std::string, std::string> files_;
  StandInServer server_;
};

TEST_F(HubPull, TheOnlyGgufFileIsFetchedAndChecked) {
  Manifest m = pull_or_fail("hf:Org/Repo-GGUF");
  EXPECT_EQ(m.name, "repo");
  EXPECT_EQ(bytes_of(store_->model_path(m)), files_["tiny.Q4_0.gguf"]);
}

TEST_F(HubPull, AFileIsChosenByPathOrByAWordOfItsName) {
  add("dir/other.Q8_0.gguf", bytes_of(other_model_path()));
  EXPECT_EQ(pull_or_fail("hf:Org/Repo-GGUF:q8_0").find("model")->name, "other.Q8_0.gguf");
  options_.name = "second";
  EXPECT_EQ(pull_or_fail("hf:Org/Repo-GGUF:tiny.Q4_0.gguf").find("model")->name, "tiny.Q4_0.gguf");
  options_.name = "third";
  EXPECT_THAT(pull("hf:Org/Repo-GGUF:nothing").status().message(), HasSubstr("no .gguf file of that name"));
  EXPECT_THAT(pull("hf:Org/Repo-GGUF:gguf").status().message(), HasSubstr("tiny.Q4_0.gguf, dir/other.Q8_0.gguf"));
}

TEST_F(HubPull, EveryPartOfASplitModelIsFetched) {
  files_.clear();
  tree_ = Json::array();
  for (const char* part : {"split-00001-of-00003.gguf", "split-00002-of-00003.gguf", "split-00003-of-00003.gguf"}) add(std::string("Q8/") + part, bytes_of(std::string(INFERENS_TEST_DATA) + "/gguf/" + part));
  Manifest m = pull_or_fail("hf:Org/Repo-GGUF");
  EXPECT_EQ(m.files.size(), 3U);
  EXPECT_EQ(store_->model_path(m).substr(store_->model_path(m).find_last_of('/') + 1), "split-00001-of-00003.gguf");
}

TEST_F(HubPull, ContentThatIsNotWhatTheHubPromisedIsRefused) {
  files_["tiny.Q4_0.gguf"][60'000] ^= 1;
  EXPECT_EQ(pull("hf:Org/Repo-GGUF").status().code(), StatusCode::kDataLoss);
  files_["tiny.Q4_0.gguf"] += "more";
  EXPECT_EQ(pull("hf:Org/Repo-GGUF").status().code(), StatusCode::kDataLoss);
  expect_nothing_installed();
}

TEST_F(HubPull, AHashThatIsNoHashIsRefused) {
  for (const char* bad : {"../../../../etc/cron.d/x", "", "ABCDEF", "0x00"}) {
    tree_.back()["lfs"]["oid"] = bad;
    EXPECT_FALSE(pull("hf:Org/Repo-GGUF").ok()) << bad;
  }
  expect_nothing_installed();
}

TEST_F(HubPull, AnAnswerThatIsNoListIsRefused) {
  for (const Json& bad : {Json("x"), Json::object(), Json(3)}) {
    tree_ = bad;
    EXPECT_FALSE(pull("hf:Org/Repo-GGUF").ok());
  }
  tree_ = Json::array();
  EXPECT_THAT(pull("hf:Org/Repo-GGUF").status().message(), HasSubstr("no .gguf file"));
}

TEST_F(HubPull, WithoutAnEndpointTheErrorSaysWhatToSet) {
  options_.hub_endpoint.clear();
  EXPECT_THAT(pull("hf:Org/Repo-GGUF").status().message(), HasSubstr("HF_ENDPOINT"));
  EXPECT_THAT(pull("ollama:name").status().message(), HasSubstr("OLLAMA_REGISTRY"));
}

TEST_F(HubPull, AFileThatIsThereAlreadyIsNotFetchedAgain) {
  pull_or_fail("hf:Org/Repo-GGUF");
  options_.update = true;
  size_t before = server_.requests().size();
  pull_or_fail("hf:Org/Repo-GGUF");
  EXPECT_EQ(server_.requests().size(), before + 1);  // only the list of files
}

// The hub hands downloads to another server; the token must not go along.
class HubToken : public HubPull {
 protected:
  HubToken() : elsewhere_([this](const StandInRequest& r) { return file_reply(r, files_["tiny.Q4_0.gguf"], "\"e\""); }) { options_.hub_token = "hf_secret"; }
  StandInReply answer(const StandInRequest& r) override {
    if (r.target.find("/resolve/") == std::string::npos) return HubPull::answer(r);
    StandInReply reply;
    reply.status = 302;
    reply.headers = {"Location: " + elsewhere_.url() + "/cdn/tiny"};
    return reply;
  }
  StandInServer elsewhere_;
};

TEST_F(HubToken, TheTokenGoesToTheHubAndNowhereElse) {
  pull_or_fail("hf:Org/Repo-GGUF");
  for (const StandInRequest& r : server_.requests()) EXPECT_EQ(r.headers.at("authorization"), "Bearer hf_secret");
  ASSERT_EQ(elsewhere_.requests().size(), 1U);
  EXPECT_EQ(elsewhere_.requests().front().headers.count("authorization"), 0U);
}

TEST_F(HubToken, AListThatGoesOnAtAnotherServerIsNotFollowed) {
  StandInServer hub([&](const StandInRequest&) {
    StandInReply reply = json_reply(tree_);
    reply.headers = {"Link: <" + elsewhere_.url() + "/page2>; rel=\"next\""};
    return reply;
  });
  options_.hub_endpoint = hub.url();
  EXPECT_FALSE(pull("hf:Org/Repo-GGUF").ok());
  EXPECT_TRUE(elsewhere_.requests().empty());
}

TEST_F(HubPull, AListOfSeveralPagesIsReadWhole) {
  StandInServer hub([&](const StandInRequest& r) {
    if (r.target.find("/resolve/") != std::string::npos) return answer(r);
    bool second = r.target.find("cursor=2") != std::string::npos;
    StandInReply reply = json_reply(second ? tree_ : Json::array());
    if (!second) reply.headers = {"Link: <http://" + r.headers.at("host") + "/api/models/Org/Repo-GGUF/tree/main?cursor=2>; rel=\"next\""};
    return reply;
  });
  options_.hub_endpoint = hub.url();
  pull_or_fail("hf:Org/Repo-GGUF");
}

class OllamaPull : public StoreTest {
 protected:
  OllamaPull() : server_([this](const StandInRequest& r) { return answer(r); }) {
    options_.ollama_registry = server_.url();
    add("model", bytes_of(tiny_model_path()));
    add("system", "Be brief.");
    add("params", R"({"temperature":0.3,"stop":["<|im_end|>"]})");
    add("license", "Apache-2.0");
    add("license", "Second licence");
  }
  void add(const std::string& role, const std::string& bytes) {
    blobs_[sha256_digest(bytes)] = bytes;
    manifest_["layers"].push_back({{"mediaType", "application/vnd.ollama.image." + role}, {"digest", sha256_digest(bytes)}, {"size", bytes.size()}});
  }
  StandInReply answer(const StandInRequest& r) {
    if (r.target == "/v2/library/tiny/manifests/1b") return json_reply(manifest_);
    const std::string prefix = "/v2/library/tiny/blobs/";
    if (!r.target.starts_with(prefix) || blobs_.count(r.target.substr(prefix.size())) == 0) return missing();
    return file_reply(r, blobs_[r.target.substr(prefix.size())], "\"e\"");
  }
  Json manifest_ = {{"schemaVersion", 2}, {"mediaType", "application/vnd.docker.distribution.manifest.v2+json"}, {"layers", Json::array()}};
  std::map<std::string, std::string> blobs_;
  StandInServer server_;
};

TEST_F(OllamaPull, TheModelAndTheTextsThatCameWithItAreKept) {
  Manifest m = pull_or_fail("ollama:tiny:1b");
  EXPECT_EQ(m.name, "tiny:1b");
  EXPECT_EQ(bytes_of(store_->model_path(m)), bytes_of(tiny_model_path()));
  EXPECT_EQ(store_->text_of(m, "system").value(), "Be brief.");
  EXPECT_EQ(store_->text_of(m, "params").value(), R"({"temperature":0.3,"stop":["<|im_end|>"]})");
  EXPECT_EQ(store_->text_of(m, "template").value(), "");
  EXPECT_EQ(m.files.size(), 5U);
}

TEST_F(OllamaPull, ADigestThatIsNotExactlyOneNeverBecomesAPath) {
  const std::string good = manifest_["layers"][0]["digest"];
  for (const std::string& bad : {std::string("sha256:../../../../../../etc/cron.d/x"), "sha256:" + std::string(64, 'A'), good.substr(0, 70), good + "0", "sha256-" + good.substr(7), std::string("sha256:%2e%2e/") + std::string(50, 'a'), std::string()}) {
    manifest_["layers"][0]["digest"] = bad;
    auto failed = pull("ollama:tiny:1b");
    EXPECT_EQ(failed.status().code(), StatusCode::kDataLoss) << bad;
  }
  expect_nothing_installed();
}

TEST_F(OllamaPull, AManifestThatMakesNoSenseIsRefused) {
  const Json good = manifest_;
  std::vector<Json> bad(9, good);
  bad[0]["layers"] = Json::array();
  bad[1]["layers"] = Json::object();
  bad[2]["layers"].push_back(good["layers"][0]);  // twice
  bad[3]["layers"][0]["size"] = 7;                // not the blob's
  bad[4]["layers"][0]["size"] = -1;
  bad[5]["layers"].erase(0);                      // no model
  bad[6]["layers"][1]["size"] = 1'000'000'000;    // a text of a gigabyte
  bad[7] = Json{{"schemaVersion", 2}, {"manifests", Json::array()}};  // an index
  bad[8]["layers"][0].erase("mediaType");
  for (size_t i = 0; i < bad.size(); ++i) {
    manifest_ = bad[i];
    auto failed = pull("ollama:tiny:1b");
    EXPECT_EQ(failed.status().code(), StatusCode::kDataLoss) << i << ": " << failed.status().message();
    EXPECT_TRUE(names_in("models").empty()) << i;
  }
}

TEST_F(OllamaPull, WhatWouldChangeAnswersAndIsNotOfferedIsRefusedNotIgnored) {
  add("adapter", "lora");
  EXPECT_EQ(pull("ollama:tiny:1b").status().code(), StatusCode::kUnsupported);
}

TEST_F(OllamaPull, ABlobWithTheRightSizeAndWrongContentIsRefused) {
  blobs_[manifest_["layers"][0]["digest"]][1000] ^= 1;
  EXPECT_EQ(pull("ollama:tiny:1b").status().code(), StatusCode::kDataLoss);
  EXPECT_TRUE(names_in("models").empty());
}

TEST_F(OllamaPull, AManifestLargerThanAnyIsCutOff) {
  manifest_["padding"] = std::string(2 << 20, 'x');
  EXPECT_THAT(pull("ollama:tiny:1b").status().message(), HasSubstr("longer than"));
}

TEST_F(OllamaPull, TwoPullsAtTheSameTimeGiveOneWholeModel) {
  Source source = parse_source("ollama:tiny:1b").value();
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      ModelStore store(folder_ + "/home");
      RecordedProgress progress;
      auto m = pull_model(store, source, options_, system_clock(), progress);
      if (m.ok()) ++good;
      else ADD_FAILURE() << m.status().message();
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(good, 4);
  EXPECT_EQ(bytes_of(store_->model_path(store_->find("tiny:1b").value())), bytes_of(tiny_model_path()));
  EXPECT_TRUE(names_in("incoming").empty());
}

}  // namespace
}  // namespace inferens::testing
