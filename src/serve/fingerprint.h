// system_fingerprint: a short name for everything, besides the request, that an answer depends on.
#pragma once

#include <string>

#include "engine/generator.h"

namespace inferens {

// "fp_<12 hex>" over the model file (its size, its start with all metadata of ordinary models, and samples of its weights),
// the KV type, the instruction set and this program's version. Reads about two megabytes of the file.
std::string fingerprint_of(const ModelInfo& model);

}  // namespace inferens
