#include "bench/kernel_report.h"

#include "bench/report_json.h"
#include "bench/speed_report.h"
#include "bench/text_table.h"

namespace inferens {
namespace {

// The limit that a kernel is nearer to is the one that binds it.
bool bound_by_compute(const KernelSpeed& k, const MachineLimits& limits) { return compute_share(k, limits) >= read_share(k, limits); }
std::string percent(double share) { return fixed(100 * share, 1) + " %"; }

}  // namespace

std::string kernel_table(const KernelReport& r) {
  std::string out = r.program + ", " + utc_time(r.unix_seconds) + "\n" + machine_lines(r.machine, r.limits, r.isa, r.threads) + "\n";
  TextTable table({{"kernel", TextTable::Align::kLeft}, {"shape", TextTable::Align::kLeft}, {"rows"}, {"us/call"}, {"GOPS"}, {"of compute limit"}, {"GB/s"},
                   {"of read limit"}, {"bound by", TextTable::Align::kLeft}});
  for (const KernelSpeed& k : r.kernels) {
    table.add_row({k.kernel, k.shape, std::to_string(k.rows), fixed(1e6 * k.seconds.median, 1), fixed(1e-9 * k.operations_per_second(), 1),
                   percent(compute_share(k, r.limits)), fixed(1e-9 * k.bytes_per_second(), 1), percent(read_share(k, r.limits)),
                   bound_by_compute(k, r.limits) ? (k.integer ? "int8" : "f32") : "read"});
  }
  return out + table.to_text();
}

std::string kernel_json(const KernelReport& r) {
  Json json = {{"program", r.program}, {"date", utc_time(r.unix_seconds)}, {"machine", json_of(r.machine)}, {"limits", json_of(r.limits)},
               {"isa", isa_name(r.isa)}, {"threads", r.threads}};
  json["kernels"] = Json::array();
  for (const KernelSpeed& k : r.kernels) {
    json["kernels"].push_back({{"kernel", k.kernel}, {"shape", k.shape}, {"rows", k.rows}, {"seconds", json_of(k.seconds)},
                               {"operations_per_second", k.operations_per_second()}, {"share_of_compute_limit", compute_share(k, r.limits)},
                               {"bytes_per_second", k.bytes_per_second()}, {"share_of_read_limit", read_share(k, r.limits)}});
  }
  return dump(json);
}

std::string kernel_csv(const KernelReport& r) {
  std::string out = csv_line({"date", "program", "cpu", "isa", "threads", "kernel", "shape", "rows", "seconds", "operations_per_second",
                              "share_of_compute_limit", "bytes_per_second", "share_of_read_limit"});
  for (const KernelSpeed& k : r.kernels) {
    out += csv_line({utc_time(r.unix_seconds), r.program, r.machine.cpu, std::string(isa_name(r.isa)), std::to_string(r.threads), k.kernel, k.shape,
                     std::to_string(k.rows), shortest(k.seconds.median), shortest(k.operations_per_second()), shortest(compute_share(k, r.limits)),
                     shortest(k.bytes_per_second()), shortest(read_share(k, r.limits))});
  }
  return out;
}

}  // namespace inferens
