// The JSON forms of what several reports hold.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/machine.h"
#include "bench/statistics.h"

namespace inferens {

using Json = nlohmann::ordered_json;

Json json_of(const Summary& summary);
Json json_of(const MachineInfo& machine);
Json json_of(const MachineLimits& limits);
// Text of the file system or the machine may be anything; JSON is UTF-8.
std::string dump(const Json& json);

}  // namespace inferens
