// Gemma 3 (arXiv 2503.19786): five sliding-window layers to one full-attention layer, each with its own rotation; norms on
// queries and keys, and before and after both halves of a layer; embeddings scaled by sqrt(hidden).
#include <cmath>

#include "model/transformer.h"

namespace inferens {
namespace {

struct Gemma3Layer {
  Vector attention_norm, attention_post_norm, ffn_norm, ffn_post_norm;  // [hidden], the file holds 1 + w
  Vector query_norm, key_norm;                                         // [head_dim]
  Linear query, key, value;                                            // hidden → heads * head_dim, kv_heads * head_dim
  Linear output;                                                       // heads * head_dim → hidden
  Linear gate, up, down;                                               // hidden → ffn, hidden → ffn, ffn → hidden
};

class Gemma3 final : public Transformer {
 public:
  explicit Gemma3(Parts parts) : Transformer(std::move(parts)), layers_(static_cast<size_t>(config_.layers)) {}

 private:
  void load_layers(WeightLoader& loader) override {
    const ModelConfig& c = config_;
    int64_t query_width = int64_t{c.heads} * c.head_dim;
    int64_t kv_width = int64_t{c.kv_heads} * c.head_dim;
    for (int32_t i = 0; i < c.layers; ++i) {
      Gemma3Layer& l = layers_[static_cast<size_t>(i)];
      std::string prefix = "blk." + std::to_string(i) + ".";
      loader.vector(prefix + "attn_norm.weight", c.hidden, l.attention_norm);
      loader.matrix(prefix + "attn_q.weight", query_width, c.hidden, l.query);
      loader.matrix(prefix + "attn_k.weight", kv_width, c.hidden, l.key);
      loader.matrix(prefix + "attn_v.weight", kv_width, c.hidden, l.value);
      l.key.fine = l.value.fine = true;
      loader.vector(prefix + "attn_q_norm.weight", c.head_dim, l.query_norm);
      loader.vector(prefix + "attn_k_norm.weight", c.head_dim, l.key_norm);
      loader.matrix(prefix + "attn_output.weight", c.hidden, query_width, l.output);
      loader.vector(prefix + "post_attention_norm.weight", c.hidden, l.attention_post_norm);
      loader.vector(prefix + "ffn_norm.weight", c.hidden, l.ffn_norm);
      loader.matrix(prefix + "ffn_gate.weight", c.ffn, c.hidden, l.gate);
      loader.matrix(prefix + "ffn_up.weight", c.ffn, c.hidden, l.up);
      loader.matrix(prefix + "ffn_down.weight", c.hidden, c.ffn, l.down);
      loader.vector(prefix + "post_ffw_norm.weight", c.hidden, l.ffn_post_norm);
    }
  }

  void forward_layers(Step& step, StepState& s) const override {
    const float query_scale = 1.0f / std::sqrt(static_cast<float>(config_.head_dim));
    step.embed(*embedding_, std::sqrt(static_cast<float>(config_.hidden)));
    step.rope_angles(0, rope_);
    step.rope_angles(1, local_rope_);
    for (int32_t i = 0; i < config_.layers; ++i) {
      const Gemma3Layer& l = layers_[static_cast<size_t>(i)];
      // x += post_norm(attention(norm(x)))
      step.rms_norm(s.x, l.attention_norm, s.normed, true);
      step.products(s.normed, {{l.query, s.q}, {l.key, s.k}, {l.value, s.v}});
      step.rms_norm_heads(s.q, config_.heads, l.query_norm);
      step.rms_norm_heads(s.k, config_.kv_heads, l.key_norm);
      step.rope_and_store(i, config_.is_sliding(i) ? 1 : 0, query_scale);
      step.attend(i);
      step.add_normed_product(s.attended, l.output, l.attention_post_norm, s.x);
      // x += post_norm(down(gelu(gate(norm(x))) * up(norm(x))))
      step.rms_norm(s.x, l.ffn_norm, s.normed);
      step.gated_product(Gate::kGelu, s.normed, l.gate, l.up, s.gate);
      step.add_normed_product(s.gate, l.down, l.ffn_post_norm, s.x);
    }
  }

  std::vector<Gemma3Layer> layers_;
};

}  // namespace

std::unique_ptr<Transformer> make_gemma3(Transformer::Parts parts) { return std::make_unique<Gemma3>(std::move(parts)); }

}  // namespace inferens
