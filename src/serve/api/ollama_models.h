// What Ollama's endpoints that change the store have in common.
#pragma once

#include "serve/api/endpoints.h"

namespace inferens {

// Refused where the server was started for certain models only.
Refusal need_store(const ApiContext& api);

}  // namespace inferens
