// The figures of kernels as a table, JSON and CSV, each beside its share of the limits.
#pragma once

#include <string>
#include <vector>

#include "bench/kernel_speed.h"

namespace inferens {

struct KernelReport {
  std::string program;
  int64_t unix_seconds = 0;
  MachineInfo machine;
  MachineLimits limits;
  Isa isa = Isa::kPortable;
  int threads = 0;
  std::vector<KernelSpeed> kernels;
};

std::string kernel_table(const KernelReport& report);
std::string kernel_json(const KernelReport& report);
std::string kernel_csv(const KernelReport& report);

}  // namespace inferens
