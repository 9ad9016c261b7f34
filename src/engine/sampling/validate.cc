// The ranges of SamplingParams, in one place. docs/sampling.md shows them to users.
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "engine/sampler.h"

namespace inferens {
namespace {

std::string number(double value) {
  char text[32];
  auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return {text, end};
}

Status out_of_range(std::string_view field, double value, std::string_view allowed) {
  return invalid_argument(std::string(field) + " is " + number(value) + "; it must be " + std::string(allowed));
}

struct Range {
  std::string_view field;
  double value;
  bool ok;
  std::string_view allowed;
};

Status validate_bias(const SamplingParams& params, int32_t vocab_size) {
  for (auto [token, bias] : params.logit_bias) {
    if (token < 0 || token >= vocab_size) {
      return invalid_argument("logit_bias names token " + std::to_string(token) + "; this model has tokens 0 to " +
                              std::to_string(vocab_size - 1));
    }
    if (std::isnan(bias) || bias == HUGE_VAL) {
      return out_of_range("logit_bias of token " + std::to_string(token), bias,
                          "a finite number, or -infinity to ban it");
    }
  }
  return ok_status();
}

// In the llama.cpp order mirostat replaces the cuts, as clients of llama.cpp know it. Elsewhere a cut beside mirostat
// was asked for by name, and would be dropped silently.
Status validate_mirostat(const SamplingParams& p) {
  if (p.mirostat == 0 || p.order == SamplerOrder::kLlamaCpp) return ok_status();
  const bool cuts = p.top_k > 0 || p.top_p < 1 || p.min_p > 0 || p.typical_p < 1 || p.xtc_probability > 0;
  if (!cuts) return ok_status();
  return invalid_argument(
      "mirostat chooses its own cut; leave out top_k, top_p, min_p, typical_p and xtc_probability, or mirostat");
}

}  // namespace

Status validate_sampling(const SamplingParams& p, int32_t vocab_size) {
  if (vocab_size <= 0)
    return invalid_argument("the vocabulary has " + std::to_string(vocab_size) + " tokens; it needs at least one");
  auto finite = [](double v) { return std::isfinite(v); };
  const Range ranges[] = {
      {"temperature", p.temperature, finite(p.temperature) && p.temperature >= 0, "0 (greedy) or more"},
      {"top_k", double(p.top_k), p.top_k >= 0, "0 (all) or more"},
      {"top_p", p.top_p, p.top_p > 0 && p.top_p <= 1, "above 0 and at most 1"},
      {"min_p", p.min_p, p.min_p >= 0 && p.min_p <= 1, "from 0 to 1"},
      {"typical_p", p.typical_p, p.typical_p > 0 && p.typical_p <= 1, "above 0 and at most 1"},
      {"repetition_penalty", p.repetition_penalty, finite(p.repetition_penalty) && p.repetition_penalty > 0, "above 0"},
      {"presence_penalty", p.presence_penalty, std::abs(p.presence_penalty) <= 2, "from -2 to 2"},
      {"frequency_penalty", p.frequency_penalty, std::abs(p.frequency_penalty) <= 2, "from -2 to 2"},
      {"penalty_window", double(p.penalty_window), p.penalty_window >= -1, "-1 (all) or more"},
      {"dry_multiplier", p.dry_multiplier, finite(p.dry_multiplier) && p.dry_multiplier >= 0, "0 (off) or more"},
      {"dry_base", p.dry_base, finite(p.dry_base) && p.dry_base >= 1, "1 or more"},
      {"dry_allowed_length", double(p.dry_allowed_length), p.dry_allowed_length >= 0, "0 or more"},
      {"dry_window", double(p.dry_window), p.dry_window >= -1, "-1 (all) or more"},
      {"xtc_probability", p.xtc_probability, p.xtc_probability >= 0 && p.xtc_probability <= 1, "from 0 to 1"},
      {"xtc_threshold", p.xtc_threshold, p.xtc_threshold > 0 && p.xtc_threshold <= 1, "above 0 and at most 1"},
      {"mirostat", double(p.mirostat), p.mirostat == 0 || p.mirostat == 2, "0 (off) or 2; version 1 is not offered"},
      {"mirostat_tau", p.mirostat_tau, finite(p.mirostat_tau) && p.mirostat_tau >= 0, "0 or more"},
      {"mirostat_eta", p.mirostat_eta, finite(p.mirostat_eta) && p.mirostat_eta >= 0, "0 or more"},
  };
  for (const Range& r : ranges) {
    if (!r.ok) return out_of_range(r.field, r.value, r.allowed);
  }
  if (Status s = validate_bias(p, vocab_size); !s.ok()) return s;
  return validate_mirostat(p);
}

}  // namespace inferens
