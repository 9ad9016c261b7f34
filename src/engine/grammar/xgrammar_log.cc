#include "engine/grammar/xgrammar_log.h"

#include <support/logging.h>

#include <utility>

namespace inferens {
namespace {

constexpr size_t kMostWarnings = 16;

// The library's hook is a free function, so who listens is found by thread.
thread_local XgrammarWarnings* listener = nullptr;

}  // namespace

XgrammarWarnings::XgrammarWarnings() {
  listener = this;
}

XgrammarWarnings::~XgrammarWarnings() {
  listener = nullptr;
}

void XgrammarWarnings::add(std::string text) {
  if (texts_.size() < kMostWarnings) texts_.push_back(std::move(text));
}

}  // namespace inferens

namespace xgrammar {

void LogFatalImpl(const std::string& file, int line, const std::string& message) {
  throw LogFatalError(file, line, message);
}

// Called from a destructor, which must not throw: a warning that finds no memory is noted by the budget that ran out.
void LogMessageImpl(const std::string&, int, int level, const std::string& message) {
  if (level != XGRAMMAR_LOG_LEVEL_WARNING || inferens::listener == nullptr) return;
  try {
    inferens::listener->add(message);
  } catch (const std::bad_alloc&) {
    return;
  }
}

}  // namespace xgrammar
