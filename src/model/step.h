// One worker's view of one step of a transformer: the ragged batch laid flat, buffers shared by the team, and the operators
// a forward pass is written with. Every operator is called by every worker of the team in the same order and leaves its
// result visible to all (it ends with a barrier where others read what it wrote).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/team.h"
#include "kernels/attention.h"
#include "kernels/kernel_table.h"
#include "kernels/matmul.h"
#include "model/activations.h"
#include "model/experts.h"
#include "model/model.h"
#include "model/model_config.h"
#include "model/paged_kv.h"
#include "model/weights.h"

namespace inferens {

enum class Gate { kSilu, kGelu };

// What a step shares between workers. Kept by the model from step to step, so that memory is reused.
class StepState {
 public:
  StepState(const ModelConfig& config, const KernelTable& kernels) : config(config), kernels(kernels) {}

  // Lays the batch out: positions, slots in pages, attention tasks. Not for workers: called once before the team runs.
  void prepare(std::span<const TokenSpan> spans, PagedKv& kv, const std::vector<KvGroup>& groups, int workers);

  const ModelConfig& config;
  const KernelTable& kernels;

  std::span<const TokenSpan> spans;
  PagedKv* kv = nullptr;
  int64_t tokens = 0;               // all spans together
  std::vector<int64_t> span_start;  // first flat row of each span
  struct TokenPlace {
    int32_t span;
    int64_t position;
  };
  std::vector<TokenPlace> places;        // [tokens]
  std::vector<int64_t> wanted;           // flat rows whose logits are wanted
  std::vector<int64_t> wanted_hidden;    // flat rows whose hidden states are wanted
  std::vector<std::pair<size_t, int32_t>> layer_place;  // layer → (group, index in group)
  std::vector<int32_t> group_window;

  // Attention is shared out as tasks: up to kMaxQueryRows query rows of one span, for one KV head.
  struct AttentionTask {
    int32_t span;
    int32_t first;  // token inside the span
    int32_t count;
  };
  std::vector<AttentionTask> tasks;
  std::unique_ptr<std::atomic<int64_t>[]> next_task;  // per layer
  int64_t most_splits = 1;     // over all tasks and groups
  Scratch<float> partials;     // [tasks * kv_heads * splits] states, only when work is split over keys

  Activations x, normed, q, k, v, attended, gate, up, projected, last, logits;
  ExpertSlots slots;  // only of a mixture of experts
  Scratch<float> cosines[2], sines[2];  // [tokens, rope_dim / 2] for full and for sliding-window layers
};

class Step {
 public:
  Step(StepState& state, const Team& team, MatmulScratch& matmul_scratch, Scratch<float>& attention_scratch)
      : s_(state), team_(team), matmul_scratch_(matmul_scratch), attention_scratch_(attention_scratch) {}

  // x = embedding rows of the tokens, times `scale`.
  void embed(const TensorInfo& table, float scale);
  // Cosines and sines of all tokens, kind 0 (full attention) or 1 (sliding window).
  void rope_angles(int kind, const RopeFrequencies& f);

  // out = norm(x) * weight, ready for products, of fine ones too if `fine`.
  void rms_norm(const Activations& x, const Vector& weight, Activations& out, bool fine = false);
  // The same head by head, in place.
  void rms_norm_heads(Activations& heads, int32_t count, const Vector& weight);
  // Makes x ready for products (after others wrote it).
  void ready(Activations& x);
  // outs[i] = in · linears[i] + bias.
  struct Product {
    const Linear& linear;
    Activations& out;
  };
  void products(const Activations& in, std::initializer_list<Product> products);
  // x += in · linear
  void add_product(const Activations& in, const Linear& linear, Activations& x);
  // x += norm(in · linear) * weight
  void add_normed_product(const Activations& in, const Linear& linear, const Vector& weight, Activations& x);
  // out = gate(in · gate) * (in · up), ready for products.
  void gated_product(Gate kind, const Activations& in, const Linear& gate, const Linear& up, Activations& out);
  // x += sigmoid(in · weight) * (hidden · down), weight having one output per row.
  void add_weighted_product(const Activations& in, const Linear& weight, const Activations& hidden, const Linear& down, Activations& x);
  // x += the sum of what each row's experts make of it, times their weights.
  void add_experts(Gate kind, const Activations& in, const Experts& experts, Activations& x);

  // Rotates queries and keys, scales queries, and writes keys and values into the pages of `layer`.
  void rope_and_store(int32_t layer, int kind, float query_scale);
  // attended = softmax(q kᵀ) v over the pages, ready for products.
  void attend(int32_t layer);

  // Hidden states wanted: final norm into out [wanted_hidden, hidden]. Others see it after the next barrier.
  void gather_hidden(const Vector& norm, std::span<float> out);
  // Rows wanted: final norm into `last`, ready for products.
  void gather_wanted(const Vector& norm);
  // logits [wanted, vocab] into `out`.
  void logits(const Linear& head, std::span<float> out);

 private:
  using Sections = std::pair<int64_t, int64_t>;
  void quantize_share(Activations& a, Sections rows, bool fine = false);
  void add_bias(const Linear& linear, Activations& out, Sections columns);
  void gather_slots(const Activations& in);
  void quantize_slots(const Activations& a);
  template <class F>
  void share_panels(int64_t panels, F&& part);
  void add_slots(Activations& x);
  void attend_task(int32_t layer, const StepState::AttentionTask& task, int32_t kv_head, int64_t split_begin, int64_t split_end,
                   float* partials);
  void attend_whole_tasks(int32_t layer);
  void attend_split_tasks(int32_t layer);

  StepState& s_;
  Team team_;
  MatmulScratch& matmul_scratch_;
  Scratch<float>& attention_scratch_;
};

}  // namespace inferens
