#include "base/environment.h"

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

std::optional<std::string> environment_flag(const std::string& name) { return read(("INFERENS_" + name).c_str()); }

}  // namespace inferens
