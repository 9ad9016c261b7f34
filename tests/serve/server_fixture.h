// A server with a tiny model, one for all tests of a suite, on a free port of this machine.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "http_client.h"
#include "serve/server.h"

namespace inferens::testing {

ServerOptions tiny_server_options();
std::unique_ptr<Server> start_server(ServerOptions options);

// Pages of all running requests are back, and nothing runs or waits.
::testing::AssertionResult is_idle(Server& server);
// The same, given time to become so.
::testing::AssertionResult becomes_idle(Server& server);

class ServerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = start_server(tiny_server_options()); }
  static void TearDownTestSuite() { server_.reset(); }

  static uint16_t port() { return server_->http().port(); }
  static Reply post(std::string_view path, const nlohmann::json& body) { return ask(port(), "POST", path, body.dump()); }
  static Reply post_text(std::string_view path, std::string_view body) { return ask(port(), "POST", path, body); }
  static nlohmann::json completion(nlohmann::json fields);
  static nlohmann::json chat(nlohmann::json fields);

  inline static std::unique_ptr<Server> server_;
};

// A character from about the middle of a text, to stop at.
std::string character_in(const std::string& text);

nlohmann::json parsed(const Reply& reply);
// error.param, and the message for a person to read when an expectation fails.
std::string param_of(const Reply& reply);

}  // namespace inferens::testing
