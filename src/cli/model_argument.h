// A MODEL of the command line to a file: a name in the store, a path, or a source, which is pulled when it is not there.
#pragma once

#include <optional>
#include <string>

#include "inferens/status.h"
#include "store/model_store.h"

namespace inferens {

struct ModelArgument {
  std::string name;                  // for messages and output
  std::string path;                  // of the .gguf file
  std::optional<Manifest> manifest;  // when it is in the store
};

// A name in the store comes first; a path is what has a '/', ends in ".gguf" or exists. Pulls with progress on standard
// error.
StatusOr<ModelArgument> resolve_model(ModelStore& store, const std::string& text);

}  // namespace inferens
