// The one place that reads the process environment. Every variable the program knows is named here.
#pragma once

#include <optional>
#include <string>

namespace inferens {

// $INFERENS_HOME, else $HOME/.inferens, else ./.inferens: models, packed weights, history, database.
std::string home_directory();
// INFERENS_ISA: forces an instruction-set level by name (see kernels/isa.h).
std::optional<std::string> forced_isa();
// Any INFERENS_<NAME> variable that is a flag's default; empty values count as unset.
std::optional<std::string> environment_flag(const std::string& name);
// HTTPS proxies and such are read by the libraries that use them.

}  // namespace inferens
