#include "store/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/descriptor.h"
#include "base/environment.h"

namespace inferens {
namespace {

constexpr size_t kKeptOutput = size_t{64} << 10;

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

std::string read_tail(const Descriptor& pipe) {
  std::string kept;
  std::array<char, 4096> buffer;
  for (;;) {
    ssize_t n = ::read(pipe.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return kept;
    kept.append(buffer.data(), static_cast<size_t>(n));
    if (kept.size() > 2 * kKeptOutput) kept.erase(0, kept.size() - kKeptOutput);
  }
}

}  // namespace

StatusOr<ProcessResult> run_process(const std::vector<std::string>& argv, ProcessOutput output) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe for", argv[0], errno);
  Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  SpawnActions actions;
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (output == ProcessOutput::kTerminal) {
    posix_spawn_file_actions_adddup2(actions.get(), STDERR_FILENO, STDOUT_FILENO);
  } else {
    posix_spawn_file_actions_adddup2(actions.get(), write_end.get(), STDOUT_FILENO);
  }
  posix_spawn_file_actions_adddup2(actions.get(), write_end.get(), STDERR_FILENO);

  std::vector<char*> arguments;
  for (const std::string& a : argv) arguments.push_back(const_cast<char*>(a.c_str()));  // posix_spawn does not write to them
  arguments.push_back(nullptr);
  pid_t child = 0;
  int error = ::posix_spawnp(&child, arguments[0], actions.get(), nullptr, arguments.data(), process_environment());
  if (error != 0) return system_error("cannot run", argv[0], error);
  write_end = Descriptor();  // otherwise the end of the output is never seen
  ProcessResult result;
  result.output = read_tail(read_end);
  int state = 0;
  while (::waitpid(child, &state, 0) < 0) {
    if (errno != EINTR) return system_error("cannot wait for", argv[0], errno);
  }
  result.exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return result;
}

}  // namespace inferens
