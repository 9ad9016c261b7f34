// The models on this machine, in one folder:
//
//   models/<name>/manifest.json    what the model is made of; its presence is what makes a model exist
//   models/<name>/<file>           a relative link into blobs/, under the file's own name (parts of a split model find
//                                  each other by name)
//   blobs/sha256-<hex>             content, under its hash, shared between models; only whole and verified files
//   incoming/*.partial             unfinished downloads, used by the next pull
//   store.lock                     held for the moment of a change
//
// A model's folder is replaced as a whole: a reader sees the old or the new model. Safe between processes and threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "inferens/status.h"
#include "store/manifest.h"

namespace inferens {

class ModelStore {
 public:
  explicit ModelStore(std::string home) : home_(std::move(home)) {}
  const std::string& home() const { return home_; }

  // By name, ascending. A damaged manifest is not in `models`; its error is in `damaged`.
  struct Listing {
    std::vector<Manifest> models;
    std::vector<Status> damaged;
  };
  StatusOr<Listing> list() const;
  // `name` is any spelling parse_model_name takes. Absent: not_found with what to do.
  StatusOr<Manifest> find(const std::string& name) const;
  // The model that was pulled from exactly this source, if any.
  StatusOr<std::optional<Manifest>> find_source(const std::string& source) const;

  // The path of the model's (first) GGUF file.
  std::string model_path(const Manifest& manifest) const;
  // The bytes of a small text file that came with the model (role "template" and such); empty when there is none.
  StatusOr<std::string> text_of(const Manifest& manifest, std::string_view role) const;

  bool has_blob(const std::string& digest, uint64_t bytes) const;

  // Puts a model whose blobs are all there in place, replacing one of that name. Opens its GGUF first: what cannot be
  // read is refused and nothing changes.
  Status install(const Manifest& manifest);
  // Another name for the same content. already_exists when `to` is taken.
  Status copy(const std::string& from, const std::string& to);
  // Removes the model, and blobs that no other model uses. Returns the bytes freed.
  StatusOr<uint64_t> remove(const std::string& name);
  // Removes those of `digests` that no model uses. Returns the bytes freed.
  StatusOr<uint64_t> remove_unused_blobs(const std::vector<std::string>& digests);
  // Removes unfinished downloads that no process is working on. Returns the bytes freed.
  StatusOr<uint64_t> remove_incomplete();

 private:
  StatusOr<Descriptor> lock() const;
  std::string model_folder(const std::string& name) const { return home_ + "/models/" + name; }
  Status stage(const Manifest& manifest, const std::string& folder) const;
  Status replace_folder(const std::string& staged, const std::string& name) const;
  StatusOr<uint64_t> remove_unused_blobs_locked(const std::vector<std::string>& digests) const;

  std::string home_;
};

}  // namespace inferens
