// What /api/create makes a model of: a model of the store, with other settings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "serve/api/ollama_call.h"

namespace inferens {

struct OllamaCreation {
  std::string model;
  std::string from;
  std::optional<std::string> system;
  std::optional<std::string> license;
  std::optional<std::string> parameters_json;  // checked
  std::optional<std::string> messages_json;    // checked
  bool stream = true;
};

// FROM, PARAMETER, SYSTEM, MESSAGE and LICENSE of a Modelfile; TEMPLATE and ADAPTER are refused by name.
// https://github.com/ollama/ollama/blob/main/docs/modelfile.md
Refusal parse_modelfile(std::string_view text, OllamaCreation& creation);

Refusal check_parameters(const std::string& parameters_json);

}  // namespace inferens
