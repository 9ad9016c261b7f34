// inferens perplexity: how well a model predicts a text.
#include "engine/perplexity.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/environment.h"
#include "base/file.h"
#include "cli/flags.h"
#include "cli/generation_flags.h"
#include "cli/model_argument.h"
#include "cli/verbs.h"
#include "text/tokenizer.h"

namespace inferens {
namespace {

constexpr const char* kDescription =
    "Measure how well a model predicts a text\n"
    "The text is cut into windows; the perplexity is the exponential of the mean negative log-probability of each next "
    "token. With --save and --kl-against, two runs over the same text are compared token by token: the divergence of a "
    "quantization, a KV type or a kernel from a reference.";
constexpr const char* kExamples =
    "  inferens perplexity smollm2 wiki.txt\n"
    "  inferens perplexity smollm2 wiki.txt --float-path --save reference.logprobs\n"
    "  inferens perplexity smollm2 wiki.txt --kl-against reference.logprobs";

constexpr size_t kMaxText = size_t{256} << 20;
constexpr int32_t kWindow = 512;

struct Flags {
  std::string model;
  std::string file;
  std::optional<int64_t> window;
  std::optional<int64_t> score_from;
  std::optional<int64_t> max_tokens;
  std::string save;
  std::string against;
  bool json = false;
  LoadFlags load;
};

// One line that redraws itself, on a terminal only.
class Meter {
 public:
  void show(int64_t done, int64_t total) {
    Nanos now = system_clock().now();
    if (!terminal_ || (now - last_ < from_ms(100) && done < total)) return;
    last_ = now;
    std::fprintf(stderr, "\r\033[K%lld of %lld tokens", static_cast<long long>(done), static_cast<long long>(total));
    drawn_ = true;
  }
  ~Meter() {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool drawn_ = false;
  Nanos last_ = 0;
};

void print_text(const PerplexityResult& r) {
  std::printf("perplexity    %.4f ± %.4f\n", r.perplexity, r.perplexity_error);
  std::printf("mean NLL      %.6f ± %.6f nats\n", r.mean_nll, r.mean_nll_error);
  std::printf("positions     %lld in %lld windows\n", static_cast<long long>(r.positions), static_cast<long long>(r.windows));
  if (!r.divergence) return;
  const Divergence& d = *r.divergence;
  std::printf("against a run of perplexity %.4f\n", d.reference_perplexity);
  std::printf("change        %+.3f %% ± %.3f %%\n", 100 * d.perplexity_change, 100 * d.perplexity_change_error);
  std::printf("KL divergence %.3e ± %.1e nats, median %.3e, 99 %% %.3e, largest %.3e\n", d.mean_kl, d.mean_kl_error, d.median_kl, d.p99_kl, d.max_kl);
  std::printf("same top      %.2f %% ± %.2f %%\n", 100 * d.same_top, 100 * d.same_top_error);
}

void print_json(const PerplexityResult& r) {
  nlohmann::ordered_json json = {{"perplexity", r.perplexity}, {"perplexity_error", r.perplexity_error}, {"mean_nll", r.mean_nll},
                                 {"mean_nll_error", r.mean_nll_error}, {"positions", r.positions}, {"windows", r.windows}};
  if (r.divergence) {
    const Divergence& d = *r.divergence;
    json["divergence"] = {{"mean_kl", d.mean_kl},     {"mean_kl_error", d.mean_kl_error},   {"median_kl", d.median_kl},
                          {"p99_kl", d.p99_kl},       {"max_kl", d.max_kl},                 {"same_top", d.same_top},
                          {"same_top_error", d.same_top_error}, {"reference_perplexity", d.reference_perplexity},
                          {"perplexity_change", d.perplexity_change}, {"perplexity_change_error", d.perplexity_change_error}};
  }
  std::printf("%s\n", json.dump(2).c_str());
}

StatusOr<PerplexityOptions> options_of(const Flags& flags, const Tokenizer& tokenizer) {
  PerplexityOptions options;
  options.window = static_cast<int32_t>(flags.window.value_or(kWindow));
  options.score_from = static_cast<int32_t>(flags.score_from.value_or(0));
  if (options.score_from > options.window - 2) return invalid_argument("--score-from " + std::to_string(options.score_from) + " leaves nothing to score in a window of " + std::to_string(options.window));
  if (tokenizer.adds_bos()) options.start_token = tokenizer.bos();
  options.save_logprobs = flags.save;
  options.kl_against = flags.against;
  return options;
}

Status perplexity(const Flags& flags) {
  auto text = read_file(flags.file, kMaxText);
  if (!text.ok()) return text.status();
  ModelStore store(home_directory());
  auto argument = resolve_model(store, flags.model);
  if (!argument.ok()) return argument.status();
  auto opened = GgufFile::open(argument->path);
  if (!opened.ok()) return opened.status();
  auto file = std::make_shared<const GgufFile>(std::move(opened).value());
  auto tokenizer = Tokenizer::from_gguf(*file);
  if (!tokenizer.ok()) return tokenizer.status().with_context("'" + argument->path + "'");
  auto options = options_of(flags, **tokenizer);
  if (!options.ok()) return options.status();
  auto load = generator_options(flags.load, argument->path);
  if (!load.ok()) return load.status();
  auto model = load_model(file, load_options(*load));
  if (!model.ok()) return model.status().with_context("'" + argument->path + "'");
  std::vector<TokenId> tokens = (*tokenizer)->encode(*text, {.add_special = true, .parse_special = false});
  if (flags.max_tokens) tokens.resize(std::min(tokens.size(), static_cast<size_t>(*flags.max_tokens)));
  Meter meter;
  options->progress = [&](int64_t done, int64_t total) { meter.show(done, total); };
  auto result = measure_perplexity(**model, tokens, *options);
  if (!result.ok()) return result.status();
  if (flags.json) print_json(*result);
  else print_text(*result);
  return ok_status();
}

}  // namespace

void add_perplexity(Verbs& verbs) {
  CLI::App& verb = verbs.add("perplexity", kDescription, kExamples);
  auto flags = std::make_shared<Flags>();
  add_argument(verb, "MODEL", flags->model, "A name in the store, a path or a source", true);
  add_argument(verb, "FILE", flags->file, "A text file", true);
  add_integer(verb, "--window", flags->window, 2, 1 << 20, "Tokens per window, each from an empty context (default 512)");
  add_integer(verb, "--score-from", flags->score_from, 0, 1 << 20, "Leave the first N predictions of each window out (default 0)");
  add_integer(verb, "--max-tokens", flags->max_tokens, 2, int64_t{1} << 40, "Use only the first N tokens of the text");
  add_text(verb, "--save", flags->save, "PATH", "Write the log-probabilities of every scored position there")->configurable(false);
  add_text(verb, "--kl-against", flags->against, "PATH", "Compare with such a file of another run over the same text")->configurable(false);
  add_switch(verb, "--json", flags->json, "Print a JSON object")->configurable(false);
  add_load_flags(verb, flags->load);
  verbs.on_chosen(verb, [flags] { return perplexity(*flags); });
}

}  // namespace inferens
