// The server as a process, as its operator meets it: it says where it listens, ps and stop find it, signals end it in order.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "child.h"

namespace inferens::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

class ServeTest : public CliTest {
 protected:
  // A server on a free port, in a process of its own.
  class ServerProcess {
   public:
    explicit ServerProcess(std::vector<std::string> arguments) {
      std::array<int, 2> err{};
      EXPECT_EQ(::pipe2(err.data(), O_CLOEXEC), 0);
      std::fflush(nullptr);
      child_ = ::fork();
      if (child_ == 0) {
        ::dup2(err[1], STDERR_FILENO);
        arguments.insert(arguments.begin(), {"inferens", "serve", "--port", "0", "--threads", "1", "--kv-memory", "0.004"});
        std::vector<const char*> argv;
        for (const std::string& a : arguments) argv.push_back(a.c_str());
        ::_exit(run_command_line(static_cast<int>(argv.size()), argv.data()));
      }
      ::close(err[1]);
      err_ = err[0];
      std::string line;
      for (char c = 0; ::read(err_, &c, 1) == 1 && c != '\n';) line += c;
      constexpr std::string_view kStart = "inferens: listening on ";
      EXPECT_TRUE(line.starts_with(kStart)) << line;
      url_ = line.substr(kStart.size(), line.find(' ', kStart.size()) - kStart.size());
    }
    ~ServerProcess() {
      if (child_ > 0) ::kill(child_, SIGKILL);
      wait();
      ::close(err_);
    }
    const std::string& url() const { return url_; }
    void signal(int number) const { ::kill(child_, number); }
    int wait() {
      int state = 0;
      if (child_ > 0) ::waitpid(std::exchange(child_, -1), &state, 0);
      return exit_code_of(state);
    }

   private:
    pid_t child_ = -1;
    int err_ = -1;
    std::string url_;
  };
};

TEST_F(ServeTest, PsAndStopSeeWhatARunningServerHolds) {
  ServerProcess server({"a=" + model(), "b=" + model()});
  Outcome ps = run_cli({"ps", "--server", server.url()});
  EXPECT_EQ(ps.code, 0) << ps.err;
  EXPECT_THAT(ps.out, HasSubstr("never"));
  const Json both = Json::parse(run_cli({"ps", "--server", server.url() + "/", "--json"}).out);
  ASSERT_EQ(both.size(), 2);
  EXPECT_EQ(both[0]["model"], "a");
  EXPECT_GT(both[0]["bytes"], 0);
  Outcome stop = run_cli({"stop", "a", "--server", server.url()});
  EXPECT_EQ(stop.code, 0) << stop.err;
  EXPECT_EQ(stop.out, "stopped a\n");
  EXPECT_EQ(Json::parse(run_cli({"ps", "--server", server.url(), "--json"}).out).size(), 1);
  expect_error(run_cli({"stop", "a", "--server", server.url()}), 1, "not in memory");
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
  expect_error(run_cli({"ps", "--server", server.url()}), 1, "inferens serve");
}

TEST_F(ServeTest, PsNeedsAnAdminsKeyWhereThereAreKeys) {
  // sha256 of "secret", as sha256sum prints it.
  const std::string keys = write("keys", "root sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b admin\n");
  ServerProcess server({"--api-key-file", keys, "a=" + model()});
  expect_error(run_cli({"ps", "--server", server.url()}), 1, "--api-key");
  expect_error(run_cli({"ps", "--server", server.url(), "--api-key", "wrong"}), 1, "not known");
  EXPECT_EQ(run_cli({"ps", "--server", server.url(), "--api-key", "secret"}).code, 0);
  ::setenv("INFERENS_API_KEY", "secret", 1);
  EXPECT_EQ(run_cli({"stop", "a", "--server", server.url()}).code, 0);
  ::unsetenv("INFERENS_API_KEY");
}

TEST_F(ServeTest, AServerAddressThatIsNoneIsAUsageError) {
  expect_error(run_cli({"ps", "--server", "ftp://127.0.0.1/"}), 2, "--server");
  expect_error(run_cli({"ps", "--server", "http://"}), 2, "--server");
}

}  // namespace
}  // namespace inferens::testing
