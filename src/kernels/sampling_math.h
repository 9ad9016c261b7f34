// Whole-row passes over the logits of a vocabulary: maxima, sums of exponentials, selection by threshold. Their results
// are bit for bit the same at every instruction set: sixteen lanes and tiles of 256 values in one fixed order, and no
// fused multiply-add. What is done with the results (top-k, top-p, …) lives in engine/sampling/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace inferens {

// A tile is sixteen rows of sixteen lanes: the unit of every reduction here.
constexpr size_t kSamplingLanes = 16;
constexpr size_t kSamplingTile = 256;
constexpr size_t sampling_tiles(size_t values) {
  return (values + kSamplingTile - 1) / kSamplingTile;
}

struct LogitPeak {
  float max = 0;         // -infinity is an ordinary value
  bool has_nan = false;  // then max means nothing
};

// values: [n] f32, n > 0. tile_max: [sampling_tiles(n)], the largest value of each tile.
LogitPeak find_peak(std::span<const float> values, std::span<float> tile_max);

// Σ e^y over y = (value - max) * scale ≤ 0, and Σ y e^y, which gives the entropy. Relative error below 1e-6; terms
// under 2^-126, and -infinity with them, count as nothing that shows. max: the largest value, finite; scale > 0.
// lane_sums: [sampling_tiles(n) * kSamplingLanes], parts of the sum: sixteen for each tile.
double sum_exponentials(std::span<const float> values, std::span<const float> tile_max, float max, double scale,
                        std::span<float> lane_sums);
double sum_weighted_exponents(std::span<const float> values, std::span<const float> tile_max, float max, double scale);

// Indexes with lo ≤ value < hi, ascending. lo: above -infinity. out: room for n. Returns how many.
size_t select_between(std::span<const float> values, std::span<const float> tile_max, float lo, float hi, int32_t* out);

// out[i] = e^((value[i] - max) * scale) in double, relative error below 1e-14; zero under e^-700.
void exponentials(std::span<const float> values, double max, double scale, std::span<double> out);

// out[i] = value[i] where bit i of `allowed` ([ceil(n / 32)]) is set, else -infinity.
void keep_allowed(std::span<const float> values, std::span<const uint32_t> allowed, std::span<float> out);

}  // namespace inferens
