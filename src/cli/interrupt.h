// Ctrl-C as something to ask about instead of the end of the process.
#pragma once

#include <csignal>

namespace inferens {

// While one lives, SIGINT is only noted and system calls return early (EINTR). One at a time; restores what was before.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  // True if Ctrl-C came since the last call.
  bool take();

 private:
  struct sigaction previous_ {};
};

}  // namespace inferens
