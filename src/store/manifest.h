// What the store knows of one model: where it came from and which files it has. Kept as models/<name>/manifest.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "inferens/status.h"

namespace inferens {

struct StoredFile {
  std::string role;    // "model", or text that came with it: "template", "system", "params", "license"
  std::string name;    // file name inside the model's folder, unique
  std::string digest;  // sha256:…
  uint64_t bytes = 0;
};

struct Manifest {
  std::string name;    // model name, canonical
  std::string source;  // as the user gave it to pull
  int64_t created = 0; // Unix seconds
  std::vector<StoredFile> files;  // at least one of role "model"; parts of a split model in order

  const StoredFile* find(std::string_view role) const;  // the first of that role
  uint64_t total_bytes() const;
};

std::string manifest_to_json(const Manifest& manifest);
// Checks everything: the file may have been edited or damaged. `where` names it in errors.
StatusOr<Manifest> manifest_from_json(const std::string& json, const std::string& where);

}  // namespace inferens
