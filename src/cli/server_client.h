// Asks a running server over HTTP, for the verbs that tell or change what it does.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "inferens/status.h"

namespace inferens {

struct ServerFlags {
  std::string server = "http://127.0.0.1:8080";
  std::string api_key;
};

// Adds --server and --api-key.
void add_server_flags(CLI::App& verb, ServerFlags& flags);

// The body of a successful answer. An empty `body` is a GET, else a POST of JSON. Errors name the server, or say what it
// said.
StatusOr<std::string> ask_server(const ServerFlags& flags, const std::string& path, const std::string& body);

}  // namespace inferens
