// The flags of verbs that run a model: how it is loaded and how its tokens are chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/generator.h"
#include "inferens/generation.h"
#include "inferens/status.h"

namespace inferens {

struct LoadFlags {
  std::optional<int64_t> context;
  std::optional<int64_t> threads;
  std::string kv_type = "f16";
  bool float_path = false;
  std::string packed_cache = "on";
  std::string chat_template_file;
};

void add_load_flags(CLI::App& verb, LoadFlags& flags);
StatusOr<GeneratorOptions> generator_options(const LoadFlags& flags, const std::string& model_path);

// Unset values take the model's own settings, if the source gave any, else the program's (in add_sampling_flags' help).
struct SamplingFlags {
  std::optional<double> temperature;
  std::optional<int64_t> top_k;
  std::optional<double> top_p;
  std::optional<double> min_p;
  std::optional<double> typical_p;
  std::optional<double> repeat_penalty;
  std::optional<int64_t> repeat_last_n;
  std::optional<double> presence_penalty;
  std::optional<double> frequency_penalty;
  std::optional<double> dry_multiplier;
  std::optional<double> dry_base;
  std::optional<int64_t> dry_allowed_length;
  std::optional<double> xtc_probability;
  std::optional<double> xtc_threshold;
  std::optional<int64_t> mirostat;
  std::optional<double> mirostat_tau;
  std::optional<double> mirostat_eta;
  std::vector<std::string> logit_bias;  // "ID=BIAS"
  std::string sampler_order = "openai";
  std::optional<int64_t> seed;
  std::optional<int64_t> max_tokens;
  std::vector<std::string> stop;
};

void add_sampling_flags(CLI::App& verb, SamplingFlags& flags);

// Fills unset flags from the settings that came with a model (a JSON object in Ollama's words, possibly empty). Keys that
// have no flag here are returned, so that the user can be told.
StatusOr<std::vector<std::string>> fill_from_model_settings(const std::string& json, SamplingFlags& flags, LoadFlags& load);

// Everything of a request but its prompt. Without --seed one is drawn.
StatusOr<GenerationRequest> request_from(const SamplingFlags& flags);

}  // namespace inferens
