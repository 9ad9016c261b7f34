// The distribution that is left after all samplers, against transformers' logits processors and llama.cpp's sampler
// chain (tests/golden/sampling/). A user who brings settings from there must get the same choices with the same
// chances.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/sampler.h"

namespace inferens {
namespace {

using nlohmann::json;

json read_cases(const std::string& name) {
  std::ifstream file(std::string(INFERENS_TEST_DATA) + "/sampling/" + name);
  EXPECT_TRUE(file) << name << " is missing";
  return json::parse(file)["cases"];
}

SamplingParams params_of(const json& p, SamplerOrder order) {
  SamplingParams params;
  params.order = order;
  auto take = [&](const char* name, auto& field) {
    if (p.contains(name)) p[name].get_to(field);
  };
  take("temperature", params.temperature);
  take("top_k", params.top_k);
  take("top_p", params.top_p);
  take("min_p", params.min_p);
  take("typical_p", params.typical_p);
  take("repetition_penalty", params.repetition_penalty);
  take("presence_penalty", params.presence_penalty);
  take("frequency_penalty", params.frequency_penalty);
  take("penalty_window", params.penalty_window);
  take("dry_multiplier", params.dry_multiplier);
  take("dry_base", params.dry_base);
  take("dry_allowed_length", params.dry_allowed_length);
  take("dry_window", params.dry_window);
  take("xtc_probability", params.xtc_probability);
  take("xtc_threshold", params.xtc_threshold);
  take("mirostat", params.mirostat);
  take("mirostat_tau", params.mirostat_tau);
  if (p.contains("logit_bias")) {
    for (auto& [token, bias] : p["logit_bias"].items()) params.logit_bias[std::stoi(token)] = bias.get<double>();
  }
  return params;
}

std::map<TokenId, double> distribution(const json& c, SamplerOrder order) {
  std::vector<float> logits;
  for (int v : c["logits"]) logits.push_back(static_cast<float>(v) / 64);
  std::vector<std::vector<TokenId>> breakers;
  if (c.contains("breakers")) {
    for (TokenId b : c["breakers"]) breakers.push_back({b});
  }
  const auto vocab = static_cast<int32_t>(logits.size());
  const SamplingParams params = params_of(c["params"], order);
  EXPECT_TRUE(validate_sampling(params, vocab).ok()) << validate_sampling(params, vocab).to_string();
  auto sampler = Sampler::make(params, vocab, breakers);
  for (TokenId t : c["tokens"]) sampler->accept(t);
  EXPECT_TRUE(sampler->sample(logits, {}, 0).ok());
  std::map<TokenId, double> result;
  for (auto [token, p] : sampler->last_distribution(logits.size())) result[token] = p;
  return result;
}

// Where the tolerances come from: a logit of at most 25 is rounded to a float (by our edits, or by llama.cpp's) by at
// most 1e-6, the temperature of 0.3 makes that 3.2e-6 in the exponent, and numerator and sum both carry it.
constexpr double kRelative = 1e-5;
constexpr double kNothing = 1e-12;

void compare(const json& c, SamplerOrder order) {
  SCOPED_TRACE(c["params"].dump());
  auto ours = distribution(c, order);
  for (auto& entry : c["kept"]) {
    const TokenId token = entry[0];
    const double expected = entry[1];
    EXPECT_NEAR(ours[token], expected, kRelative * expected + kNothing) << "token " << token;
    ours.erase(token);
  }
  for (auto [token, p] : ours) EXPECT_LT(p, kNothing) << "token " << token << " should have been cut";
}

TEST(SamplerGolden, TheOpenAiOrderLeavesWhatTransformersLeaves) {
  const json cases = read_cases("hf.json");
  EXPECT_GE(cases.size(), 150u);
  for (auto& c : cases) compare(c, SamplerOrder::kOpenAi);
}

TEST(SamplerGolden, TheLlamaCppOrderLeavesWhatLlamaCppLeaves) {
  const json cases = read_cases("llama_cpp.json");
  EXPECT_GE(cases.size(), 150u);
  for (auto& c : cases) compare(c, SamplerOrder::kLlamaCpp);
}

}  // namespace
}  // namespace inferens
