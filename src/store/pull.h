// Brings a model into the store from where it is offered: see source.h for the forms. What arrives is hashed, compared
// with the hash that the source promises, proven to be a readable GGUF, and only then visible under its name.
#pragma once

#include <string>

#include "base/clock.h"
#include "inferens/status.h"
#include "store/http.h"
#include "store/model_store.h"
#include "store/process.h"
#include "store/progress.h"
#include "store/source.h"

namespace inferens {

struct PullOptions {
  std::string name;    // empty: default_model_name(source)
  std::string sha256;  // "sha256:<hex>" that a single-file model must have; empty: what the source promises
  bool update = false; // fetch again what is there already
  // Where registry sources are fetched from. No default is built in: the address is the user's choice.
  std::string hub_endpoint;     // for hf:, such as the hub's own address or a mirror's
  std::string hub_token;        // sent to hub_endpoint only
  std::string ollama_registry;  // for ollama:
  HttpOptions http;
  ProcessOutput pip_output = ProcessOutput::kCapture;
};

// Returns the manifest of the installed model; also when it was there before and `update` is off. Blocks; another pull of
// the same file, in any process, is waited for and its bytes are used.
StatusOr<Manifest> pull_model(ModelStore& store, const Source& source, const PullOptions& options, const Clock& clock, Progress& progress);

}  // namespace inferens
