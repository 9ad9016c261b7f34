// Checked arithmetic for sizes and offsets that come from outside. nullopt means the true result does not fit.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

namespace inferens {

template <std::integral T>
constexpr std::optional<T> checked_add(T a, T b) {
  T r;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}

template <std::integral T>
constexpr std::optional<T> checked_mul(T a, T b) {
  T r;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}

// Rounds up to a multiple of `multiple` (> 0).
template <std::unsigned_integral T>
constexpr std::optional<T> checked_round_up(T a, T multiple) {
  auto sum = checked_add<T>(a, multiple - 1);
  if (!sum) return std::nullopt;
  return *sum - *sum % multiple;
}

// For sizes already known to be sound.
template <std::integral T>
constexpr T div_up(T a, T b) { return (a + b - 1) / b; }
template <std::integral T>
constexpr T round_up(T a, T multiple) { return div_up(a, multiple) * multiple; }

}  // namespace inferens
