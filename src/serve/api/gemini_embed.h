// Gemini's embeddings: one text, or a batch of them.
#pragma once

#include <string>

#include "serve/api/endpoints.h"

namespace inferens {

void gemini_embed(ApiContext& api, const HttpRequest& request, const std::string& model, bool batch, const Respond& respond);

}  // namespace inferens
