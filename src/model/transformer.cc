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
  auto arena = loader.pack(pool_);
  if (!arena.ok()) return arena.status();
  arena_ = *std::move(arena);
  return ok_status();
}

StatusOr<std::unique_ptr<KvPool>> Transformer::make_kv_pool(std::span<const int32_t> pages_per_group) {
  auto kv = PagedKv::make(groups_, element_, config_.kv_heads, config_.head_dim, pages_per_group);
  if (!kv.ok()) return kv.status();
  return std::unique_ptr<KvPool>(*std::move(kv));
}

template <class F>
Status Transformer::run_step(std::span<const TokenSpan> spans, KvPool& kv, F&& finish) {
  try {
    state_.prepare(spans, static_cast<PagedKv&>(kv), groups_, pool_.size());
    run_team(pool_, [&](const Team& team) {
      Worker& w = workers_[static_cast<size_t>(team.worker())];
      Step step(state_, team, w.matmul, w.attention);
      forward_layers(step, state_);
      step.gather_wanted(final_norm_);
      finish(step);
    });
  } catch (const std::bad_alloc&) {
    return resource_exhausted("no memory for a step of " + std::to_string(state_.tokens) + " tokens");
  }
  return ok_status();
}

Status Transformer::forward(std::span<const TokenSpan> spans, KvPool& kv, std::span<float> logits) {
  size_t wanted = 0;
  for (const TokenSpan& s : spans) wanted += s.logit_rows.size();
  if (logits.size() != wanted * static_cast<size_t>(config_.vocab_size)) return internal_error("forward: logits has the wrong size");
  return run_step(spans, kv, [&](Step& step) { step.logits(head_, logits); });
}

Status Transformer::embed(std::span<const TokenSpan> spans, KvPool& kv, std::span<float> out) {
  if (out.size() != spans.size() * static_cast<size_t>(config_.hidden)) return internal_error("embed: out has the wrong size");
  std::vector<TokenSpan> last(spans.begin(), spans.end());
  for (TokenSpan& s : last) s.logit_rows = {static_cast<int32_t>(s.tokens.size()) - 1};
  Status status = run_step(last, kv, [](Step&) {});
  if (!status.ok()) return status;
  for (size_t i = 0; i < spans.size(); ++i) {
    std::copy_n(state_.last.row(static_cast<int64_t>(i)), config_.hidden, out.data() + i * static_cast<size_t>(config_.hidden));
  }
  return ok_status();
}

}  // namespace inferens
