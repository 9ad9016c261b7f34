// Time per token of the sampler on one core, by kind of sampling and shape of the logits. Run with --benchmark_filter=…
// .
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/sampler.h"

namespace inferens {
namespace {

constexpr int32_t kVocab = 151936;  // Qwen2.5

enum Shape { kPeaked, kFlat };

// Peaked: as language models answer, a bell of deviation 2.5 with a few tokens well above it; 95 % of the probability
// lies on tens of tokens. Flat: a bell of deviation 3 alone, where 95 % lies on thousands, as after a high temperature.
std::vector<float> make_logits(Shape shape) {
  RandomSequence random(7);
  std::vector<float> logits(kVocab);
  for (float& v : logits) v = static_cast<float>(random.normal() * (shape == kFlat ? 3.0 : 2.5));
  if (shape == kPeaked) {
    for (int i = 0; i < 40; ++i) logits[random.below(kVocab)] = static_cast<float>(19.0 - 2.0 * std::log(i + 1.0));
  }
  return logits;
}

void run(benchmark::State& state, const SamplingParams& params, Shape shape) {
  const auto logits = make_logits(shape);
  auto sampler = Sampler::make(params, kVocab, {});
  std::vector<TokenId> prompt(1000);
  for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<TokenId>(i * 37 % kVocab);
  sampler->accept_prompt(prompt);
  int64_t position = 0;
  for (auto _ : state) {
    auto token = sampler->sample(logits, {}, position++);
    benchmark::DoNotOptimize(token);
  }
}

struct Kind {
  const char* name;
  void (*set)(SamplingParams&);
};

constexpr Kind kKinds[] = {
    {"greedy", [](SamplingParams& p) { p.temperature = 0; }},
    {"temperature", [](SamplingParams& p) { p.temperature = 0.7; }},
    {"top_p", [](SamplingParams& p) { p.temperature = 0.7, p.top_p = 0.95; }},
    {"top_k+top_p", [](SamplingParams& p) { p.temperature = 0.7, p.top_k = 40, p.top_p = 0.95; }},
    {"min_p", [](SamplingParams& p) { p.temperature = 0.7, p.min_p = 0.05; }},
    {"typical", [](SamplingParams& p) { p.typical_p = 0.9; }},
    {"repetition+top_p", [](SamplingParams& p) { p.temperature = 0.7, p.top_p = 0.95, p.repetition_penalty = 1.1; }},
    {"dry+min_p", [](SamplingParams& p) { p.min_p = 0.05, p.dry_multiplier = 0.8; }},
    {"mirostat", [](SamplingParams& p) { p.mirostat = 2; }},
    {"llama.cpp defaults",
     [](SamplingParams& p) {
       p.order = SamplerOrder::kLlamaCpp;
       p.temperature = 0.8, p.top_k = 40, p.top_p = 0.95, p.min_p = 0.05;
     }},
};

void register_all() {
  for (const Kind& kind : kKinds) {
    for (Shape shape : {kPeaked, kFlat}) {
      SamplingParams params;
      kind.set(params);
      const std::string name = std::string(kind.name) + (shape == kPeaked ? "/peaked" : "/flat");
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
        run(state, params, shape);
      })->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace
}  // namespace inferens

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  inferens::register_all();
  benchmark::RunSpecifiedBenchmarks();
}
