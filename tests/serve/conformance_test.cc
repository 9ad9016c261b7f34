// The official SDKs against this server, where they are installed: INFERENS_SDK_PYTHON names a Python that has them, and
// INFERENS_SDK_NODE a folder with their node_modules (tests/conformance/run.sh makes both).
#include <sys/wait.h>

#include <cstdlib>

#include "server_fixture.h"

namespace inferens::testing {
namespace {

constexpr int kNotInstalled = 77;

class ConformanceTest : public ServerTest {
 protected:
  static std::string url() { return "http://127.0.0.1:" + std::to_string(port()); }

  static void run(const std::string& command, const char* what) {
    const int status = std::system((command + " tiny").c_str());
    if (WIFEXITED(status) && WEXITSTATUS(status) == kNotInstalled) GTEST_SKIP() << what << " is not installed";
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(becomes_idle(*server_));
  }
  static void run_python(const char* script, const std::string& base) {
    const char* const python = std::getenv("INFERENS_SDK_PYTHON");
    if (python == nullptr || *python == 0) GTEST_SKIP() << "INFERENS_SDK_PYTHON is not set; make conformance sets it";
    run(std::string(python) + " " + INFERENS_SOURCE_DIR + "/tests/conformance/" + script + " " + base, script);
  }
  static void run_node(const char* script, const std::string& base) {
    const char* const folder = std::getenv("INFERENS_SDK_NODE");
    if (folder == nullptr || *folder == 0) GTEST_SKIP() << "INFERENS_SDK_NODE is not set; make conformance sets it where node is";
    run(std::string("node ") + folder + "/" + script + " " + base, script);
  }
};

TEST_F(ConformanceTest, TheOpenAiSdkWorksUnchanged) { run_python("openai_sdk.py", url() + "/v1"); }
TEST_F(ConformanceTest, TheAnthropicSdkWorksUnchanged) { run_python("anthropic_sdk.py", url()); }
TEST_F(ConformanceTest, TheGeminiSdkWorksUnchanged) { run_python("gemini_sdk.py", url()); }
TEST_F(ConformanceTest, TheOllamaSdkWorksUnchanged) { run_python("ollama_sdk.py", url()); }
TEST_F(ConformanceTest, TheGroqSdkWorksUnchanged) { run_python("groq_sdk.py", url()); }
TEST_F(ConformanceTest, TheJavaScriptSdksWorkUnchanged) { run_node("sdks.mjs", url()); }

}  // namespace
}  // namespace inferens::testing
