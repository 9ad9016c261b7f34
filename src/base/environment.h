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
// The environment as it is, for programs that we start.
char** process_environment();
// HTTPS proxies and such are read by the libraries that use them.

// The hub that hf: sources are fetched from: INFERENS_HF_ENDPOINT, else HF_ENDPOINT, which the hub's own client reads.
std::optional<std::string> hub_endpoint();
// The hub's access token: HF_TOKEN. Sent to that endpoint only.
std::optional<std::string> hub_token();
// The registry that ollama: sources are fetched from: INFERENS_OLLAMA_REGISTRY, else OLLAMA_REGISTRY.
std::optional<std::string> ollama_registry();

}  // namespace inferens
