// How near single kernels come to the limits of the machine: each is timed at the shapes of small models, its operations
// and bytes are counted, and set against the limits measured in the same run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "bench/statistics.h"
#include "inferens/status.h"
#include "kernels/kernel_table.h"

namespace inferens {

struct KernelOptions {
  std::vector<std::string> formats;                           // "Q4_0", …; empty: all that are packed
  std::vector<int32_t> rows = {1, 2, 4, 8, 16, 20, 64, 512};  // of activations
  std::vector<int32_t> depths = {128, 1024, 8192};            // keys that attention sees
  double seconds = 0.02;                                      // per figure, at least
  int64_t working_set = int64_t{128} << 20;  // matrices are taken in turn from so many bytes, as a model's are
  std::function<void(const std::string&)> progress;
};

struct KernelSpeed {
  std::string kernel;  // "matmul Q4_0"
  std::string shape;   // "4864x896"
  int32_t rows = 0;
  double operations = 0;  // of one call; a multiplication and an addition are two
  double bytes = 0;       // that one call reads at least
  bool integer = false;   // operations are int8 products, else float
  int64_t working_set = 0;
  Summary seconds;        // of one call

  double operations_per_second() const { return operations / seconds.median; }
  double bytes_per_second() const { return bytes / seconds.median; }
};
double compute_share(const KernelSpeed& k, const MachineLimits& limits);
double read_share(const KernelSpeed& k, const MachineLimits& limits);

// Read limits at sizes that these figures need.
std::vector<int64_t> kernel_working_sets(const KernelOptions& options);

// Products of every format at three shapes, attention, and row kernels. Errors: an unknown format (invalid_argument),
// memory, and internal_error when a row of a product changes with the number of rows.
StatusOr<std::vector<KernelSpeed>> measure_kernels(const KernelTable& kernels, WorkerPool& pool, const KernelOptions& options);

}  // namespace inferens
