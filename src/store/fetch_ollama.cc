// ollama: sources: a manifest names layers by digest; the model layer is a GGUF, the others are text that comes with it.
// Source: the OCI distribution specification, and the media types that the registry's own client uses.
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "store/fetchers.h"
#include "store/incoming_file.h"
#include "store/names.h"

namespace inferens {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxManifestBytes = size_t{1} << 20;
constexpr size_t kMaxLayers = 64;
constexpr uint64_t kMaxTextLayer = uint64_t{4} << 20;
constexpr std::string_view kMediaPrefix = "application/vnd.ollama.image.";

struct Layer {
  std::string role;
  std::string digest;
  uint64_t bytes = 0;
};

StatusOr<Layer> parse_layer(const Json& json) {
  Status bad = data_loss("a layer of the manifest lacks a sound media type, digest or size");
  if (!json.is_object()) return bad;
  auto text = [&](const char* key) {
    auto it = json.find(key);
    return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  Layer layer;
  std::string media = text("mediaType");
  if (!media.starts_with(kMediaPrefix)) return bad;
  layer.role = media.substr(kMediaPrefix.size());
  layer.digest = text("digest");
  auto size = json.find("size");
  if (size == json.end() || !size->is_number_unsigned() || size->get<uint64_t>() == 0) return bad;
  layer.bytes = size->get<uint64_t>();
  if (!is_sha256_digest(layer.digest)) return data_loss("the manifest's digest '" + printable(layer.digest) + "' is not sha256: and 64 lower-case hexadecimal digits");
  return layer;
}

bool is_text(const std::string& role) { return role == "template" || role == "system" || role == "params" || role == "license" || role == "messages"; }

// Exactly one model; what would change its answers and is not offered here is refused, what would only add to it is told.
StatusOr<std::vector<Layer>> parse_manifest(const std::string& body, Progress& progress) {
  Json json = Json::parse(body, nullptr, false);
  auto layers = json.is_object() ? json.find("layers") : json.end();
  if (!json.is_object() || layers == json.end() || !layers->is_array()) return data_loss("the registry's answer is not a manifest of one model");
  if (layers->empty() || layers->size() > kMaxLayers) return data_loss("the manifest has " + std::to_string(layers->size()) + " layers");
  std::vector<Layer> wanted;
  std::set<std::string> digests;
  bool has_model = false;
  for (const Json& entry : *layers) {
    auto layer = parse_layer(entry);
    if (!layer.ok()) return layer.status();
    if (!digests.insert(layer->digest).second) return data_loss("the manifest names the layer " + layer->digest + " twice");
    if (layer->role == "adapter") return unsupported("the model comes with an adapter (LoRA), which is not offered here; pull the model that it is for");
    if (layer->role == "model") {
      if (std::exchange(has_model, true)) return unsupported("the manifest has several model layers; split models can be pulled from hf: or from a local path");
      wanted.insert(wanted.begin(), *layer);
    } else if (is_text(layer->role)) {
      if (layer->bytes > kMaxTextLayer) return data_loss("the " + layer->role + " layer has " + std::to_string(layer->bytes) + " bytes, which no such text has");
      wanted.push_back(*layer);
    } else {
      progress.note("layer '" + printable(layer->role) + "' is left out: only text is generated here");
    }
  }
  if (!has_model) return data_loss("the manifest has no model layer");
  return wanted;
}

StatusOr<StoredFile> fetch_layer(const Layer& layer, const std::string& file_name, const Source& source, FetchContext& context) {
  StoredFile stored{layer.role, file_name, layer.digest, layer.bytes};
  if (context.store.has_blob(layer.digest, layer.bytes)) return stored;
  auto incoming = IncomingFile::open(context.store.home(), blob_file_name(layer.digest), context.progress);
  if (!incoming.ok()) return incoming.status();
  if (context.store.has_blob(layer.digest, layer.bytes)) {  // another pull was waited for
    incoming->discard();
    return stored;
  }
  HttpGet request;
  request.url = context.options.ollama_registry + "/v2/" + source.owner + "/" + source.repository + "/blobs/" + layer.digest;
  if (Status s = http_download(request, layer.bytes, file_name, *incoming, context.options.http, context.progress); !s.ok()) return s;
  auto digest = incoming->finish(layer.digest);
  if (!digest.ok()) return digest.status().with_context(source.text + ", " + file_name);
  return stored;
}

}  // namespace

FetchedFiles fetch_ollama(const Source& source, FetchContext& context) {
  if (context.options.ollama_registry.empty()) {
    return failed_precondition("ollama: sources need to know which registry: set OLLAMA_REGISTRY (or ollama_registry in config.toml) to its https:// address and pull again");
  }
  HttpGet request;
  request.url = context.options.ollama_registry + "/v2/" + source.owner + "/" + source.repository + "/manifests/" + source.revision;
  request.headers = {"Accept: application/vnd.docker.distribution.manifest.v2+json"};
  auto answer = http_get_text(request, kMaxManifestBytes, context.options.http);
  if (!answer.ok()) return answer.status();
  auto layers = parse_manifest(answer->body, context.progress);
  if (!layers.ok()) return layers.status().with_context(source.text);
  if (!context.options.sha256.empty() && layers->front().digest != context.options.sha256) {
    return data_loss(source.text + " offers the model " + layers->front().digest + ", not the wanted " + context.options.sha256);
  }
  std::vector<StoredFile> files;
  std::map<std::string, int> seen;
  for (const Layer& layer : *layers) {
    // A model may have several licences.
    int number = seen[layer.role]++;
    std::string name = layer.role == "model" ? safe_file_name(source.repository) + ".gguf" : layer.role + (number > 0 ? "-" + std::to_string(number) : "") + ".txt";
    auto file = fetch_layer(layer, name, source, context);
    if (!file.ok()) return file.status();
    files.push_back(std::move(file).value());
  }
  return files;
}

}  // namespace inferens
