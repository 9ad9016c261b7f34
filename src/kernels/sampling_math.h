// Whole-row passes over the logits of a vocabulary: maxima, sums of exponentials, selection by threshold. Their results are
// bit for bit the same at every instruction set: sixteen lanes and tiles of 256 values in one fixed order, and no fused
// multiply-add. What is done with the results (top-k, top-p, …) lives in engine/sampling/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace inferens {

// A tile is sixteen rows of sixteen lanes: one cache-resident unit of every reduction here.
constexpr size_t kSamplingTile = 256;
constexpr size_t sampling_tiles(size_t values) { return (values + kSamplingTile - 1) / kSamplingTile; }

// select_between writes whole vectors, so its output needs this much room behind the last index.
constexpr size_t kSelectSlack = 16;

// Largest value and where: the lowest index among equals. -infinity is an ordinary value.
struct LogitPeak {
  float max = 0;
  size_t index = 0;
  bool has_nan = false;  // then max and index mean nothing
};

// values: [n] f32, n > 0. tile_max: [sampling_tiles(n)], the largest value of each tile.
LogitPeak find_peak(std::span<const float> values, std::span<float> tile_max);

// Sums over y = (value - max) * scale ≤ 0. Terms under e^-87 count as zero, as does -infinity.
struct ExpSums {
  double sum = 0;           // Σ e^y
  double weighted_sum = 0;  // Σ y e^y: with `sum` it gives the entropy
};

// tile_sum: [sampling_tiles(n)], Σ e^y of each tile. scale ≥ 0, finite; max finite. Relative error below 1e-6.
ExpSums sum_exponentials(std::span<const float> values, std::span<const float> tile_max, float max, float scale,
                         std::span<double> tile_sum);

// Indexes with lo ≤ value < hi, ascending. out: room for n + kSelectSlack. Returns how many.
size_t select_between(std::span<const float> values, std::span<const float> tile_max, float lo, float hi, int32_t* out);

// out[i] = e^((value[i] - max) * scale) in double, relative error below 1e-14; zero under e^-700.
void exponentials(std::span<const float> values, double max, double scale, std::span<double> out);

// out[i] = value[i] where bit i of `allowed` ([ceil(n / 32)]) is set, else -infinity.
void keep_allowed(std::span<const float> values, std::span<const uint32_t> allowed, std::span<float> out);

}  // namespace inferens
