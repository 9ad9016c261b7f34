// Runs another program and waits for it: an argument vector, never a shell; no standard input.
#pragma once

#include <string>
#include <vector>

#include "inferens/status.h"

namespace inferens {

struct ProcessResult {
  int exit_code = 0;   // 128 + n when signal n ended it
  std::string output;  // the last 64 KiB of what it wrote to standard output and standard error
};

enum class ProcessOutput {
  kCapture,   // both streams only into the result
  kTerminal,  // standard output goes to our standard error (a progress bar of its own), standard error into the result
};

// argv[0] is looked up in PATH. not_found when there is no such program.
StatusOr<ProcessResult> run_process(const std::vector<std::string>& argv, ProcessOutput output);

}  // namespace inferens
