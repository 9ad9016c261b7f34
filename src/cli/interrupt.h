// Ctrl-C as something to ask about instead of the end of the process.
#pragma once

#include <csignal>

#include "base/descriptor.h"

namespace inferens {

// While one lives, SIGINT is only noted. One at a time; restores what was before.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  // True if Ctrl-C came since the last call.
  bool take();
  // Readable while there is a Ctrl-C to take: for poll, which so misses none, whichever thread the signal went to.
  int descriptor() const { return read_end_.get(); }

 private:
  Descriptor read_end_;
  Descriptor write_end_;
  struct sigaction previous_ {};
};

}  // namespace inferens
