// Logging set-up over spdlog: one logger to standard error, warnings and above unless asked for more.
#pragma once

#include <spdlog/spdlog.h>

#include <string_view>

#include "inferens/status.h"

namespace inferens {

// level: trace, debug, info, warn, error, off. Call once before threads start.
Status set_up_logging(std::string_view level);

}  // namespace inferens
