// From a model file to a generator: model, tokenizer, template, and how much memory keys and values get.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "engine/engine.h"
#include "engine/generator.h"
#include "engine/kv_cache.h"
#include "formats/gguf.h"

namespace inferens {
namespace {

// Of the machine's memory, when nobody said: the model file and others need the rest.
constexpr size_t kMemoryShare = 4;
// Room for some whole contexts at once, and for many usual ones.
constexpr size_t kWholeContexts = 4;
constexpr size_t kLeastKvBytes = size_t{512} << 20;

// What this process may use: the machine's memory, cut by the cgroup's limit.
size_t machine_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  size_t memory =
      pages > 0 && page_bytes > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(page_bytes) : kLeastKvBytes;
  const StatusOr<std::string> limit = read_file("/sys/fs/cgroup/memory.max", 64);
  size_t bytes = 0;
  if (limit.ok() && std::from_chars(limit->data(), limit->data() + limit->size(), bytes).ec == std::errc() &&
      bytes > 0) {
    memory = std::min(memory, bytes);
  }
  return memory;
}

size_t default_kv_memory(const Model& model, int32_t asked_context) {
  const int32_t context = asked_context > 0 ? asked_context : model.context_length();
  const size_t whole = kv_bytes_for(model.kv_groups(), context);
  const size_t share = machine_memory() / kMemoryShare;
  const size_t wish = std::min(std::max(kWholeContexts * whole, kLeastKvBytes), share);
  // A context that was asked for gets its room; the model's own only as far as the share goes.
  return asked_context > 0 ? std::max(wish, whole) : wish;
}

std::string spelling(const Tokenizer& tokenizer, std::optional<TokenId> id) {
  return id ? std::string(tokenizer.token_bytes(*id)) : std::string();
}

void load_template(const GgufFile& file, const GeneratorOptions& options, Generator::Parts& parts) {
  std::string source = options.chat_template;
  if (source.empty()) {
    const StatusOr<std::string_view> own = file.get_string("tokenizer.chat_template");
    if (!own.ok()) return;
    source = *own;
  }
  const Tokenizer& tokenizer = *parts.tokenizer;
  StatusOr<std::unique_ptr<ChatTemplate>> parsed =
      ChatTemplate::parse(source, spelling(tokenizer, tokenizer.bos()), spelling(tokenizer, tokenizer.eos()));
  if (parsed.ok()) {
    parts.chat_template = std::move(*parsed);
  } else {
    parts.template_problem = parsed.status();  // raw prompts still work; chats are refused with this
  }
}

}  // namespace

LoadOptions load_options(const GeneratorOptions& options) {
  LoadOptions load;
  load.threads = options.threads;
  load.kv_type = options.kv_type;
  load.context = options.context;
  load.float_path = options.float_path;
  load.packed_cache.home = options.packed_home;
  return load;
}

StatusOr<std::unique_ptr<Generator>> Generator::load(const GeneratorOptions& options) {
  StatusOr<GgufFile> opened = GgufFile::open(options.model_path);
  if (!opened.ok()) return opened.status();
  const auto file = std::make_shared<const GgufFile>(std::move(*opened));
  Parts parts;
  const StatusOr<std::string_view> architecture = file->get_string("general.architecture");
  if (!architecture.ok()) return architecture.status().with_context(options.model_path);
  parts.info.architecture = *architecture;
  const StatusOr<int64_t> trained = file->get_int(parts.info.architecture + ".context_length");
  if (trained.ok() && options.context > *trained) {
    return invalid_argument("a context of " + std::to_string(options.context) + " tokens was asked for; " +
                            options.model_path + " was made for " + std::to_string(*trained));
  }
  StatusOr<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::from_gguf(*file);
  if (!tokenizer.ok()) return tokenizer.status().with_context(options.model_path);
  parts.tokenizer = std::move(*tokenizer);
  StatusOr<std::unique_ptr<Model>> model = load_model(file, load_options(options));
  if (!model.ok()) return model.status().with_context(options.model_path);
  parts.model = std::move(*model);
  load_template(*file, options, parts);
  if (!options.chat_template.empty() && !parts.template_problem.ok()) {
    return parts.template_problem.with_context("the chat template that was given");
  }
  const StatusOr<std::string_view> name = file->get_string("general.name");
  parts.info.name = name.ok() ? std::string(*name) : std::filesystem::path(options.model_path).stem().string();
  parts.info.trained_context = static_cast<int32_t>(std::min<int64_t>(trained.ok() ? *trained : 0, INT32_MAX));
  parts.info.path = options.model_path;
  parts.info.file_bytes = file->file_bytes();
  parts.info.kv_type = options.kv_type;
  EngineOptions engine;
  engine.context = options.context;
  if (options.max_queued > 0) engine.scheduler.max_queued_requests = options.max_queued;
  engine.kv_bytes = options.kv_memory > 0 ? options.kv_memory : default_kv_memory(*parts.model, options.context);
  StatusOr<std::unique_ptr<Generator>> generator = make(std::move(parts), engine);
  if (!generator.ok()) return generator.status().with_context(options.model_path);
  return generator;
}

}  // namespace inferens
