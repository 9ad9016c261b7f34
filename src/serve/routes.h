// Every route of the server in one table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "serve/api/endpoints.h"

namespace inferens {

enum class Access {
  kOpen,   // everyone who can connect
  kKey,    // with a key, when the server has keys
  kAdmin,  // with an admin's key, when the server has keys
};

struct Route {
  Dialect dialect;
  std::string_view method;
  std::string_view path;  // ending in '*': everything that starts so
  Access access;
  void (*handler)(ApiContext& api, const HttpRequest& request, const Respond& respond);
};

std::span<const Route> routes();

// The route, or null. `allowed` gets the methods that the path has ("GET, POST"); empty: there is no such path.
const Route* find_route(Dialect dialect, std::string_view method, std::string_view path, std::string& allowed);
// The path of a route as the table has it, in whichever dialect; empty: there is none.
std::string_view route_name(std::string_view method, std::string_view path);

}  // namespace inferens
