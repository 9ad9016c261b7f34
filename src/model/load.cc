#include "model/load.h"

#include <algorithm>
#include <string>

#include "base/log.h"
#include "kernels/kernel_table.h"
#include "model/transformer.h"

namespace inferens {
namespace {

// The vocabulary's size is the embedding's number of rows; metadata may leave it out.
Status read_vocab_size(const GgufFile& file, ModelConfig& config) {
  const TensorInfo* embedding = file.find_tensor("token_embd.weight");
  if (embedding == nullptr) return data_loss("tensor 'token_embd.weight' is missing");
  if (embedding->rows() == 0 || embedding->rows() > (uint64_t{1} << 24)) {
    return data_loss("tensor 'token_embd.weight' has " + std::to_string(embedding->rows()) + " rows");
  }
  config.vocab_size = static_cast<int32_t>(embedding->rows());
  return ok_status();
}

std::unique_ptr<Transformer> make_transformer(Transformer::Parts parts) {
  const std::string& name = parts.config.architecture;
  if (name == "gemma3") return make_gemma3(std::move(parts));
  if (name == "qwen3" || name == "qwen3moe") return make_qwen3(std::move(parts));
  if (name == "qwen2" || name == "qwen2moe") return make_qwen2(std::move(parts));
  return make_llama(std::move(parts));
}

}  // namespace

StatusOr<std::unique_ptr<Model>> load_model(std::shared_ptr<const GgufFile> file, const LoadOptions& options) {
  auto config = read_model_config(*file);
  if (!config.ok()) return config.status();
  if (Status s = read_vocab_size(*file, *config); !s.ok()) return s;
  if (config->heads / config->kv_heads > kMaxQueryRows) {
    return unsupported(std::to_string(config->heads / config->kv_heads) + " query heads per KV head; at most " + std::to_string(kMaxQueryRows));
  }
  if (options.context > 0) config->context_length = std::min(config->context_length, options.context);
  auto isa = choose_isa();
  if (!isa.ok()) return isa.status();
  auto kernels = kernels_for(*isa);
  if (!kernels.ok()) return kernels.status();

  Transformer::Parts parts{std::move(file), *config, *kernels, kv_element_for(options.kv_type), options};
  if (options.float_path) parts.options.packed_cache.home.clear();  // larger than the model, and rarely wanted twice
  std::unique_ptr<Transformer> model = make_transformer(std::move(parts));
  if (Status s = model->load(); !s.ok()) return s;
  spdlog::debug("kernels: {}, threads: {}", isa_name(*isa), options.threads > 0 ? options.threads : usable_cpus());
  return std::unique_ptr<Model>(std::move(model));
}

}  // namespace inferens
