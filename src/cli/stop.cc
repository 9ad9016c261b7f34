// inferens stop: takes models out of a running server's memory.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/server_client.h"
#include "cli/verbs.h"

namespace inferens {
namespace {

constexpr const char* kDescription =
    "Take models out of a running server's memory\n"
    "Answers that have begun are finished. The next request for such a model loads it again.";
constexpr const char* kExamples = "  inferens stop smollm2\n  inferens stop smollm2 --server http://127.0.0.1:9000";

struct Flags {
  ServerFlags server;
  std::vector<std::string> models;
};

Status stop(const Flags& flags) {
  for (const std::string& model : flags.models) {
    const std::string body = nlohmann::json{{"model", model}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (const StatusOr<std::string> answer = ask_server(flags.server, "/v1/stop", body); !answer.ok()) return answer.status();
    std::printf("stopped %s\n", model.c_str());
  }
  return ok_status();
}

}  // namespace

void add_stop(Verbs& verbs) {
  CLI::App& verb = verbs.add("stop", kDescription, kExamples);
  auto flags = std::make_shared<Flags>();
  verb.add_option("MODEL", flags->models, "Names that 'inferens ps' shows")->required()->type_name("");
  add_server_flags(verb, flags->server);
  verbs.on_chosen(verb, [flags] { return stop(*flags); });
}

}  // namespace inferens
