#include "model/model_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <string_view>

namespace inferens {
namespace {

constexpr std::array<std::string_view, 6> kArchitectures = {"gemma3", "llama", "qwen2", "qwen2moe", "qwen3", "qwen3moe"};

// Bounds that no known model comes near and that keep every product of two of them inside 63 bits.
constexpr uint64_t kMaxDimension = uint64_t{1} << 24;
constexpr uint64_t kMaxLayers = 4096;
constexpr uint64_t kMaxExperts = 4096;

// Reads keys of one architecture and keeps the first error.
class KeyReader {
 public:
  KeyReader(const GgufFile& file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}

  int32_t positive(std::string_view key, uint64_t most = kMaxDimension) {
    std::string name = prefix_ + std::string(key);
    auto v = file_.get_uint(name);
    if (!v.ok()) return fail(v.status());
    return bounded(name, *v, most);
  }
  bool has(std::string_view key) const { return file_.find(prefix_ + std::string(key)) != nullptr; }
  int32_t positive_or(std::string_view key, uint64_t fallback, uint64_t most = kMaxDimension) {
    if (has(key)) return positive(key, most);
    return bounded(prefix_ + std::string(key), fallback, most);
  }
  float number_or(std::string_view key, float fallback, float least, float most) {
    std::string name = prefix_ + std::string(key);
    if (file_.find(name) == nullptr) return fallback;
    auto v = file_.get_float(name);
    if (!v.ok()) {
      fail(v.status());
      return fallback;
    }
    if (!(*v >= least && *v <= most)) {
      fail(data_loss("metadata key '" + name + "' has the impossible value " + std::to_string(*v)));
      return fallback;
    }
    return static_cast<float>(*v);
  }
  std::string text_or(std::string_view key, std::string fallback) {
    auto v = file_.get_string(prefix_ + std::string(key));
    return v.ok() ? std::string(*v) : fallback;
  }
  // Per-layer head counts are arrays in some files; one value for all layers is what these architectures need.
  int32_t positive_same_for_all(std::string_view key, std::optional<uint64_t> fallback) {
    std::string name = prefix_ + std::string(key);
    auto list = file_.get_ints(name);
    if (!list.ok()) return fallback ? positive_or(key, *fallback) : positive(key);
    for (int64_t v : *list) {
      if (v != list->front()) return fail(unsupported("metadata key '" + name + "' differs between layers"));
    }
    if (list->empty() || list->front() < 0) return fail(data_loss("metadata key '" + name + "' is empty or negative"));
    return bounded(name, static_cast<uint64_t>(list->front()), kMaxDimension);
  }
  int32_t fail(Status s) {
    if (status_.ok()) status_ = std::move(s);
    return 1;
  }
  const Status& status() const { return status_; }

 private:
  int32_t bounded(const std::string& name, uint64_t v, uint64_t most) {
    if (v == 0 || v > most) {
      return fail(data_loss("metadata key '" + name + "' is " + std::to_string(v) + ", outside 1 to " + std::to_string(most)));
    }
    return static_cast<int32_t>(v);
  }

  const GgufFile& file_;
  std::string prefix_;
  Status status_;
};

void read_rope(KeyReader& keys, ModelConfig& c, float default_base) {
  c.rope.base = keys.number_or("rope.freq_base", default_base, 1.0f, 1e12f);
  std::string type = keys.text_or("rope.scaling.type", "none");
  float factor = keys.number_or("rope.scaling.factor", 1.0f, 1e-3f, 1e6f);
  if (type == "linear") {
    c.rope.linear_factor = factor;
  } else if (type == "yarn") {
    c.rope.yarn = true;
    c.rope.yarn_factor = factor;
    c.rope.yarn_original_context =
        static_cast<float>(keys.positive_or("rope.scaling.original_context_length", static_cast<uint64_t>(c.context_length)));
    c.rope.yarn_beta_fast = keys.number_or("rope.scaling.yarn_beta_fast", 32.0f, 1e-3f, 1e6f);
    c.rope.yarn_beta_slow = keys.number_or("rope.scaling.yarn_beta_slow", 1.0f, 1e-3f, 1e6f);
  } else if (type != "none") {
    keys.fail(unsupported("rope scaling '" + type + "' is not known here; known: none, linear, yarn"));
  }
  // Some files give the factor alone, in the older key.
  if (type == "none") c.rope.linear_factor = keys.number_or("rope.scale_linear", 1.0f, 1e-3f, 1e6f);
}

// Mixtral is a llama with experts; Qwen's mixtures have architectures of their own.
void read_feed_forward(KeyReader& keys, ModelConfig& c) {
  bool mixture = c.architecture.ends_with("moe") || (c.architecture == "llama" && keys.has("expert_count"));
  if (!mixture) {
    c.ffn = keys.positive_same_for_all("feed_forward_length", std::nullopt);
    return;
  }
  c.experts = keys.positive("expert_count", kMaxExperts);
  c.experts_used = keys.positive("expert_used_count", static_cast<uint64_t>(c.experts));
  c.normalize_experts = c.architecture != "qwen2moe";
  c.expert_scale = keys.number_or("expert_weights_scale", 1.0f, 1e-6f, 1e6f);
  if (c.architecture == "llama") {
    c.expert_ffn = keys.positive_same_for_all("feed_forward_length", std::nullopt);
  } else {
    c.expert_ffn = keys.positive("expert_feed_forward_length");
  }
  if (c.architecture == "qwen2moe") c.ffn = keys.positive("expert_shared_feed_forward_length");
}

void read_gemma3(KeyReader& keys, ModelConfig& c) {
  c.window = keys.positive("attention.sliding_window");
  c.window_pattern = keys.positive_or("attention.sliding_window_pattern", 6, kMaxLayers);
  c.local_rope.base = keys.number_or("rope.local.freq_base", 10000.0f, 1.0f, 1e12f);
}

}  // namespace

std::string known_architectures() {
  std::string names;
  for (auto a : kArchitectures) names += (names.empty() ? "" : ", ") + std::string(a);
  return names;
}

StatusOr<ModelConfig> read_model_config(const GgufFile& file) {
  auto architecture = file.get_string("general.architecture");
  if (!architecture.ok()) return architecture.status();
  if (std::find(kArchitectures.begin(), kArchitectures.end(), *architecture) == kArchitectures.end()) {
    return unsupported("architecture '" + std::string(architecture->substr(0, 64)) + "' is not known here; known: " + known_architectures());
  }
  ModelConfig c;
  c.architecture = *architecture;
  KeyReader keys(file, c.architecture + ".");
  c.context_length = keys.positive("context_length", uint64_t{1} << 30);
  c.hidden = keys.positive("embedding_length");
  c.layers = keys.positive("block_count", kMaxLayers);
  read_feed_forward(keys, c);
  c.heads = keys.positive_same_for_all("attention.head_count", std::nullopt);
  c.kv_heads = keys.positive_same_for_all("attention.head_count_kv", static_cast<uint64_t>(c.heads));
  c.head_dim = keys.positive_or("attention.key_length", static_cast<uint64_t>(c.hidden / std::max(c.heads, 1)), 1024);
  int32_t value_dim = keys.positive_or("attention.value_length", static_cast<uint64_t>(c.head_dim), 1024);
  c.rope_dim = keys.positive_or("rope.dimension_count", static_cast<uint64_t>(c.head_dim), 1024);
  c.norm_epsilon = keys.number_or("attention.layer_norm_rms_epsilon", 1e-5f, 0.0f, 1.0f);
  read_rope(keys, c, c.architecture == "gemma3" ? 1e6f : 10000.0f);
  c.interleaved_rope = c.architecture == "llama";
  if (c.architecture == "gemma3") read_gemma3(keys, c);
  if (!keys.status().ok()) return keys.status();

  if (c.heads % c.kv_heads != 0) return data_loss(std::to_string(c.heads) + " heads cannot share " + std::to_string(c.kv_heads) + " KV heads");
  if (value_dim != c.head_dim) return unsupported("value_length " + std::to_string(value_dim) + " differs from key_length");
  if (c.rope_dim % 2 != 0 || c.rope_dim > c.head_dim) {
    return data_loss("rope.dimension_count " + std::to_string(c.rope_dim) + " does not fit a head of " + std::to_string(c.head_dim));
  }
  if (c.head_dim % 16 != 0) return unsupported("a head of " + std::to_string(c.head_dim) + " values is not a multiple of 16");
  return c;
}

RopeFrequencies rope_frequencies(const RopeConfig& rope, int32_t rope_dim, const std::vector<float>& factors) {
  RopeFrequencies out;
  auto half = static_cast<size_t>(rope_dim / 2);
  out.inverse.resize(half);
  // Where in the dimensions a wavelength makes `turns` turns over the original context.
  auto dimension_of = [&](double turns) {
    return rope_dim * std::log(rope.yarn_original_context / (turns * 2 * std::numbers::pi)) / (2 * std::log(static_cast<double>(rope.base)));
  };
  double low = 0, high = 1;
  if (rope.yarn) {
    low = std::max(std::floor(dimension_of(rope.yarn_beta_fast)), 0.0);
    high = std::min(std::ceil(dimension_of(rope.yarn_beta_slow)), rope_dim - 1.0);
    if (low == high) high += 0.001;
    out.magnitude = static_cast<float>(0.1 * std::log(static_cast<double>(rope.yarn_factor)) + 1.0);
  }
  for (size_t i = 0; i < half; ++i) {
    double f = 1.0 / std::pow(static_cast<double>(rope.base), 2.0 * static_cast<double>(i) / rope_dim);
    if (rope.yarn) {
      double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
      f = f / rope.yarn_factor * ramp + f * (1.0 - ramp);
    }
    f /= rope.linear_factor;
    if (i < factors.size()) f /= factors[i];
    out.inverse[i] = static_cast<float>(f);
  }
  return out;
}

}  // namespace inferens
