#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace inferens {

double percentile(std::span<const double> samples, double share) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Summary summarize(std::vector<double> samples) {
  Summary s;
  const auto n = static_cast<double>(samples.size());
  s.median = percentile(samples, 0.5);
  s.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / n;
  s.min = *std::min_element(samples.begin(), samples.end());
  s.max = *std::max_element(samples.begin(), samples.end());
  double squares = 0;
  for (double x : samples) squares += (x - s.mean) * (x - s.mean);
  s.stddev = samples.size() < 2 ? 0 : std::sqrt(squares / (n - 1));
  s.samples = std::move(samples);
  return s;
}

}  // namespace inferens
