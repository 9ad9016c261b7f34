// The official SDK against this server, where it is installed: INFERENS_SDK_PYTHON names a Python that has it.
#include <sys/wait.h>

#include <cstdlib>

#include "server_fixture.h"

namespace inferens::testing {
namespace {

constexpr int kNotInstalled = 77;

class ConformanceTest : public ServerTest {};

TEST_F(ConformanceTest, TheOpenAiSdkWorksUnchanged) {
  const char* const python = std::getenv("INFERENS_SDK_PYTHON");
  if (python == nullptr || *python == 0) GTEST_SKIP() << "INFERENS_SDK_PYTHON is not set: a Python with the package 'openai'";
  const std::string command = std::string(python) + " " + INFERENS_SOURCE_DIR + "/tests/conformance/openai_sdk.py http://127.0.0.1:" + std::to_string(port()) + "/v1 tiny";
  const int status = std::system(command.c_str());
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotInstalled) GTEST_SKIP() << "the package 'openai' is not installed in " << python;
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(becomes_idle(*server_));
}

}  // namespace
}  // namespace inferens::testing
