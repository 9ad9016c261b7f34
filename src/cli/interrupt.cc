#include "cli/interrupt.h"

#include <atomic>

namespace inferens {
namespace {

// A signal handler has no other way to speak than through a variable of the process.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void note_interrupt(int) { interrupted.store(true, std::memory_order_relaxed); }

}  // namespace

InterruptScope::InterruptScope() {
  interrupted.store(false, std::memory_order_relaxed);
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a read of the terminal must end
  ::sigaction(SIGINT, &action, &previous_);
}

InterruptScope::~InterruptScope() { ::sigaction(SIGINT, &previous_, nullptr); }

bool InterruptScope::take() { return interrupted.exchange(false, std::memory_order_relaxed); }

}  // namespace inferens
