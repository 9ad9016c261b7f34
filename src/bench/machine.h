// The machine under a measurement: what it is, and what it could do at most, measured in the same run, since both memory
// and clock speed change from hour to hour on shared machines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/worker_pool.h"
#include "inferens/status.h"
#include "kernels/limits.h"

namespace inferens {

struct MachineInfo {
  std::string cpu;               // the model's name as the system gives it
  std::string system;            // kernel name, release and architecture
  int cpus = 0;                  // that this process may use
  int64_t cache_bytes = 0;       // of the last level; 0: unknown
  int64_t memory_bytes = 0;      // 0: unknown
  int64_t available_bytes = 0;   // that can be had without swapping; 0: unknown
};
MachineInfo describe_machine();

// "2026-11-30T22:36:12Z"
std::string utc_time(int64_t unix_seconds);

// Operations or bytes per second, with one worker of the pool and with all.
struct Limit {
  double one_thread = 0;
  double all_threads = 0;
};
struct ReadLimit {
  int64_t buffer_bytes = 0;  // read over and over, shared out among the workers
  Limit bytes_per_second;
};
struct MachineLimits {
  std::vector<ReadLimit> read;  // by size, ascending; the last is larger than the caches
  Limit int8;                   // operations per second: a multiplication and an addition are two
  Limit int8_tiles;             // AMX; 0 where there is none
  Limit f32;
  Limit best_int8() const { return int8_tiles.all_threads > int8.all_threads ? int8_tiles : int8; }
  // The read limit of the measured size nearest to `bytes`.
  const ReadLimit& read_limit(int64_t bytes) const;
};

struct LimitOptions {
  // Sizes to read besides the one larger than the caches: a model that fits a cache is not bound by memory.
  std::vector<int64_t> working_sets;
  double seconds = 0.1;  // per figure, at least; the best pass counts
};
// Errors: no memory for the buffer, or an instruction set that is not offered here.
StatusOr<MachineLimits> measure_limits(Isa isa, WorkerPool& pool, const MachineInfo& machine, const LimitOptions& options);

}  // namespace inferens
