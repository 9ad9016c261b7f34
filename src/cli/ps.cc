// inferens ps: the models that a running server has in memory.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/flags.h"
#include "cli/progress_bar.h"
#include "cli/server_client.h"
#include "cli/verbs.h"
#include "store/names.h"

namespace inferens {
namespace {

constexpr const char* kDescription = "List the models that a running server has in memory";
constexpr const char* kExamples = "  inferens ps\n  inferens ps --server http://127.0.0.1:9000 --json";

struct Flags {
  ServerFlags server;
  bool json = false;
};

std::string leaves(const nlohmann::json& model) {
  const auto seconds = model.find("expires_in_seconds");
  if (seconds == model.end() || !seconds->is_number()) return "never";
  if (model.value("users", 0) > 0) return "when idle";
  return "in " + std::to_string(seconds->get<int64_t>()) + " s";
}

void print_table(const nlohmann::json& models) {
  size_t width = 5;
  for (const auto& m : models) width = std::max(width, m.value("model", "").size());
  std::printf("%-*s  %9s  %8s  %s\n", static_cast<int>(width), "MODEL", "MEMORY", "REQUESTS", "LEAVES");
  for (const auto& m : models) {
    std::printf("%-*s  %9s  %8d  %s\n", static_cast<int>(width), printable(m.value("model", "")).c_str(), human_bytes(m.value("bytes", uint64_t{0})).c_str(), m.value("users", 0), leaves(m).c_str());
  }
}

Status ps(const Flags& flags) {
  const StatusOr<std::string> answer = ask_server(flags.server, "/v1/ps", "");
  if (!answer.ok()) return answer.status();
  const nlohmann::json body = nlohmann::json::parse(*answer, nullptr, false);
  if (!body.is_object() || !body.contains("models") || !body["models"].is_array()) return data_loss(flags.server.server + ": the answer cannot be understood");
  try {
    if (flags.json) {
      std::printf("%s\n", body["models"].dump(2).c_str());
    } else if (body["models"].empty()) {
      std::fprintf(stderr, "no models in memory\n");
    } else {
      print_table(body["models"]);
    }
  } catch (const nlohmann::json::exception&) {
    return data_loss(flags.server.server + ": the answer cannot be understood");
  }
  return ok_status();
}

}  // namespace

void add_ps(Verbs& verbs) {
  CLI::App& verb = verbs.add("ps", kDescription, kExamples);
  auto flags = std::make_shared<Flags>();
  add_server_flags(verb, flags->server);
  add_switch(verb, "--json", flags->json, "Print a JSON array")->configurable(false);
  verbs.on_chosen(verb, [flags] { return ps(*flags); });
}

}  // namespace inferens
