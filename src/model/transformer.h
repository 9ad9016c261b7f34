// What decoder-only transformers share: memory, the pool of workers, and the frame of a step. An architecture adds its
// weights and one function, its forward pass (llama.cc, qwen2.cc, qwen3.cc, gemma3.cc).
#pragma once

#include <memory>
#include <vector>

#include "base/worker_pool.h"
#include "model/load.h"
#include "model/model.h"
#include "model/step.h"

namespace inferens {

class Transformer : public Model {
 public:
  // What every architecture is made from.
  struct Parts {
    std::shared_ptr<const GgufFile> file;
    ModelConfig config;
    const KernelTable* kernels;
    KvElement element;
    LoadOptions options;
  };

  int32_t vocab_size() const override { return config_.vocab_size; }
  int32_t context_length() const override { return config_.context_length; }
  int32_t hidden_size() const override { return config_.hidden; }
  const std::vector<KvGroup>& kv_groups() const override { return groups_; }
  StatusOr<std::unique_ptr<KvPool>> make_kv_pool(std::span<const int32_t> pages_per_group) override;
  Status step(std::span<const TokenSpan> spans, KvPool& kv, std::span<float> logits, std::span<float> hidden) override;

  // Reads and packs all weights.
  Status load();

 protected:
  explicit Transformer(Parts parts);

  // Names every tensor of the architecture's layers.
  virtual void load_layers(WeightLoader& loader) = 0;
  // From the tokens' embeddings to the output of the last layer, in step.x. Called by every worker.
  virtual void forward_layers(Step& step, StepState& s) const = 0;

  ModelConfig config_;
  const TensorInfo* embedding_ = nullptr;
  RopeFrequencies rope_;        // full-attention layers
  RopeFrequencies local_rope_;  // sliding-window layers

 private:
  struct Worker {
    MatmulScratch matmul;
    Scratch<float> attention;
  };
  std::shared_ptr<const GgufFile> file_;
  const KernelTable& kernels_;
  KvElement element_;
  bool float_path_;
  PackedCacheOptions packed_cache_;
  WorkerPool pool_;
  std::vector<Worker> workers_;
  std::vector<KvGroup> groups_;
  StepState state_;
  WeightArena arena_;
  Vector final_norm_;
  Linear head_;
};

// One per architecture.
std::unique_ptr<Transformer> make_llama(Transformer::Parts parts);
std::unique_ptr<Transformer> make_qwen2(Transformer::Parts parts);
std::unique_ptr<Transformer> make_qwen3(Transformer::Parts parts);
std::unique_ptr<Transformer> make_gemma3(Transformer::Parts parts);

}  // namespace inferens
