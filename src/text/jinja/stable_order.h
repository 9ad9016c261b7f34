// A stable merge sort of indexes. Unlike std::sort it stays in bounds whatever `less` says, as comparisons with NaN are
// no order at all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace inferens::jinja {

// The indexes 0 … count - 1 in the order of less(index, index). less may throw.
template <class Less>
std::vector<size_t> stable_order(size_t count, Less&& less) {
  std::vector<size_t> order(count), merged(count);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t width = 1; width < count; width *= 2) {
    for (size_t begin = 0; begin < count; begin += 2 * width) {
      const size_t middle = std::min(begin + width, count), end = std::min(begin + 2 * width, count);
      size_t left = begin, right = middle;
      for (size_t out = begin; out < end; ++out) {
        const bool take_right = left == middle || (right < end && less(order[right], order[left]));
        merged[out] = take_right ? order[right++] : order[left++];
      }
    }
    order.swap(merged);
  }
  return order;
}

}  // namespace inferens::jinja
