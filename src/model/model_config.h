// The hyper-parameters of a transformer, read from a GGUF file's metadata and checked: nothing later divides by zero, wraps
// or allocates by a number that was not looked at here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "inferens/status.h"

namespace inferens {

// How positions turn into angles for one kind of layer.
struct RopeConfig {
  float base = 10000.0f;
  float linear_factor = 1.0f;     // positions are divided by it
  bool yarn = false;              // Peng et al., arXiv 2309.00071
  float yarn_factor = 1.0f;
  float yarn_original_context = 0;
  float yarn_beta_fast = 32.0f;
  float yarn_beta_slow = 1.0f;
};

struct ModelConfig {
  std::string architecture;
  int32_t vocab_size = 0;
  int32_t context_length = 0;
  int32_t hidden = 0;
  int32_t layers = 0;
  int32_t heads = 0;
  int32_t kv_heads = 0;
  int32_t head_dim = 0;
  int32_t rope_dim = 0;   // rotated part of a head, even, ≤ head_dim
  int32_t ffn = 0;        // of the dense feed-forward, or of the expert that all tokens share; 0: neither
  int32_t experts = 0;      // 0: the feed-forward is dense
  int32_t experts_used = 0;  // of them per token, ≤ experts
  int32_t expert_ffn = 0;
  bool normalize_experts = false;      // the weights of the experts used sum to 1
  float expert_scale = 1.0f;           // and are multiplied by this
  float norm_epsilon = 1e-5f;
  RopeConfig rope;        // of full-attention layers
  RopeConfig local_rope;  // of sliding-window layers
  bool interleaved_rope = false;  // pairs (2i, 2i+1) instead of (i, i + rope_dim/2)
  int32_t window = 0;             // of sliding-window layers; 0: there are none
  int32_t window_pattern = 0;     // every window_pattern-th layer is full attention
  bool is_sliding(int32_t layer) const { return window > 0 && (layer + 1) % window_pattern != 0; }
};

// Errors name the key. Architectures: known_architectures().
StatusOr<ModelConfig> read_model_config(const GgufFile& file);

// The architectures this build has, for messages.
std::string known_architectures();

// Angles per position for each rotated pair, [rope_dim / 2], and what cosines and sines are multiplied by.
struct RopeFrequencies {
  std::vector<float> inverse;
  float magnitude = 1.0f;
};
// factors: the rope_freqs.weight tensor's values [rope_dim / 2], or empty.
RopeFrequencies rope_frequencies(const RopeConfig& rope, int32_t rope_dim, const std::vector<float>& factors);

}  // namespace inferens
