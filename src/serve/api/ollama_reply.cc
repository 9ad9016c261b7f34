#include "serve/api/ollama_reply.h"

#include <algorithm>

#include "serve/store_access.h"
#include "serve/time_text.h"
#include "store/names.h"

namespace inferens {
namespace {

std::string text_of_role(const ModelStore& store, const Manifest& manifest, std::string_view role) {
  StatusOr<std::string> text = store.text_of(manifest, role);
  return text.ok() ? std::move(*text) : std::string();
}

}  // namespace

std::string ollama_model_name(const ApiContext& api, const std::string& asked) {
  if (api.registry.knows(asked)) return asked;
  StatusOr<std::string> name = parse_model_name(asked);
  return name.ok() ? *name : asked;
}

std::optional<Manifest> stored_model(const ApiContext& api, const std::string& model) {
  if (api.store == nullptr) return {};
  const ModelStore store(api.store->home);
  StatusOr<Manifest> manifest = store.find(model);
  if (!manifest.ok()) return {};
  // A model of another place may have the same name.
  const std::vector<ModelStatus> models = api.registry.models();
  const bool served = std::any_of(models.begin(), models.end(), [&](const ModelStatus& m) { return m.name == model && m.path == store.model_path(*manifest); });
  return served ? std::optional(std::move(*manifest)) : std::nullopt;
}

OllamaSettings ollama_settings(const ApiContext& api, const std::string& model) {
  const std::optional<Manifest> manifest = stored_model(api, model);
  if (!manifest) return {};
  const ModelStore store(api.store->home);
  return {text_of_role(store, *manifest, "params"), text_of_role(store, *manifest, "system"), text_of_role(store, *manifest, "messages")};
}

void keep_model(ApiContext& api, const std::string& model, const std::optional<Nanos>& keep_alive) {
  if (keep_alive) api.registry.keep(model, *keep_alive);
}

void write_ollama_frame(JsonWriter& json, const std::string& model) {
  json.field("model", model).field("created_at", rfc3339(system_clock().unix_seconds()));
}

void write_duration(JsonWriter& json, std::string_view name, Nanos duration) {
  if (duration > 0) json.field(name, duration);
}

}  // namespace inferens
