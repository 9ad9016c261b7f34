#include "engine/sampling/dry.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/sampling/penalties.h"

namespace inferens {

Dry::Dry(const SamplingParams& params, size_t vocab_size, std::vector<std::vector<TokenId>> breakers)
    : multiplier_(params.dry_window == 0 ? 0 : params.dry_multiplier),
      base_(params.dry_base),
      allowed_length_(static_cast<size_t>(params.dry_allowed_length)),
      window_(params.dry_window > 0 ? static_cast<size_t>(params.dry_window) : 0) {
  if (!active()) return;
  longest_.resize(vocab_size);
  breakers_ = std::move(breakers);
  std::erase_if(breakers_, [](auto& b) { return b.empty(); });
  for (auto& b : breakers_) std::reverse(b.begin(), b.end());
  std::sort(breakers_.begin(), breakers_.end());
}

void Dry::accept(TokenId token) {
  if (!active()) return;
  history_.push_back(token);
  since_breaker_ = ends_breaker() ? 0 : since_breaker_ + 1;
  // What has left the window goes in large pieces, so that each token moves once.
  if (window_ > 0 && history_.size() / 2 > std::max<size_t>(window_, 1024)) {
    history_.erase(history_.begin(), history_.end() - static_cast<std::ptrdiff_t>(window_));
  }
}

bool Dry::ends_breaker() const {
  auto by_last = [](const std::vector<TokenId>& b, TokenId t) { return b.front() < t; };
  auto it = std::lower_bound(breakers_.begin(), breakers_.end(), history_.back(), by_last);
  for (; it != breakers_.end() && it->front() == history_.back(); ++it) {
    if (it->size() <= history_.size() && std::equal(it->begin(), it->end(), history_.rbegin())) return true;
  }
  return false;
}

bool Dry::is_breaker(TokenId token) const {
  auto by_last = [](const std::vector<TokenId>& b, TokenId t) { return b.front() < t; };
  auto it = std::lower_bound(breakers_.begin(), breakers_.end(), token, by_last);
  return it != breakers_.end() && it->front() == token && it->size() == 1;  // the shortest of a prefix sorts first
}

// repeat_[k], k ≥ 1: how many of the last tokens also stand at the end when the last k tokens are left away. This is
// the Z-function of the window read backwards (Gusfield 1997, section 1.4).
void Dry::measure_repeats(std::span<const TokenId> window) {
  const size_t n = window.size();
  auto back = [&](size_t i) { return window[n - 1 - i]; };
  repeat_.assign(n, 0);
  size_t left = 0, right = 0;  // the match [left, right) that reaches furthest
  for (size_t k = 1; k < n; ++k) {
    size_t length = k < right ? std::min(right - k, repeat_[k - left]) : 0;
    while (k + length < n && back(length) == back(k + length)) ++length;
    repeat_[k] = length;
    if (k + length > right) {
      left = k;
      right = k + length;
    }
  }
}

double Dry::penalty(size_t length) const {
  // As llama.cpp: base^exponent stays a finite float, and the exponent is not limited when the base is 1.
  auto exponent = static_cast<double>(length - allowed_length_);
  if (base_ > 1.000001)
    exponent = std::min(exponent, std::floor(std::log(std::numeric_limits<float>::max()) / std::log(base_)));
  return multiplier_ * std::pow(base_, exponent);
}

void Dry::apply(std::span<float> logits) {
  std::span<const TokenId> window = history_;
  if (window_ > 0) window = window.last(std::min(window.size(), window_));
  const size_t limit = std::min(since_breaker_, window.size());
  if (window.size() <= allowed_length_ || limit < allowed_length_) return;
  measure_repeats(window);
  for (size_t k = 1; k < window.size(); ++k) {
    const size_t length = std::min(repeat_[k], limit);
    if (length < allowed_length_) continue;
    const TokenId next = window[window.size() - k];  // came after that earlier occurrence
    size_t& longest = longest_[static_cast<size_t>(next)];
    if (longest == 0) touched_.push_back(next);
    longest = std::max(longest, length + 1);  // plus one: zero means untouched
  }
  for (TokenId token : touched_) {
    float& logit = logits[static_cast<size_t>(token)];
    if (!is_breaker(token)) logit = bounded_logit(logit - penalty(longest_[static_cast<size_t>(token)] - 1));
    longest_[static_cast<size_t>(token)] = 0;
  }
  touched_.clear();
}

}  // namespace inferens
