// Runs the command line in a process of its own, with pipes or on a terminal, as a user's shell would.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace inferens::testing {

inline int exit_code_of(int state) { return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state); }

inline std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t n = 0; (n = ::read(fd, buffer.data(), buffer.size())) > 0;) text.append(buffer.data(), static_cast<size_t>(n));
  return text;
}

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

// `arguments` follow the program's name. The input must fit into a pipe's buffer.
inline Outcome run_cli(const std::vector<std::string>& arguments, const std::string& input = "") {
  std::array<std::array<int, 2>, 3> pipes{};
  for (auto& p : pipes) EXPECT_EQ(::pipe2(p.data(), O_CLOEXEC), 0);
  std::fflush(nullptr);
  pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipes[0][0], STDIN_FILENO);
    ::dup2(pipes[1][1], STDOUT_FILENO);
    ::dup2(pipes[2][1], STDERR_FILENO);
    for (auto& p : pipes) {
      ::close(p[0]);
      ::close(p[1]);
    }
    std::signal(SIGPIPE, SIG_IGN);
    std::vector<const char*> argv = {"inferens"};
    for (const std::string& a : arguments) argv.push_back(a.c_str());
    int code = run_command_line(static_cast<int>(argv.size()), argv.data());
    std::fflush(nullptr);
    ::_exit(code);
  }
  ::close(pipes[0][0]);
  ::close(pipes[1][1]);
  ::close(pipes[2][1]);
  EXPECT_EQ(::write(pipes[0][1], input.data(), input.size()), static_cast<ssize_t>(input.size()));
  ::close(pipes[0][1]);
  Outcome outcome;
  outcome.out = read_to_end(pipes[1][0]);
  outcome.err = read_to_end(pipes[2][0]);
  ::close(pipes[1][0]);
  ::close(pipes[2][0]);
  int state = 0;
  ::waitpid(child, &state, 0);
  outcome.code = exit_code_of(state);
  return outcome;
}

// A program on a terminal of its own, and someone who types.
class Terminal {
 public:
  explicit Terminal(const std::function<int()>& program) {
    std::fflush(nullptr);
    winsize size{24, 80, 0, 0};
    child_ = ::forkpty(&fd_, nullptr, nullptr, &size);
    if (child_ == 0) {
      ::setenv("TERM", "xterm", 1);
      std::setlocale(LC_CTYPE, "C.UTF-8");  // as main does
      int code = program();
      std::fflush(nullptr);
      ::_exit(code);
    }
  }
  ~Terminal() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    ::close(fd_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void type(const std::string& text) { EXPECT_EQ(::write(fd_, text.data(), text.size()), static_cast<ssize_t>(text.size())); }

  // Waits until `text` is shown behind what was found before, and moves on behind it.
  bool sees(const std::string& text) {
    for (;;) {
      size_t at = seen_.find(text, position_);
      if (at != std::string::npos) {
        position_ = at + text.size();
        return true;
      }
      if (!read_more()) {
        ADD_FAILURE() << "'" << text << "' was not shown; shown was: " << seen_.substr(position_);
        return false;
      }
    }
  }
  // Waits for that many bytes behind what was found before.
  bool sees_bytes(size_t count) {
    while (seen_.size() < position_ + count) {
      if (!read_more()) return false;
    }
    return true;
  }
  std::string shown() const { return seen_; }

  int exit_code() {
    while (read_more()) {
    }
    if (out_of_patience_) ::kill(child_, SIGKILL);
    int state = 0;
    ::waitpid(child_, &state, 0);
    child_ = -1;
    return exit_code_of(state);
  }

 private:
  bool read_more() {
    constexpr int kPatience = 60'000;  // only so that a broken program ends the test
    pollfd p{fd_, POLLIN, 0};
    std::array<char, 4096> buffer;
    if (::poll(&p, 1, kPatience) <= 0) {
      out_of_patience_ = true;
      return false;
    }
    ssize_t n = ::read(fd_, buffer.data(), buffer.size());
    if (n <= 0) return false;
    seen_.append(buffer.data(), static_cast<size_t>(n));
    return true;
  }

  int fd_ = -1;
  pid_t child_ = -1;
  bool out_of_patience_ = false;
  std::string seen_;
  size_t position_ = 0;
};

// A home folder of its own, and none of the user's settings.
class CliTest : public ::testing::Test {
 protected:
  CliTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "inferens-cli-XXXXXX").string();
    home_ = ::mkdtemp(pattern.data());
    ::setenv("INFERENS_HOME", home_.c_str(), 1);
  }
  ~CliTest() override {
    ::unsetenv("INFERENS_HOME");
    std::filesystem::remove_all(home_);
  }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(home_ + "/" + name, std::ios::binary) << text;
    return home_ + "/" + name;
  }
  // Failed in one line that says `says`.
  static void expect_error(const Outcome& outcome, int code, const std::string& says) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("inferens: ")) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  }

  // A Llama with random weights, a byte-level tokenizer and a chat template; context 256.
  static std::string model() { return std::string(INFERENS_TEST_DATA) + "/model/tiny/llama-f32.gguf"; }

  std::string home_;
};

}  // namespace inferens::testing
