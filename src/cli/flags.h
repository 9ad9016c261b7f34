// Typed flags on CLI11: every value is read without the locale, checked against its range, and an error names the flag,
// the value and what is allowed. A flag that was not given takes its value from INFERENS_<NAME>, then from config.toml.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "cli/config.h"
#include "inferens/status.h"

namespace inferens {

// The lower bound of a number that may be as small as one likes, but not zero.
constexpr double kAboveZero = std::numeric_limits<double>::min();

// "--top-k": help shows `value` as the placeholder. Bounds are inclusive.
CLI::Option* add_integer(CLI::App& app, const std::string& flag, std::optional<int64_t>& out, int64_t low, int64_t high, const std::string& help);
CLI::Option* add_number(CLI::App& app, const std::string& flag, std::optional<double>& out, double low, double high, const std::string& help);
CLI::Option* add_text(CLI::App& app, const std::string& flag, std::string& out, const std::string& value, const std::string& help);
CLI::Option* add_texts(CLI::App& app, const std::string& flag, std::vector<std::string>& out, const std::string& value, const std::string& help);
// One of `choices`.
CLI::Option* add_choice(CLI::App& app, const std::string& flag, std::string& out, const std::vector<std::string>& choices, const std::string& help);
CLI::Option* add_switch(CLI::App& app, const std::string& flag, bool& out, const std::string& help);
// A positional argument.
CLI::Option* add_argument(CLI::App& app, const std::string& name, std::string& out, const std::string& help, bool required);

// Sets the flag "--name" of `verb` (or of any set of flags) as if it had been given. `place` opens the error.
Status set_flag(CLI::App& verb, const std::string& name, const std::string& value, const std::string& place);

// Gives every flag of `verb` that the command line did not set the value of INFERENS_<NAME>, else of config.toml's [verb]
// section, else of its top level. Errors name the place that the value came from.
Status apply_defaults(CLI::App& verb, const Config& config);
// Every key of the file must be a flag of some verb: a misspelt setting is an error, never ignored.
Status check_config_keys(CLI::App& app, const Config& config);

}  // namespace inferens
