// What the attention kernels are told: rows of queries of one sequence and one KV head, and where that head's pages are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace inferens {

// Keys per page tile. Pages start at absolute positions divisible by this.
constexpr int kAttentionTile = 64;
// Pages per split: partial results are made per split at absolute positions and met in ascending order, always, so that
// splitting the work over threads does not change a bit.
constexpr int kSplitPages = 16;

// kQ8_0: int8 under one f16 scale per token and kKvBlock dimensions (the last block of a head may be half of that).
enum class KvElement : uint8_t { kF32, kF16, kBf16, kQ8_0 };
constexpr int kKvBlock = 32;
constexpr int kv_blocks(int head_dim) { return (head_dim + kKvBlock - 1) / kKvBlock; }

// One KV head of one layer inside a page: the keys as [head_dim][64 tokens], then the values as [64 tokens][head_dim].
// Behind the keys of kQ8_0 lie their scales [blocks][64 tokens], behind the values theirs, [64 tokens][blocks].
constexpr size_t kv_half_bytes(KvElement e, int head_dim) {
  auto values = static_cast<size_t>(kAttentionTile * head_dim);
  if (e == KvElement::kQ8_0) return values + static_cast<size_t>(kAttentionTile * kv_blocks(head_dim)) * 2;
  return values * (e == KvElement::kF32 ? 4 : 2);
}
constexpr size_t kv_head_bytes(KvElement e, int head_dim) { return 2 * kv_half_bytes(e, head_dim); }

// One query row: a token's query vector for one head, already scaled.
struct QueryRow {
  const float* q;    // [head_dim]
  float* out;        // [head_dim]
  int64_t position;  // attends keys max(0, position - window + 1) … position
};

// A run of query rows over one head's pages.
struct AttentionRows {
  const QueryRow* rows;
  int count;
  int head_dim;
  int64_t window;            // 0: all
  KvElement element;
  const std::byte* const* pages;  // [page]: that page's block of this head; may be null before the window
  // First and last position any row sees.
  int64_t first_key() const {
    if (window == 0) return 0;
    int64_t lowest = std::numeric_limits<int64_t>::max();
    for (int i = 0; i < count; ++i) lowest = rows[i].position < lowest ? rows[i].position : lowest;
    return lowest - window + 1 > 0 ? lowest - window + 1 : 0;
  }
  int64_t last_key() const {
    int64_t highest = 0;
    for (int i = 0; i < count; ++i) highest = rows[i].position > highest ? rows[i].position : highest;
    return highest;
  }
};

// The most query rows one call takes; the scratch below is sized by it.
constexpr int kMaxQueryRows = 64;

// Softmax state of rows: the running maximum, the sum of weights, and the weighted values, not yet divided.
struct AttentionState {
  float* maximum;  // [rows]
  float* sum;      // [rows]
  float* values;   // [rows, head_dim]
};

// Floats of scratch one call needs: page tiles widened to f32, weights, and one partial state.
constexpr size_t attention_scratch_floats(int head_dim) {
  auto d = static_cast<size_t>(head_dim);
  return 2 * kAttentionTile * d + kMaxQueryRows * (kAttentionTile + d + 2) * 2 + 64;
}

}  // namespace inferens
