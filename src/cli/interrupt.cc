#include "cli/interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace inferens {
namespace {

// A signal handler has no other way to know where to write than through a variable of the process.
std::atomic<int> noted_to{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void note_interrupt(int) {
  int saved = errno;
  // A full pipe has enough of them noted.
  [[maybe_unused]] ssize_t n = ::write(noted_to.load(std::memory_order_relaxed), "", 1);
  errno = saved;
}

}  // namespace

InterruptScope::InterruptScope() {
  std::array<int, 2> ends{-1, -1};
  // Without a pipe (no descriptors left) Ctrl-C keeps ending the program.
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    ::sigaction(SIGINT, nullptr, &previous_);
    return;
  }
  read_end_ = Descriptor(ends[0]);
  write_end_ = Descriptor(ends[1]);
  noted_to.store(ends[1], std::memory_order_relaxed);
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, &previous_);
}

InterruptScope::~InterruptScope() { ::sigaction(SIGINT, &previous_, nullptr); }

bool InterruptScope::take() {
  bool any = false;
  std::array<char, 64> buffer;
  while (::read(read_end_.get(), buffer.data(), buffer.size()) > 0) any = true;
  return any;
}

}  // namespace inferens
