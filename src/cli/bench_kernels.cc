// inferens bench kernels: single kernels against the machine's limits.
#include "base/clock.h"
#include "bench/kernel_report.h"
#include "cli/bench.h"
#include "cli/flags.h"
#include "cli/verbs.h"

namespace inferens {
namespace {

constexpr const char* kDescription =
    "Measure single kernels against the machine's limits\n"
    "Products of every packed format, attention and row kernels, each with its operations and bytes per second and its "
    "share of the int8, f32 and read limits measured in the same run. INFERENS_ISA forces an instruction set.";
constexpr const char* kExamples =
    "  inferens bench kernels\n"
    "  inferens bench kernels --format Q4_K --rows 1,20,512 --json";

constexpr int32_t kMaxRows = 1 << 14;
constexpr int32_t kMaxDepth = 1 << 20;

struct Flags {
  KernelOptions options;
  std::optional<int64_t> threads;
  std::optional<int64_t> milliseconds;
  std::optional<int64_t> working_set;
  FormatFlags format;
};

Status bench_kernels(const Flags& flags) {
  auto isa = choose_isa();
  if (!isa.ok()) return isa.status();
  auto kernels = kernels_for(*isa);
  if (!kernels.ok()) return kernels.status();
  ActivityLine activity;
  KernelOptions options = flags.options;
  options.progress = [&](const std::string& what) { activity.show(what); };
  if (flags.milliseconds) options.seconds = 1e-3 * static_cast<double>(*flags.milliseconds);
  if (flags.working_set) options.working_set = *flags.working_set << 20;

  WorkerPool pool(static_cast<int>(flags.threads.value_or(0)));
  KernelReport report;
  report.program = std::string("inferens ") + INFERENS_VERSION;
  report.unix_seconds = system_clock().unix_seconds();
  report.machine = describe_machine();
  report.isa = *isa;
  report.threads = pool.size();
  activity.show("the machine's limits");
  auto limits = measure_limits(*isa, pool, report.machine, {.working_sets = kernel_working_sets(options)});
  if (!limits.ok()) return limits.status();
  report.limits = *std::move(limits);
  auto measured = measure_kernels(**kernels, pool, options);
  if (!measured.ok()) return measured.status();
  report.kernels = *std::move(measured);
  activity.clear();
  return print_report(flags.format, [&] { return kernel_table(report); }, [&] { return kernel_json(report); }, [&] { return kernel_csv(report); });
}

}  // namespace

void add_bench_kernels(Verbs& verbs, CLI::App& bench) {
  CLI::App& verb = verbs.add("kernels", kDescription, kExamples, &bench);
  auto flags = std::make_shared<Flags>();
  add_texts(verb, "--format", flags->options.formats, "NAME", "Only this weight format; may be given several times")->configurable(false);
  add_integers(verb, "--rows", flags->options.rows, 1, kMaxRows, "Rows of activations (default 1,2,4,8,16,20,64,512)")->configurable(false);
  add_integers(verb, "--depth", flags->options.depths, 1, kMaxDepth, "Keys that attention sees (default 128,1024,8192)")->configurable(false);
  add_integer(verb, "--ms", flags->milliseconds, 1, 100000, "Time per figure in milliseconds, at least (default 20)")->configurable(false);
  add_integer(verb, "--working-set", flags->working_set, 1, 1 << 16, "MiB of weights that are taken in turn (default 128)")->configurable(false);
  add_integer(verb, "--threads", flags->threads, 1, 1024, "Processor threads (default: the cores that this process may use)");
  add_format_flags(verb, flags->format);
  verbs.on_chosen(verb, [flags] { return bench_kernels(*flags); });
}

}  // namespace inferens
