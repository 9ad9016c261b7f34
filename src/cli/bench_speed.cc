// inferens bench speed: prefill and decode of a model, without a server.
#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "bench/speed_report.h"
#include "cli/bench.h"
#include "cli/flags.h"
#include "cli/generation_flags.h"
#include "cli/model_argument.h"
#include "cli/verbs.h"

namespace inferens {
namespace {

constexpr const char* kDescription =
    "Measure prefill and decode of a model\n"
    "Prefill: tokens per second of a prompt, the logits of its last token included. Decode: tokens per second of all "
    "sequences together, each with its own context, the choice of the likeliest token included. Both at each depth of "
    "context. Every decoded row is compared with the same row alone, every prompt with itself in other chunks; a "
    "difference ends the run with an error.";
constexpr const char* kExamples =
    "  inferens bench speed smollm2\n"
    "  inferens bench speed smollm2 -p 512,2048 -n 64 -b 1,2,4,8,16,20 -d 0,8000\n"
    "  inferens bench speed smollm2 -p 0 -b 1 --csv";

constexpr int32_t kMaxTokens = 1 << 24;
constexpr int32_t kMaxSequences = 4096;

struct Flags {
  std::string model;
  std::vector<int32_t> prompt_tokens;
  std::vector<int32_t> sequences;
  std::vector<int32_t> depths;
  std::optional<int64_t> output_tokens;
  std::optional<int64_t> decode_context;
  std::optional<int64_t> chunk;
  std::optional<int64_t> repetitions;
  FormatFlags format;
  LoadFlags load;
};

template <class To, class From>
void take(const std::optional<From>& from, To& to) {
  if (from) to = static_cast<To>(*from);
}

SpeedOptions options_of(const Flags& flags) {
  SpeedOptions options;
  if (!flags.prompt_tokens.empty()) options.prompt_tokens = flags.prompt_tokens;
  std::erase(options.prompt_tokens, 0);
  if (!flags.sequences.empty()) options.sequences = flags.sequences;
  if (!flags.depths.empty()) options.depths = flags.depths;
  take(flags.output_tokens, options.output_tokens);
  take(flags.decode_context, options.decode_context);
  take(flags.chunk, options.chunk);
  take(flags.repetitions, options.repetitions);
  return options;
}

std::string gibibytes(int64_t bytes) { return std::to_string(bytes >> 30) + "." + std::to_string((bytes >> 20) % 1024 * 10 / 1024) + " GiB"; }

Status check_memory(const Model& model, const SpeedOptions& options, const MachineInfo& machine) {
  const int64_t needed = speed_kv_bytes(model, options);
  if (machine.available_bytes == 0 || needed <= machine.available_bytes) return ok_status();
  return resource_exhausted("these sequences need " + gibibytes(needed) + " for keys and values and this machine has " +
                            gibibytes(machine.available_bytes) + " to give; lower -b, -d or -p");
}

Status bench_speed(const Flags& flags) {
  ModelStore store(home_directory());
  auto argument = resolve_model(store, flags.model);
  if (!argument.ok()) return argument.status();
  auto opened = GgufFile::open(argument->path);
  if (!opened.ok()) return opened.status();
  auto file = std::make_shared<const GgufFile>(std::move(opened).value());
  auto load = generator_options(flags.load, argument->path);
  if (!load.ok()) return load.status();
  auto model = load_model(file, load_options(*load));
  if (!model.ok()) return model.status().with_context("'" + argument->path + "'");
  auto isa = choose_isa();
  if (!isa.ok()) return isa.status();

  SpeedReport report;
  report.program = std::string("inferens ") + INFERENS_VERSION;
  report.unix_seconds = system_clock().unix_seconds();
  report.machine = describe_machine();
  report.isa = *isa;
  report.model_name = argument->name;
  report.file_bytes = static_cast<int64_t>(file->file_bytes());
  report.bytes = model_bytes(*file, load->float_path);
  report.kv_type = kv_type_name(load->kv_type);
  report.float_path = load->float_path;
  report.options = options_of(flags);
  if (auto name = file->get_string("general.architecture"); name.ok()) report.architecture = std::string(*name);
  if (Status s = check_memory(**model, report.options, report.machine); !s.ok()) return s;

  ActivityLine activity;
  report.options.progress = [&](const std::string& what) { activity.show(what); };
  activity.show("the machine's limits");
  WorkerPool pool(load->threads);
  report.threads = pool.size();
  auto limits = measure_limits(*isa, pool, report.machine, {.working_sets = {report.bytes.packed}});
  if (!limits.ok()) return limits.status();
  report.limits = *std::move(limits);
  auto results = measure_speed(**model, report.options);
  if (!results.ok()) return results.status();
  report.results = *std::move(results);
  activity.clear();
  return print_report(flags.format, [&] { return speed_table(report); }, [&] { return speed_json(report); }, [&] { return speed_csv(report); });
}

}  // namespace

void add_bench_speed(Verbs& verbs, CLI::App& bench) {
  CLI::App& verb = verbs.add("speed", kDescription, kExamples, &bench);
  auto flags = std::make_shared<Flags>();
  add_argument(verb, "MODEL", flags->model, "A name in the store, a path or a source", true);
  add_integers(verb, "-p,--prompt-tokens", flags->prompt_tokens, 0, kMaxTokens, "Prefill: lengths of prompts; 0: none (default 512,2048)")->configurable(false);
  add_integer(verb, "-n,--output-tokens", flags->output_tokens, 0, kMaxTokens, "Decode: tokens of every sequence; 0: no decode (default 64)")->configurable(false);
  add_integers(verb, "-b,--sequences", flags->sequences, 1, kMaxSequences, "Decode: sequences that step together (default 1,2,4,8,16,20)")->configurable(false);
  add_integers(verb, "-d,--depth", flags->depths, 0, kMaxTokens, "Tokens that are in the context already (default 0)")->configurable(false);
  add_integer(verb, "--decode-context", flags->decode_context, 1, kMaxTokens, "Context before decode, besides the depth (default 128)")->configurable(false);
  add_integer(verb, "--chunk", flags->chunk, 1, kMaxTokens, "Tokens per prefill step (default 512)")->configurable(false);
  add_integer(verb, "-r,--repetitions", flags->repetitions, 1, 1000, "Runs per figure, after a warm-up (default 5)")->configurable(false);
  add_format_flags(verb, flags->format);
  add_load_flags(verb, flags->load);
  verbs.on_chosen(verb, [flags] { return bench_speed(*flags); });
}

}  // namespace inferens
