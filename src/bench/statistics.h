// Figures about samples: what every report of a measurement is made of.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace inferens {

// Of `samples`, in any order and at least one. share 0 … 1; between two samples the value is interpolated linearly, as
// numpy.percentile does, so that figures can be compared with those of the Python tools.
double percentile(std::span<const double> samples, double share);

struct Summary {
  std::vector<double> samples;  // as measured, in order
  double median = 0;
  double mean = 0;
  double min = 0;
  double max = 0;
  double stddev = 0;  // of a sample (n - 1); 0 for a single one
};
Summary summarize(std::vector<double> samples);

}  // namespace inferens
