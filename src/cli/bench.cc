// inferens bench: measured figures. Each kind is a verb of its own below it.
#include "cli/bench.h"

#include <charconv>

#include "cli/flags.h"
#include "cli/verbs.h"

namespace inferens {
namespace {

constexpr const char* kDescription =
    "Measure how fast this machine runs a model\n"
    "Every figure comes with the machine's own limits, measured in the same run.";
constexpr const char* kExamples =
    "  inferens bench speed smollm2\n"
    "  inferens bench speed smollm2 -p 512 -n 64 -b 1,8 --json\n"
    "  inferens bench kernels";

std::vector<int32_t> parse_list(const std::string& flag, const std::string& text, int32_t low, int32_t high) {
  std::vector<int32_t> values;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    int32_t value = 0;
    auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < low || value > high || (next != end && *next != ',')) {
      throw CLI::ValidationError(flag, "'" + text + "' is not a list such as 1,2,4 of whole numbers from " + std::to_string(low) + " to " + std::to_string(high));
    }
    values.push_back(value);
    if (next == end) return values;
    at = next + 1;
  }
}

}  // namespace

CLI::Option* add_integers(CLI::App& app, const std::string& flag, std::vector<int32_t>& out, int32_t low, int32_t high, const std::string& help) {
  auto set = [flag, &out, low, high](const std::string& text) { out = parse_list(flag, text, low, high); };
  return app.add_option_function<std::string>(flag, set, help)->type_name("N,…");
}

void add_format_flags(CLI::App& app, FormatFlags& flags) {
  auto* json = add_switch(app, "--json", flags.json, "Print a JSON object")->configurable(false);
  add_switch(app, "--csv", flags.csv, "Print comma-separated values, one line per figure")->configurable(false)->excludes(json);
}

Status print_report(const FormatFlags& flags, const std::function<std::string()>& table, const std::function<std::string()>& json,
                    const std::function<std::string()>& csv) {
  const std::string text = flags.json ? json() : flags.csv ? csv() : table();
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) return failed_precondition("cannot write to standard output");
  return ok_status();
}

void add_bench(Verbs& verbs) {
  CLI::App& bench = verbs.add("bench", kDescription, kExamples);
  bench.require_subcommand(1);
  add_bench_speed(verbs, bench);
  add_bench_kernels(verbs, bench);
}

}  // namespace inferens
