#include "cli/model_argument.h"

#include <filesystem>

#include "cli/pull_model.h"
#include "store/names.h"
#include "store/source.h"

namespace inferens {
namespace {

namespace fs = std::filesystem;

StatusOr<ModelArgument> from_path(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return not_found("no file '" + printable(path) + "'; give the path of a .gguf file or a model's name ('inferens list')");
  if (!fs::is_directory(path, error)) return ModelArgument{model_name_from(path), path, std::nullopt};
  // A folder: its one model. Parts of a split model count once, by the first.
  std::vector<std::string> found;
  for (fs::directory_iterator it(path, error); !error && it != fs::directory_iterator(); it.increment(error)) {
    std::string name = it->path().filename().string();
    bool later_part = name.find("-of-") != std::string::npos && name.find("-00001-of-") == std::string::npos;
    if (it->path().extension() == ".gguf" && !later_part) found.push_back(it->path().string());
  }
  if (found.size() == 1) return ModelArgument{model_name_from(found.front()), found.front(), std::nullopt};
  if (found.empty()) return not_found("folder '" + printable(path) + "' holds no .gguf file; only GGUF models can be loaded, convert a Hugging Face model to GGUF first");
  return invalid_argument("folder '" + printable(path) + "' holds " + std::to_string(found.size()) + " .gguf files; give the path of one");
}

StatusOr<ModelArgument> in_store(const ModelStore& store, const Manifest& manifest) { return ModelArgument{manifest.name, store.model_path(manifest), manifest}; }

bool looks_like_path(const std::string& text) { return text.find('/') != std::string::npos || text.ends_with(".gguf"); }

}  // namespace

StatusOr<ModelArgument> resolve_model(ModelStore& store, const std::string& text) {
  if (has_source_prefix(text)) {
    auto known = store.find_source(text);
    if (!known.ok()) return known.status();
    if (*known) return in_store(store, **known);
    auto pulled = pull_with_progress(store, text, {});
    if (!pulled.ok()) return pulled.status();
    return in_store(store, *pulled);
  }
  if (looks_like_path(text)) return from_path(text);
  auto manifest = store.find(text);
  if (manifest.ok()) return in_store(store, *manifest);
  std::error_code error;
  if (manifest.status().code() == StatusCode::kNotFound && fs::exists(text, error)) return from_path(text);
  return manifest.status();
}

}  // namespace inferens
