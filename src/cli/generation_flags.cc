#include "cli/generation_flags.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <random>

#include "base/environment.h"
#include "base/file.h"
#include "cli/flags.h"

namespace inferens {
namespace {

// What local engines have settled on for chats; a model's own settings and flags come before them.
constexpr double kTemperature = 0.8;
constexpr int kTopK = 40;
constexpr double kTopP = 0.95;
constexpr double kMinP = 0.05;

constexpr int64_t kMaxInt32 = 2147483647;
constexpr int64_t kMaxThreads = 1024;
constexpr size_t kMaxTemplate = size_t{1} << 20;
constexpr double kMaxPenalty = 2;

template <class To, class From>
void take(const std::optional<From>& from, To& to) {
  if (from) to = static_cast<To>(*from);
}

uint64_t draw_seed() {
  std::random_device device;
  // 53 bits: the seed is shown in JSON, whose readers keep no more.
  return (uint64_t{device()} << 32 | device()) & ((uint64_t{1} << 53) - 1);
}

Status add_bias(const std::string& text, SamplingParams& sampling) {
  size_t equals = text.find('=');
  std::string_view id = std::string_view(text).substr(0, equals);
  std::string_view bias = equals == std::string::npos ? "" : std::string_view(text).substr(equals + 1);
  TokenId token = 0;
  double value = 0;
  auto id_end = std::from_chars(id.data(), id.data() + id.size(), token);
  auto bias_end = std::from_chars(bias.data(), bias.data() + bias.size(), value);
  bool whole = id_end.ec == std::errc() && id_end.ptr == id.data() + id.size() && bias_end.ec == std::errc() && bias_end.ptr == bias.data() + bias.size();
  if (!whole || token < 0 || !(value >= -100 && value <= 100)) return invalid_argument("--logit-bias: '" + text + "' is not TOKEN=BIAS with a bias from -100 to 100, such as 50256=-100");
  sampling.logit_bias[token] = value;
  return ok_status();
}

}  // namespace

void add_load_flags(CLI::App& verb, LoadFlags& flags) {
  const std::string group = "MODEL FLAGS";
  add_integer(verb, "--ctx", flags.context, 1, kMaxInt32, "Longest prompt and answer together, in tokens (default: what the model was made for, as far as memory holds it)")->group(group);
  add_integer(verb, "--threads", flags.threads, 1, kMaxThreads, "Processor threads (default: the cores that this process may use)")->group(group);
  add_choice(verb, "--kv-type", flags.kv_type, {"f32", "f16", "bf16", "q8_0"}, "How keys and values are kept in memory (default f16)")->group(group);
  add_switch(verb, "--float-path", flags.float_path, "Compute products in float32 instead of int8: slower, for checks of accuracy")->group(group);
  add_choice(verb, "--packed-cache", flags.packed_cache, {"on", "off"}, "Keep the weights as the processor wants them in $INFERENS_HOME/packed, for a faster next start (default on)")->group(group);
  add_text(verb, "--chat-template", flags.chat_template_file, "FILE", "A Jinja chat template in place of the model's own")->group(group);
}

StatusOr<GeneratorOptions> generator_options(const LoadFlags& flags, const std::string& model_path) {
  GeneratorOptions options;
  options.model_path = model_path;
  take(flags.threads, options.threads);
  take(flags.context, options.context);
  options.float_path = flags.float_path;
  if (flags.packed_cache == "on") options.packed_home = home_directory();
  for (KvType type : {KvType::kF32, KvType::kF16, KvType::kBf16, KvType::kQ8_0}) {
    if (flags.kv_type == kv_type_name(type)) options.kv_type = type;
  }
  if (!flags.chat_template_file.empty()) {
    auto text = read_file(flags.chat_template_file, kMaxTemplate);
    if (!text.ok()) return text.status().with_context("--chat-template");
    options.chat_template = *text;
  }
  return options;
}

void add_sampling_flags(CLI::App& verb, SamplingFlags& f) {
  const std::string group = "ANSWER FLAGS";
  auto number = [&](const char* flag, std::optional<double>& out, double low, double high, const char* help) { add_number(verb, flag, out, low, high, help)->group(group); };
  auto integer = [&](const char* flag, std::optional<int64_t>& out, int64_t low, int64_t high, const char* help) { add_integer(verb, flag, out, low, high, help)->group(group); };
  integer("--max-tokens", f.max_tokens, 1, kMaxInt32, "Longest answer (default: until the context is full)");
  add_texts(verb, "--stop", f.stop, "TEXT", "End the answer before this text; may be given several times")->group(group);
  integer("--seed", f.seed, 0, (int64_t{1} << 53) - 1, "The same seed gives the same answer (default: drawn anew; --verbose and --json tell it)");
  number("--temperature", f.temperature, 0, 1e6, "Randomness; 0 always takes the likeliest token (default 0.8)");
  integer("--top-k", f.top_k, 0, kMaxInt32, "Choose among the N likeliest tokens; 0: all (default 40)");
  number("--top-p", f.top_p, kAboveZero, 1, "Choose among the likeliest tokens that together have probability X (default 0.95)");
  number("--min-p", f.min_p, 0, 1, "Leave out tokens less likely than X times the likeliest (default 0.05)");
  number("--typical-p", f.typical_p, kAboveZero, 1, "Locally typical sampling; 1: off (default)");
  number("--repeat-penalty", f.repeat_penalty, kAboveZero, 1e3, "Divide the score of tokens that were there before; 1: off (default)");
  integer("--repeat-last-n", f.repeat_last_n, -1, kMaxInt32, "Tokens that --repeat-penalty looks back at; -1: all (default)");
  number("--presence-penalty", f.presence_penalty, -kMaxPenalty, kMaxPenalty, "Subtracted once from tokens that the answer has (default 0)");
  number("--frequency-penalty", f.frequency_penalty, -kMaxPenalty, kMaxPenalty, "Subtracted for every time that the answer has the token (default 0)");
  number("--dry-multiplier", f.dry_multiplier, 0, 1e3, "DRY: penalize going on with a sequence seen before; 0: off (default)");
  number("--dry-base", f.dry_base, 1, 1e3, "DRY: growth with the length of the sequence (default 1.75)");
  integer("--dry-allowed-length", f.dry_allowed_length, 1, kMaxInt32, "DRY: sequences up to this length are free (default 2)");
  number("--xtc-probability", f.xtc_probability, 0, 1, "XTC: how often the likeliest tokens are left out; 0: off (default)");
  number("--xtc-threshold", f.xtc_threshold, 0, 1, "XTC: only tokens at least this likely are left out (default 0.1)");
  integer("--mirostat", f.mirostat, 0, 2, "2: Mirostat 2.0 in place of top-k, top-p and their kin; 0: off (default)");
  number("--mirostat-tau", f.mirostat_tau, 0, 1e3, "Mirostat: the surprise to aim at (default 5)");
  number("--mirostat-eta", f.mirostat_eta, 0, 1, "Mirostat: how fast it adapts (default 0.1)");
  add_texts(verb, "--logit-bias", f.logit_bias, "TOKEN=BIAS", "Add BIAS (-100 to 100) to a token's score; -100 bans it; may be given several times")->group(group);
  add_choice(verb, "--sampler-order", f.sampler_order, {"openai", "llama.cpp"}, "openai applies the temperature first, llama.cpp last (default openai)")->group(group);
}

StatusOr<std::vector<std::string>> fill_from_model_settings(const std::string& text, SamplingFlags& f, LoadFlags& load) {
  std::vector<std::string> unknown;
  if (text.empty()) return unknown;
  nlohmann::json settings = nlohmann::json::parse(text, nullptr, false);
  if (!settings.is_object()) return data_loss("the settings that came with the model are not a JSON object; pull the model again");
  // The flags check the ranges, as they do for the user.
  CLI::App flags;
  SamplingFlags found;
  LoadFlags found_load;
  add_sampling_flags(flags, found);
  add_load_flags(flags, found_load);
  for (const auto& [key, value] : settings.items()) {
    std::string name = key == "num_predict" ? "max-tokens" : key == "num_ctx" ? "ctx" : key == "num_thread" ? "threads" : key;
    std::replace(name.begin(), name.end(), '_', '-');
    if (key == "num_predict" && value.is_number_integer() && value.get<int64_t>() < 0) continue;  // "no limit", as here
    if (key == "stop") {
      if (value.is_string()) found.stop.push_back(value.get<std::string>());
      for (const auto& s : value.is_array() ? value : nlohmann::json::array()) {
        if (s.is_string()) found.stop.push_back(s.get<std::string>());
      }
    } else if (flags.get_option_no_throw("--" + name) == nullptr || !value.is_number()) {
      unknown.push_back(key);
    } else if (Status s = set_flag(flags, name, value.dump(), "the setting " + key + " that came with the model"); !s.ok()) {
      return s;
    }
  }
  auto fill = [](auto& to, const auto& from) {
    if (!to) to = from;
  };
  fill(f.temperature, found.temperature);
  fill(f.top_k, found.top_k);
  fill(f.top_p, found.top_p);
  fill(f.min_p, found.min_p);
  fill(f.typical_p, found.typical_p);
  fill(f.repeat_penalty, found.repeat_penalty);
  fill(f.repeat_last_n, found.repeat_last_n);
  fill(f.presence_penalty, found.presence_penalty);
  fill(f.frequency_penalty, found.frequency_penalty);
  fill(f.seed, found.seed);
  fill(f.max_tokens, found.max_tokens);
  fill(load.context, found_load.context);
  fill(load.threads, found_load.threads);
  if (f.stop.empty()) f.stop = found.stop;
  return unknown;
}

StatusOr<GenerationRequest> request_from(const SamplingFlags& f) {
  GenerationRequest request;
  SamplingParams& s = request.sampling;
  s.temperature = f.temperature.value_or(kTemperature);
  s.top_k = static_cast<int32_t>(f.top_k.value_or(kTopK));
  s.top_p = f.top_p.value_or(kTopP);
  s.min_p = f.min_p.value_or(kMinP);
  take(f.typical_p, s.typical_p);
  take(f.repeat_penalty, s.repetition_penalty);
  take(f.repeat_last_n, s.penalty_window);
  take(f.presence_penalty, s.presence_penalty);
  take(f.frequency_penalty, s.frequency_penalty);
  take(f.dry_multiplier, s.dry_multiplier);
  take(f.dry_base, s.dry_base);
  take(f.dry_allowed_length, s.dry_allowed_length);
  take(f.xtc_probability, s.xtc_probability);
  take(f.xtc_threshold, s.xtc_threshold);
  if (f.mirostat.value_or(0) == 1) return invalid_argument("--mirostat: only 0 (off) and 2 are offered");
  take(f.mirostat, s.mirostat);
  take(f.mirostat_tau, s.mirostat_tau);
  take(f.mirostat_eta, s.mirostat_eta);
  for (const std::string& bias : f.logit_bias) {
    if (Status status = add_bias(bias, s); !status.ok()) return status;
  }
  s.order = f.sampler_order == "llama.cpp" ? SamplerOrder::kLlamaCpp : SamplerOrder::kOpenAi;
  s.seed = f.seed ? static_cast<uint64_t>(*f.seed) : draw_seed();
  take(f.max_tokens, request.max_tokens);
  request.stop = f.stop;
  return request;
}

}  // namespace inferens
