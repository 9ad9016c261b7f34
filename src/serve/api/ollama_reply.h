// What Ollama's replies share: settings of a model, the opening of every line, durations.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "serve/api/endpoints.h"
#include "serve/api/generation_answer.h"
#include "serve/api/ollama_call.h"
#include "serve/json_writer.h"
#include "store/manifest.h"

namespace inferens {

inline constexpr const char* kNdjsonContentType = "application/x-ndjson";

// The name by which the registry knows what the client calls NAME, NAME:TAG or NAME:latest.
std::string ollama_model_name(const ApiContext& api, const std::string& asked);
// What the store's model of this name was created with; empty settings for models from elsewhere.
OllamaSettings ollama_settings(const ApiContext& api, const std::string& model);
// The store's entry of a model that is served from it. nullopt: it comes from elsewhere.
std::optional<Manifest> stored_model(const ApiContext& api, const std::string& model);

// Applies a request's keep_alive to a model in memory.
void keep_model(ApiContext& api, const std::string& model, const std::optional<Nanos>& keep_alive);

// "model" and "created_at" inside an object that is open.
void write_ollama_frame(JsonWriter& json, const std::string& model);
// A duration in nanoseconds; zero is left out.
void write_duration(JsonWriter& json, std::string_view name, Nanos duration);

}  // namespace inferens
