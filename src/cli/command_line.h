// The program behind main: finds the verb, reads flags, environment and config.toml, runs the verb, and turns its Status
// into one line on standard error and an exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "inferens/status.h"

namespace inferens {

// argv as main gets it. Returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
int run_command_line(int argc, const char* const* argv);

// What a verb's file registers with.
class Verbs {
 public:
  explicit Verbs(CLI::App& app) : app_(app) {}

  // One verb, or a kind of the verb `parent`. `examples` are whole lines for the end of its help.
  CLI::App& add(const std::string& name, const std::string& description, const std::string& examples, CLI::App* parent = nullptr);
  // What to do when `verb` was chosen, after its flags were read.
  void on_chosen(CLI::App& verb, std::function<Status()> action) { actions_.emplace_back(&verb, std::move(action)); }

  // The verb that was given, or its kind; nullptr when none was.
  CLI::App* chosen() const;
  Status run_chosen() const;

 private:
  CLI::App& app_;
  std::vector<std::pair<CLI::App*, std::function<Status()>>> actions_;
};

}  // namespace inferens
