// What the kinds of `inferens bench` share: lists of numbers, the form of the output, and a line that says what goes on.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace inferens {

// One function per kind.
void add_bench_speed(Verbs& verbs, CLI::App& bench);
void add_bench_kernels(Verbs& verbs, CLI::App& bench);

// "-p 512,2048": whole numbers from `low` to `high`.
CLI::Option* add_integers(CLI::App& app, const std::string& flag, std::vector<int32_t>& out, int32_t low, int32_t high, const std::string& help);

struct FormatFlags {
  bool json = false;
  bool csv = false;
};
void add_format_flags(CLI::App& app, FormatFlags& flags);
// Calls and prints the form that was asked for.
Status print_report(const FormatFlags& flags, const std::function<std::string()>& table, const std::function<std::string()>& json,
                    const std::function<std::string()>& csv);

// One line on standard error that redraws itself, on a terminal only.
class ActivityLine {
 public:
  void show(const std::string& what) {
    if (!terminal_) return;
    std::fprintf(stderr, "\r\033[Kmeasuring %s", what.c_str());
    drawn_ = true;
  }
  void clear() {
    if (drawn_) std::fputs("\r\033[K", stderr);
    drawn_ = false;
  }
  ~ActivityLine() { clear(); }

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool drawn_ = false;
};

}  // namespace inferens
