#include "model/transformer.h"

#include <exception>
#include <new>
#include <string>

namespace inferens {

Transformer::Transformer(Parts parts)
    : config_(std::move(parts.config)),
      file_(std::move(parts.file)),
      kernels_(*parts.kernels),
      element_(parts.element),
      float_path_(parts.options.float_path),
      packed_cache_(std::move(parts.options.packed_cache)),
      pool_(parts.options.threads),
      workers_(static_cast<size_t>(pool_.size())),
      groups_(kv_groups_of(config_, parts.element)),
      state_(config_, kernels_) {}

Status Transformer::load() {
  WeightLoader loader(file_, float_path_);
  loader.rows_on_demand("token_embd.weight", config_.vocab_size, config_.hidden, embedding_);
  loader.vector("output_norm.weight", config_.hidden, final_norm_);
  // Without an output matrix of its own the model uses the embedding as one.
  loader.matrix(loader.has("output.weight") ? "output.weight" : "token_embd.weight", config_.vocab_size, config_.hidden, head_);
  Vector factors;
  loader.optional_vector("rope_freqs.weight", config_.rope_dim / 2, factors);
  rope_ = rope_frequencies(config_.rope, config_.rope_dim, factors);
  local_rope_ = rope_frequencies(config_.local_rope, config_.rope_dim, {});
  load_layers(loader);
  auto arena = loader.pack(pool_, packed_cache_);
  if (!arena.ok()) return arena.status();
  arena_ = *std::move(arena);
  return ok_status();
}

StatusOr<std::unique_ptr<KvPool>> Transformer::make_kv_pool(std::span<const int32_t> pages_per_group) {
  auto kv = PagedKv::make(groups_, element_, config_.kv_heads, config_.head_dim, pages_per_group);
  if (!kv.ok()) return kv.status();
  return std::unique_ptr<KvPool>(*std::move(kv));
}

Status Transformer::step(std::span<const TokenSpan> spans, KvPool& kv, std::span<float> logits, std::span<float> hidden) {
  size_t rows = 0, hidden_rows = 0;
  for (const TokenSpan& s : spans) {
    rows += s.logit_rows.size();
    hidden_rows += s.wants_hidden ? 1 : 0;
  }
  if (logits.size() != rows * static_cast<size_t>(config_.vocab_size)) return internal_error("step: logits has the wrong size");
  if (hidden.size() != hidden_rows * static_cast<size_t>(config_.hidden)) return internal_error("step: hidden has the wrong size");
  try {
    state_.prepare(spans, static_cast<PagedKv&>(kv), groups_, pool_.size());
    run_team(pool_, [&](const Team& team) {
      Worker& w = workers_[static_cast<size_t>(team.worker())];
      Step step(state_, team, w.matmul, w.attention);
      forward_layers(step, state_);
      step.gather_hidden(final_norm_, hidden);
      step.gather_wanted(final_norm_);
      step.logits(head_, logits);
    });
  } catch (const std::bad_alloc&) {
    return resource_exhausted("no memory for a step of " + std::to_string(state_.tokens) + " tokens");
  }
  return ok_status();
}

}  // namespace inferens
