// A measurement of speed with all that is needed to read it a year later: machine, limits, model, settings, figures.
#pragma once

#include <string>

#include "bench/machine.h"
#include "bench/model_bytes.h"
#include "bench/speed.h"

namespace inferens {

struct SpeedReport {
  std::string program;     // name and version
  int64_t unix_seconds = 0;
  MachineInfo machine;
  MachineLimits limits;
  Isa isa = Isa::kPortable;
  int threads = 0;
  std::string model_name;
  std::string architecture;
  int64_t file_bytes = 0;
  ModelBytes bytes;
  std::string kv_type;
  bool float_path = false;
  SpeedOptions options;
  SpeedResults results;
};

// For people: what was measured on what, then a table for prefill and one for decode.
std::string speed_table(const SpeedReport& report);
// One JSON object; times in seconds, sizes in bytes, rates per second.
std::string speed_json(const SpeedReport& report);
// A header and one line per figure, each with machine and model, so that files of many runs can be put together.
std::string speed_csv(const SpeedReport& report);

// The parts that every report has.
std::string machine_lines(const MachineInfo& machine, const MachineLimits& limits, Isa isa, int threads);

}  // namespace inferens
