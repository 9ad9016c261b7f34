// A request of Ollama's /api/embed or /api/embeddings, read by the field tables.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "serve/api/ollama_call.h"

namespace inferens {

struct OllamaEmbedCall {
  std::string model;
  std::vector<std::string> inputs;
  int64_t dimensions = 0;  // 0: all
  std::optional<Nanos> keep_alive;
};

using OllamaEmbedField = Field<OllamaEmbedCall>;
using OllamaEmbedTables = std::span<const std::span<const OllamaEmbedField>>;

OllamaEmbedTables ollama_embed_tables();

}  // namespace inferens
