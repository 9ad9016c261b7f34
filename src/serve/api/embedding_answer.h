// The answer that comes from embeddings, for every dialect.
#pragma once

#include <functional>
#include <string>

#include "engine/embedding.h"
#include "serve/api/endpoints.h"

namespace inferens {

// The whole body. `loading` is how long the model was waited for.
using WriteEmbeddings = std::function<void(const EmbeddingResult& result, Nanos loading, std::string& body)>;
// What can be said only once the model is known; may change the request.
using CheckEmbeddings = std::function<Refusal(const LoadedModel& model, EmbeddingRequest& request)>;

// The key is filled in. Ends the work when the client leaves.
void embed(ApiContext& api, const HttpRequest& http, const std::string& model, EmbeddingRequest request, CheckEmbeddings check, WriteEmbeddings write,
           const Respond& respond);

// The first `dimensions` numbers, with length 1 again: what models that are trained for it mean by fewer dimensions.
void shorten_embedding(std::vector<float>& embedding, size_t dimensions);
Refusal check_dimensions(const LoadedModel& model, int64_t dimensions, const std::string& param);

}  // namespace inferens
