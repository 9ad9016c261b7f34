#include "base/environment.h"

#include <unistd.h>

#include <cstdlib>

namespace inferens {
namespace {

std::optional<std::string> read(const char* name) {
  const char* v = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here calls setenv
  if (v == nullptr || *v == '\0') return std::nullopt;
  return std::string(v);
}

}  // namespace

std::string home_directory() {
  if (auto h = read("INFERENS_HOME")) return *h;
  if (auto h = read("HOME")) return *h + "/.inferens";
  return ".inferens";
}

std::optional<std::string> forced_isa() { return read("INFERENS_ISA"); }

char** process_environment() { return environ; }

std::optional<std::string> hub_endpoint() {
  auto own = read("INFERENS_HF_ENDPOINT");
  return own ? own : read("HF_ENDPOINT");
}

std::optional<std::string> hub_token() { return read("HF_TOKEN"); }

std::optional<std::string> ollama_registry() {
  auto own = read("INFERENS_OLLAMA_REGISTRY");
  return own ? own : read("OLLAMA_REGISTRY");
}

std::optional<std::string> environment_flag(const std::string& name) { return read(("INFERENS_" + name).c_str()); }

}  // namespace inferens
