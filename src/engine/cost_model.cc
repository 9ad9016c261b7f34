// Non-negative least squares with forgetting, in relative error.
#include "engine/cost_model.h"

#include <algorithm>
#include <cmath>

namespace inferens {
namespace {

// Context pairs are counted in thousands, to keep the numbers of one size.
constexpr double kAttendedScale = 1e-3;
// A step is forgotten by half after about 70 others.
constexpr double kForget = 0.99;
// Sweeps of coordinate descent per observation, each from the last result: four numbers need few.
constexpr int kSweeps = 10;
// How strongly a number stays where it is while the steps say nothing about it (decodes only, say): far below one
// step's weight. In squares of the usual share of a feature in a step's milliseconds.
constexpr double kInertia[] = {4e-6, 4e-2, 4e-4, 4e-2};
// A cautious machine: the first steps are small until real times are known.
constexpr double kFirstMsPerToken = 4.0;
// The next step may be this much larger than the largest one seen: it keeps a wrong guess from freezing anyone.
constexpr double kGrowth = 2.0;
constexpr double kFirstTokens = 32;
// The first steps are for the fit; then the pace follows within a few, and no single step moves it by more than twice
// this.
constexpr int64_t kFitFirst = 16;
constexpr double kPaceStep = 0.2;
constexpr double kMostPaceChange = 2;

}  // namespace

StepLoad& StepLoad::operator+=(const StepLoad& o) {
  tokens += o.tokens;
  logit_rows += o.logit_rows;
  attended += o.attended;
  return *this;
}

StepLoad span_load(int32_t position, int32_t tokens, int32_t logit_rows) {
  const double n = tokens;
  return {n, static_cast<double>(logit_rows), n * position + n * (n + 1) / 2};
}

CostModel::CostModel() : weights_{0, kFirstMsPerToken, 0, 0}, products_{}, targets_{} {}

CostModel::Vector CostModel::features(const StepLoad& load) {
  return {1.0, load.tokens, load.logit_rows, load.attended * kAttendedScale};
}

double CostModel::fitted_ms(const StepLoad& load) const {
  const Vector x = features(load);
  double ms = 0;
  for (size_t i = 0; i < kFeatures; ++i) ms += weights_[i] * x[i];
  return ms;
}

double CostModel::predict_ms(const StepLoad& load) const {
  return pace_ * fitted_ms(load);
}

int32_t CostModel::tokens_for(double ms, int32_t position) const {
  if (ms <= 0) return 0;
  ms /= pace_;
  // n tokens cost b·n + c·(n·position + n²/2): the positive root.
  const double c = weights_[3] * kAttendedScale;
  const double b = std::max(weights_[1] + c * position, 1e-6);
  const double n = c > 0 ? 2 * ms / (b + std::sqrt(b * b + 2 * c * ms)) : ms / b;
  const double limit = observations_ == 0 ? kFirstTokens : std::max(kFirstTokens, kGrowth * largest_tokens_);
  return static_cast<int32_t>(std::min(n, limit));
}

void CostModel::learn_pace(double fitted, double ms) {
  if (observations_ < kFitFirst || fitted <= 0) return;
  const double ratio = std::clamp(ms / fitted, pace_ / kMostPaceChange, pace_ * kMostPaceChange);
  pace_ += kPaceStep * (ratio - pace_);
}

void CostModel::observe(const StepLoad& load, double ms) {
  if (!(ms >= 0) || load.tokens <= 0) return;
  largest_tokens_ = std::max(largest_tokens_, load.tokens);
  learn_pace(fitted_ms(load), ms);
  const bool first = observations_++ == 0;
  // A step that was stopped by the machine (swapping, another process) is no news about its load.
  if (!first && observations_ > 8) ms = std::min(ms, 3 * fitted_ms(load) + 5);
  // Weighted by 1/ms, so that 10 % of a short step count like 10 % of a long one.
  const double weight = 1.0 / std::max(ms, 0.05);
  Vector x = features(load);
  for (double& v : x) v *= weight;
  for (size_t i = 0; i < kFeatures; ++i) {
    for (size_t j = 0; j < kFeatures; ++j) products_[i][j] = kForget * products_[i][j] + x[i] * x[j];
    targets_[i] = kForget * targets_[i] + x[i] * ms * weight;
  }
  const Vector before = weights_;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (size_t i = 0; i < kFeatures; ++i) {
      double rest = targets_[i] + kInertia[i] * before[i];
      for (size_t j = 0; j < kFeatures; ++j) rest -= j == i ? 0 : products_[i][j] * weights_[j];
      // No part of a step gives time back.
      weights_[i] = std::max(0.0, rest / (products_[i][i] + kInertia[i]));
    }
  }
}

}  // namespace inferens
