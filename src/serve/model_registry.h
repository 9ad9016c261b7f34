// The models of one server: which there are, which are in memory, and when they leave it again. Models are loaded by a
// thread of their own, one at a time, while requests for them wait and all others go on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "engine/generator.h"
#include "inferens/status.h"
#include "serve/work_queue.h"

namespace inferens {

struct ModelSpec {
  std::string name;          // what requests say
  GeneratorOptions options;
  std::string source = "inferens";  // owned_by
};

struct LoadedModel {
  std::string name = {};
  std::unique_ptr<Generator> generator;
  std::string fingerprint;   // changes with weights, kernels and version: the same one and the same seed give the same answer
  int64_t created = 0;       // Unix seconds, of the file
  Nanos load_time = 0;
};

// Keeps a model in memory while it is held.
using ModelLease = std::shared_ptr<LoadedModel>;

struct ModelStatus {
  std::string name = {};
  std::string source = {};
  std::string path = {};         // of the model's file
  int64_t created = 0;
  bool loaded = false;
  int32_t users = 0;             // leases
  uint64_t bytes = 0;            // of weights and KV memory, when loaded
  Nanos expires_in = -1;         // until it leaves memory if nobody asks for it; -1: it stays
};

struct RegistryOptions {
  Nanos keep_alive = -1;         // idle models leave memory after it; -1: they stay
  uint64_t memory = 0;           // bytes that loaded models may take together; 0: no limit
  // Models besides the fixed ones, such as the store's; asked every time, on any thread. May be empty.
  std::function<std::vector<ModelSpec>()> more;
};

class ModelRegistry {
 public:
  ModelRegistry(std::vector<ModelSpec> models, RegistryOptions options, std::shared_ptr<WorkQueue> workers);
  // Unloads everything. Leases must be gone.
  ~ModelRegistry();
  // Loads nothing any more; whoever waits for a model is told so. Models in memory stay.
  void stop_loading();
  ModelRegistry(const ModelRegistry&) = delete;
  ModelRegistry& operator=(const ModelRegistry&) = delete;

  using Use = std::function<void(StatusOr<ModelLease>)>;
  // Calls `use` at once when the model is in memory, else on a worker once it is. not_found: there is no such model.
  void with_model(const std::string& name, Use use);
  // On one of the threads that with_model() uses.
  void on_worker(std::function<void()> work) { workers_->run(std::move(work)); }
  // The same, waiting; not for threads that others wait for.
  StatusOr<ModelLease> load(const std::string& name);

  std::vector<ModelStatus> models() const;          // all, by name
  std::vector<ModelLease> loaded() const;
  bool knows(const std::string& name) const;
  // How long a model that is in memory stays there unused, from now on; -1: for ever.
  void keep(const std::string& name, Nanos keep_alive);
  // Takes a model out of memory when its last request has ended. not_found: it is not loaded.
  Status stop(const std::string& name);

 private:
  struct Entry {
    std::shared_ptr<LoadedModel> model;
    Nanos last_used = 0;
    Nanos keep_alive = -1;
  };
  struct Graveyard;

  StatusOr<ModelSpec> find(const std::string& name) const;
  std::vector<ModelSpec> all_specs() const;
  void loop();
  void load_next(std::unique_lock<std::mutex>& lock);
  StatusOr<std::shared_ptr<LoadedModel>> load_model(const ModelSpec& spec);
  uint64_t loaded_bytes() const;
  void make_room(uint64_t bytes);
  void unload_idle();

  const std::vector<ModelSpec> fixed_;
  const RegistryOptions options_;
  const std::shared_ptr<WorkQueue> workers_;
  const std::shared_ptr<Graveyard> graveyard_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable wake_;
  std::map<std::string, Entry> loaded_;
  std::deque<ModelSpec> to_load_;
  std::map<std::string, std::vector<Use>> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace inferens
