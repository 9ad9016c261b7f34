// The ways of fetching, one file each: all give files that lie in blobs/ already, the model's own first.
#pragma once

#include <vector>

#include "store/pull.h"

namespace inferens {

struct FetchContext {
  ModelStore& store;
  const PullOptions& options;
  Progress& progress;
};

using FetchedFiles = StatusOr<std::vector<StoredFile>>;

FetchedFiles fetch_pypi(const Source& source, FetchContext& context);
FetchedFiles fetch_hub(const Source& source, FetchContext& context);
FetchedFiles fetch_ollama(const Source& source, FetchContext& context);
FetchedFiles fetch_url(const Source& source, FetchContext& context);
FetchedFiles fetch_path(const Source& source, FetchContext& context);

// Of a split model's file name "x-00002-of-00005.gguf" the names of all its parts; of any other name only itself.
std::vector<std::string> split_part_names(const std::string& name);

}  // namespace inferens
