#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>

#include <string>

namespace inferens {

Status set_up_logging(std::string_view level) {
  auto parsed = spdlog::level::from_str(std::string(level));
  if (parsed == spdlog::level::off && level != "off") {
    return invalid_argument("unknown log level '" + std::string(level) + "'; use trace, debug, info, warn, error or off");
  }
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("inferens", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  spdlog::set_level(parsed);
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  return ok_status();
}

}  // namespace inferens
