#include "serve/model_registry.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <utility>

#include "base/log.h"
#include "serve/fingerprint.h"

namespace inferens {
namespace {

// How often idle models are looked at.
constexpr auto kSweep = std::chrono::seconds(1);

uint64_t bytes_of(const LoadedModel& model) {
  const ModelInfo& info = model.generator->model_info();
  return info.file_bytes + info.kv_bytes;
}

struct FileFacts {
  uint64_t bytes = 0;
  int64_t changed = 0;
};

FileFacts facts_of(const std::string& path) {
  struct stat st {};
  if (stat(path.c_str(), &st) != 0) return {};
  return {static_cast<uint64_t>(st.st_size), static_cast<int64_t>(st.st_mtime)};
}

}  // namespace

// Models to destroy. Ending an engine waits for its thread, so the last holder only leaves it here for the loading thread.
struct ModelRegistry::Graveyard {
  std::mutex mutex;
  std::vector<std::unique_ptr<LoadedModel>> models;

  void clear() {
    std::vector<std::unique_ptr<LoadedModel>> dead;
    const std::lock_guard lock(mutex);
    dead.swap(models);
  }
};

ModelRegistry::ModelRegistry(std::vector<ModelSpec> models, RegistryOptions options, std::shared_ptr<WorkQueue> workers)
    : fixed_(std::move(models)),
      options_(std::move(options)),
      workers_(std::move(workers)),
      graveyard_(std::make_shared<Graveyard>()),
      thread_([this] { loop(); }) {}

void ModelRegistry::stop_loading() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

ModelRegistry::~ModelRegistry() {
  stop_loading();
  loaded_.clear();
  graveyard_->clear();
}

std::vector<ModelSpec> ModelRegistry::all_specs() const {
  std::vector<ModelSpec> specs = fixed_;
  if (options_.more) {
    for (ModelSpec& spec : options_.more()) {
      const bool known = std::any_of(specs.begin(), specs.end(), [&](const ModelSpec& s) { return s.name == spec.name; });
      if (!known) specs.push_back(std::move(spec));
    }
  }
  std::sort(specs.begin(), specs.end(), [](const ModelSpec& a, const ModelSpec& b) { return a.name < b.name; });
  return specs;
}

StatusOr<ModelSpec> ModelRegistry::find(const std::string& name) const {
  for (const ModelSpec& spec : fixed_) {
    if (spec.name == name) return spec;
  }
  if (options_.more) {
    for (ModelSpec& spec : options_.more()) {
      if (spec.name == name) return std::move(spec);
    }
  }
  return not_found("the model '" + name + "' does not exist here");
}

bool ModelRegistry::knows(const std::string& name) const { return find(name).ok(); }

void ModelRegistry::with_model(const std::string& name, Use use) {
  ModelLease lease;
  {
    const std::lock_guard lock(mutex_);
    const auto it = loaded_.find(name);
    if (it != loaded_.end()) {
      it->second.last_used = system_clock().now();
      lease = it->second.model;
    }
  }
  if (lease) return use(std::move(lease));
  StatusOr<ModelSpec> spec = find(name);
  if (!spec.ok()) return use(spec.status());
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) {
      std::vector<Use>& waiting = waiting_[name];
      waiting.push_back(std::exchange(use, nullptr));
      if (waiting.size() > 1) return;  // being loaded
      to_load_.push_back(std::move(*spec));
    }
  }
  if (use) return use(unavailable("the server is stopping"));
  wake_.notify_all();
}

StatusOr<ModelLease> ModelRegistry::load(const std::string& name) {
  auto promise = std::make_shared<std::promise<StatusOr<ModelLease>>>();
  with_model(name, [promise](StatusOr<ModelLease> model) { promise->set_value(std::move(model)); });
  return promise->get_future().get();
}

void ModelRegistry::loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (to_load_.empty()) wake_.wait_for(lock, kSweep, [&] { return stopping_ || !to_load_.empty(); });
    if (!stopping_ && !to_load_.empty()) load_next(lock);
    unload_idle();
    lock.unlock();
    graveyard_->clear();
    lock.lock();
  }
  std::map<std::string, std::vector<Use>> waiting = std::exchange(waiting_, {});
  lock.unlock();
  for (auto& [name, uses] : waiting) {
    for (Use& use : uses) use(unavailable("the server is stopping"));
  }
}

void ModelRegistry::load_next(std::unique_lock<std::mutex>& lock) {
  const ModelSpec spec = std::move(to_load_.front());
  to_load_.pop_front();
  const uint64_t least = facts_of(spec.options.model_path).bytes + spec.options.kv_memory;
  make_room(least);
  StatusOr<std::shared_ptr<LoadedModel>> model(Status{});
  if (options_.memory > 0 && loaded_bytes() + least > options_.memory) {
    model = unavailable("no memory for model '" + spec.name + "': it needs at least " + std::to_string(least) + " bytes, " +
                        std::to_string(loaded_bytes()) + " are taken by models in use, and the limit is " +
                        std::to_string(options_.memory));
  } else {
    lock.unlock();
    graveyard_->clear();  // before the new one needs the memory
    model = load_model(spec);
    lock.lock();
  }
  if (model.ok()) {
    loaded_[spec.name] = {*model, system_clock().now(), options_.keep_alive};
    make_room(0);
  } else {
    spdlog::error("cannot load model '{}': {}", spec.name, model.status().message());
  }
  const auto it = waiting_.find(spec.name);
  if (it == waiting_.end()) return;
  std::vector<Use> uses = std::move(it->second);
  waiting_.erase(it);
  for (Use& use : uses) {
    workers_->run([use = std::move(use), model] {
      if (model.ok()) {
        use(ModelLease(*model));
      } else {
        use(model.status());
      }
    });
  }
}

StatusOr<std::shared_ptr<LoadedModel>> ModelRegistry::load_model(const ModelSpec& spec) {
  const Nanos start = system_clock().now();
  auto generator = Generator::load(spec.options);
  if (!generator.ok()) return generator.status();
  auto model = std::make_unique<LoadedModel>();
  model->name = spec.name;
  model->generator = std::move(*generator);
  model->fingerprint = fingerprint_of(model->generator->model_info());
  model->created = facts_of(spec.options.model_path).changed;
  model->load_time = system_clock().now() - start;
  spdlog::info("model '{}' loaded in {:.2f} s", spec.name, to_seconds(model->load_time));
  return std::shared_ptr<LoadedModel>(model.release(), [graveyard = graveyard_](LoadedModel* dead) {
    std::unique_ptr<LoadedModel> owned(dead);
    const std::lock_guard lock(graveyard->mutex);
    graveyard->models.push_back(std::move(owned));
  });
}

uint64_t ModelRegistry::loaded_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [name, entry] : loaded_) bytes += bytes_of(*entry.model);
  return bytes;
}

// Unloads models that nobody uses, the longest unused first, until so much is free.
void ModelRegistry::make_room(uint64_t bytes) {
  while (options_.memory > 0 && loaded_bytes() + bytes > options_.memory) {
    auto oldest = loaded_.end();
    for (auto it = loaded_.begin(); it != loaded_.end(); ++it) {
      if (it->second.model.use_count() > 1) continue;
      if (oldest == loaded_.end() || it->second.last_used < oldest->second.last_used) oldest = it;
    }
    if (oldest == loaded_.end()) return;
    spdlog::info("model '{}' leaves memory for others", oldest->first);
    loaded_.erase(oldest);
  }
}

void ModelRegistry::unload_idle() {
  const Nanos now = system_clock().now();
  for (auto it = loaded_.begin(); it != loaded_.end();) {
    Entry& entry = it->second;
    const bool in_use = entry.model.use_count() > 1;
    if (in_use) entry.last_used = now;
    const bool idle = !in_use && entry.keep_alive >= 0 && now - entry.last_used >= entry.keep_alive;
    if (idle) spdlog::info("model '{}' was idle and leaves memory", it->first);
    it = idle ? loaded_.erase(it) : std::next(it);
  }
}

std::vector<ModelStatus> ModelRegistry::models() const {
  const std::vector<ModelSpec> specs = all_specs();
  const std::lock_guard lock(mutex_);
  std::vector<ModelStatus> out;
  for (const ModelSpec& spec : specs) {
    ModelStatus status{.name = spec.name, .source = spec.source, .path = spec.options.model_path, .created = facts_of(spec.options.model_path).changed};
    const auto it = loaded_.find(spec.name);
    if (it != loaded_.end()) {
      status.loaded = true;
      status.users = static_cast<int32_t>(it->second.model.use_count() - 1);
      status.bytes = bytes_of(*it->second.model);
      const Nanos idle = status.users > 0 ? 0 : system_clock().now() - it->second.last_used;
      if (it->second.keep_alive >= 0) status.expires_in = std::max<Nanos>(0, it->second.keep_alive - idle);
    }
    out.push_back(std::move(status));
  }
  return out;
}

std::vector<ModelLease> ModelRegistry::loaded() const {
  const std::lock_guard lock(mutex_);
  std::vector<ModelLease> out;
  for (const auto& [name, entry] : loaded_) out.push_back(entry.model);
  return out;
}

void ModelRegistry::keep(const std::string& name, Nanos keep_alive) {
  const std::lock_guard lock(mutex_);
  const auto it = loaded_.find(name);
  if (it != loaded_.end()) it->second.keep_alive = keep_alive;
}

Status ModelRegistry::stop(const std::string& name) {
  {
    const std::lock_guard lock(mutex_);
    if (loaded_.erase(name) == 0) return not_found("the model '" + name + "' is not in memory");
  }
  wake_.notify_all();
  return ok_status();
}

}  // namespace inferens
