// Pull as the command line does it: endpoints from flags and environment, progress on standard error.
#pragma once

#include <string>

#include "store/pull.h"

namespace inferens {

// Registries and tokens as the environment names them.
PullOptions pull_options_from_environment();

// Empty endpoints of `options` are filled from the environment.
StatusOr<Manifest> pull_with_progress(ModelStore& store, const std::string& source, PullOptions options);

}  // namespace inferens
