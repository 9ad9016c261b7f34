// A request of /v1/embeddings, read by its field table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "inferens/generation.h"
#include "serve/api/fields.h"

namespace inferens {

struct EmbeddingCall {
  std::string model;
  std::vector<std::variant<std::string, std::vector<TokenId>>> inputs;
  bool base64 = false;
  bool add_special_tokens = true;
  std::optional<int64_t> dimensions;
  int32_t priority = 0;
};

using EmbeddingField = Field<EmbeddingCall>;
std::span<const std::span<const EmbeddingField>> openai_embedding_tables();

}  // namespace inferens
