#include "text/pretokenizer.h"

#include <algorithm>
#include <array>

#include "text/pretokenizer_scanners.h"

namespace inferens {
namespace {

using namespace scanners;

constexpr std::array kGpt2 = {gpt2};
constexpr std::array kDefault = {punctuation_runs_no_backtick, gpt2, number_runs, three_ascii_digits};
constexpr std::array kFalcon = {punctuation_runs, gpt2, falcon_digit_bytes, three_ascii_digits};
constexpr std::array kStarcoder = {single_number, gpt2};
constexpr std::array kLlama3 = {llama3};
constexpr std::array kQwen2 = {qwen2};
constexpr std::array kQwen35 = {qwen35};
constexpr std::array kMinicpm5 = {up_to_three_numbers, minicpm5};
constexpr std::array kSeedCoder = {seed_coder};
constexpr std::array kUfakzeka = {ufakzeka};
constexpr std::array kLaguna = {newline_runs, qwen2};
constexpr std::array kO200k = {o200k};
constexpr std::array kTekken = {tekken};
constexpr std::array kDeepseekLlm = {single_newline, spaced_cased_letters, spaced_listed_punctuation,
                                     trailing_space, cjk_and_hangul_runs,  number_runs};
constexpr std::array kDeepseekCoder = {single_newline, spaced_letters, spaced_punctuation, cjk_and_hangul_runs,
                                       single_number};
constexpr std::array kDeepseekV3 = {up_to_three_numbers, cjk_and_kana_runs, deepseek_v3};
constexpr std::array kBloom = {bloom};
constexpr std::array kViking = {bloom, single_number};

struct NamedRules {
  std::string_view name;
  PretokenizerRules rules;
};

constexpr PretokenizerRules kLlama3Rules = {.stages = kLlama3, .ignore_merges = true, .adds_bos = true};

// The names that converters write to tokenizer.ggml.pre, with what each model's tokenizer.json says beside its pattern.
constexpr NamedRules kKnown[] = {
    {"default", {.stages = kDefault}},
    {"gpt-2", {.stages = kGpt2}},
    {"phi-2", {.stages = kGpt2}},
    {"jina-es", {.stages = kGpt2}},
    {"jina-de", {.stages = kGpt2}},
    {"jina-v2-es", {.stages = kGpt2}},
    {"jina-v2-de", {.stages = kGpt2}},
    {"gigachat", {.stages = kGpt2}},
    {"a.x-4.0", {.stages = kGpt2}},
    {"mellum", {.stages = kGpt2}},
    {"exaone4", {.stages = kGpt2}},
    {"mpt", {.stages = kGpt2}},
    {"olmo", {.stages = kGpt2}},
    {"jais", {.stages = kGpt2}},
    {"trillion", {.stages = kGpt2}},
    {"granite-docling", {.stages = kGpt2}},
    {"smollm", {.stages = kStarcoder}},
    {"starcoder", {.stages = kStarcoder}},
    {"refact", {.stages = kStarcoder}},
    {"codeshell", {.stages = kStarcoder}},
    {"exaone", {.stages = kStarcoder}},
    {"minerva-7b", {.stages = kStarcoder}},
    {"mellum2", {.stages = kStarcoder}},
    {"command-r", {.stages = kStarcoder, .nfc = true}},
    {"llama-bpe", kLlama3Rules},
    {"llama3", kLlama3Rules},
    {"llama-v3", kLlama3Rules},
    {"falcon3", kLlama3Rules},
    {"falcon-h1", kLlama3Rules},
    {"pixtral", kLlama3Rules},
    {"midm-2.0", kLlama3Rules},
    {"lfm2", kLlama3Rules},
    {"jina-v5-nano", kLlama3Rules},
    {"dbrx", {.stages = kLlama3}},
    {"smaug-bpe", {.stages = kLlama3}},
    {"glm4", {.stages = kLlama3}},
    {"chatglm-bpe", {.stages = kLlama3}},
    {"qwen2", {.stages = kQwen2, .nfc = true}},
    {"deepseek-r1-qwen", {.stages = kQwen2, .nfc = true}},
    {"megrez", {.stages = kQwen2, .nfc = true}},
    {"qwen35", {.stages = kQwen35, .nfc = true}},
    {"stablelm2", {.stages = kQwen2}},
    {"hunyuan", {.stages = kQwen2}},
    {"grok-2", {.stages = kQwen2}},
    {"solar-open", {.stages = kQwen2}},
    {"bailingmoe", {.stages = kQwen2}},
    {"bailingmoe2", {.stages = kQwen2}},
    {"llada-moe", {.stages = kQwen2}},
    {"minicpm5", {.stages = kMinicpm5, .ignore_merges = true}},
    {"seed-coder", {.stages = kSeedCoder}},
    {"ufakzeka", {.stages = kUfakzeka}},
    {"laguna", {.stages = kLaguna}},
    {"gpt-4o", {.stages = kO200k}},
    {"o200k", {.stages = kO200k}},
    {"llama4", {.stages = kO200k}},
    {"kanana2", {.stages = kO200k}},
    {"minimax-m2", {.stages = kO200k}},
    {"granite-embed-multi-97m", {.stages = kO200k, .ignore_merges = true}},
    {"tekken", {.stages = kTekken, .ignore_merges = true, .adds_bos = true}},
    {"deepseek-llm", {.stages = kDeepseekLlm}},
    {"deepseek-coder", {.stages = kDeepseekCoder}},
    {"deepseek-v3", {.stages = kDeepseekV3}},
    {"hunyuan-dense", {.stages = kDeepseekV3}},
    {"joyai-llm", {.stages = kDeepseekV3}},
    {"falcon", {.stages = kFalcon}},
    {"bloom", {.stages = kBloom}},
    {"poro-chat", {.stages = kBloom}},
    {"gpt3-finnish", {.stages = kBloom}},
    {"viking", {.stages = kViking}},
};

}  // namespace

StatusOr<Pretokenizer> Pretokenizer::from_name(std::string_view name) {
  const auto* known =
      std::find_if(std::begin(kKnown), std::end(kKnown), [&](const NamedRules& k) { return k.name == name; });
  if (known != std::end(kKnown)) return Pretokenizer(known->rules);
  return unsupported(
      "tokenizer.ggml.pre: the pre-tokenizer '" + std::string(name) +
      "' is not known here, and any other would split words in wrong places; known are: " + known_names());
}

std::string Pretokenizer::known_names() {
  std::string names;
  for (const NamedRules& known : kKnown) {
    if (!names.empty()) names += ", ";
    names += known.name;
  }
  return names;
}

}  // namespace inferens
