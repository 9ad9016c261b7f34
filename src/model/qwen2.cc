// Qwen2 and Qwen2.5 (Yang et al., arXiv 2407.10671): biases on queries, keys and values; rotation in halves. With a mixture
// of experts, one of them shared: Qwen1.5-MoE and Qwen2-MoE.
#include <cmath>

#include "model/feed_forward.h"
#include "model/transformer.h"

namespace inferens {
namespace {

struct Qwen2Layer {
  Vector attention_norm, ffn_norm;        // [hidden]
  Linear query, key, value;               // hidden → heads * head_dim, kv_heads * head_dim
  Linear output;                          // heads * head_dim → hidden
  FeedForward ffn;
};

class Qwen2 final : public Transformer {
 public:
  explicit Qwen2(Parts parts) : Transformer(std::move(parts)), layers_(static_cast<size_t>(config_.layers)) {}

 private:
  void load_layers(WeightLoader& loader) override {
    const ModelConfig& c = config_;
    int64_t query_width = int64_t{c.heads} * c.head_dim;
    int64_t kv_width = int64_t{c.kv_heads} * c.head_dim;
    for (int32_t i = 0; i < c.layers; ++i) {
      Qwen2Layer& l = layers_[static_cast<size_t>(i)];
      std::string prefix = "blk." + std::to_string(i) + ".";
      loader.vector(prefix + "attn_norm.weight", c.hidden, l.attention_norm);
      loader.matrix(prefix + "attn_q.weight", query_width, c.hidden, l.query);
      loader.matrix(prefix + "attn_k.weight", kv_width, c.hidden, l.key);
      loader.matrix(prefix + "attn_v.weight", kv_width, c.hidden, l.value);
      l.key.fine = l.value.fine = true;
      loader.vector(prefix + "attn_q.bias", query_width, l.query.bias);
      loader.vector(prefix + "attn_k.bias", kv_width, l.key.bias);
      loader.vector(prefix + "attn_v.bias", kv_width, l.value.bias);
      loader.matrix(prefix + "attn_output.weight", c.hidden, query_width, l.output);
      loader.vector(prefix + "ffn_norm.weight", c.hidden, l.ffn_norm);
      load_feed_forward(loader, c, prefix, l.ffn);
    }
  }

  void forward_layers(Step& step, StepState& s) const override {
    const float query_scale = 1.0f / std::sqrt(static_cast<float>(config_.head_dim));
    step.embed(*embedding_, 1.0f);
    step.rope_angles(0, rope_);
    for (int32_t i = 0; i < config_.layers; ++i) {
      const Qwen2Layer& l = layers_[static_cast<size_t>(i)];
      // x += attention(norm(x))
      step.rms_norm(s.x, l.attention_norm, s.normed, true);
      step.products(s.normed, {{l.query, s.q}, {l.key, s.k}, {l.value, s.v}});
      step.rope_and_store(i, 0, query_scale);
      step.attend(i);
      step.add_product(s.attended, l.output, s.x);
      // x += ffn(norm(x))
      step.rms_norm(s.x, l.ffn_norm, s.normed);
      add_feed_forward(step, s, l.ffn);
    }
  }

  std::vector<Qwen2Layer> layers_;
};

}  // namespace

std::unique_ptr<Transformer> make_qwen2(Transformer::Parts parts) { return std::make_unique<Qwen2>(std::move(parts)); }

}  // namespace inferens
