#include "store/pull.h"

#include "store/fetchers.h"
#include "store/names.h"

namespace inferens {
namespace {

FetchedFiles fetch(const Source& source, FetchContext& context) {
  switch (source.kind) {
    case SourceKind::kPypi: return fetch_pypi(source, context);
    case SourceKind::kHub: return fetch_hub(source, context);
    case SourceKind::kOllama: return fetch_ollama(source, context);
    case SourceKind::kUrl: return fetch_url(source, context);
    case SourceKind::kPath: return fetch_path(source, context);
  }
  return internal_error("a source of unknown kind");
}

// The name may stand for the same source (then an update is meant) or be free; another model is never overwritten.
Status check_name_is_free(const ModelStore& store, const Manifest& wanted) {
  auto existing = store.find(wanted.name);
  if (existing.ok() && existing->source != wanted.source) {
    return already_exists("model '" + wanted.name + "' exists and came from " + printable(existing->source) + "; name this one with --as NAME, or 'inferens rm " +
                          wanted.name + "' first");
  }
  return ok_status();
}

}  // namespace

StatusOr<Manifest> pull_model(ModelStore& store, const Source& source, const PullOptions& options, const Clock& clock, Progress& progress) {
  if (!options.sha256.empty() && !is_sha256_digest(options.sha256)) {
    return invalid_argument("'" + printable(options.sha256) + "' is not a SHA-256: give 64 lower-case hexadecimal digits");
  }
  auto name = parse_model_name(options.name.empty() ? default_model_name(source) : options.name);
  if (!name.ok()) return name.status();
  Manifest manifest;
  manifest.name = *name;
  manifest.source = source.text;
  if (Status s = check_name_is_free(store, manifest); !s.ok()) return s;
  auto existing = store.find(manifest.name);
  if (existing.ok() && !options.update) {
    progress.note("model '" + manifest.name + "' is there already; --update fetches it again");
    return existing;
  }
  FetchContext context{store, options, progress};
  auto files = fetch(source, context);
  if (!files.ok()) return files.status();
  manifest.files = std::move(files).value();
  manifest.created = clock.unix_seconds();
  if (Status s = store.install(manifest); !s.ok()) {
    std::vector<std::string> digests;
    for (const StoredFile& f : manifest.files) digests.push_back(f.digest);
    if (auto freed = store.remove_unused_blobs(digests); !freed.ok()) progress.note(freed.status().message());
    return s;
  }
  return manifest;
}

}  // namespace inferens
