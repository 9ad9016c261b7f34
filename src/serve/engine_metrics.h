// Engine counters and gauges of the models in memory, as Prometheus families.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "serve/model_registry.h"

namespace inferens {

std::vector<prometheus::MetricFamily> engine_families(const ModelRegistry& registry);

}  // namespace inferens
