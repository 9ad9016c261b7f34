// The attention half of a step: rotation, writing the KV pages, and the tasks of paged attention.
#include <algorithm>
#include <array>
#include <limits>

#include "model/step.h"

namespace inferens {
namespace {

void rotate(float* head, const float* cosine, const float* sine, int32_t rope_dim, bool interleaved) {
  int32_t half = rope_dim / 2;
  for (int32_t i = 0; i < half; ++i) {
    float& a = head[interleaved ? 2 * i : i];
    float& b = head[interleaved ? 2 * i + 1 : i + half];
    float x = a, y = b;
    a = x * cosine[i] - y * sine[i];
    b = y * cosine[i] + x * sine[i];
  }
}

}  // namespace

void Step::rope_and_store(int32_t layer, int kind, float query_scale) {
  const ModelConfig& c = s_.config;
  int32_t group_size = c.heads / c.kv_heads;
  auto [group, index] = s_.layer_place[static_cast<size_t>(layer)];
  auto write = s_.kernels.write_kv[static_cast<int>(s_.kv->element())];
  auto [first, last] = team_.share(s_.tokens * c.kv_heads);
  for (int64_t i = first; i < last; ++i) {
    int64_t r = i / c.kv_heads;
    auto h = static_cast<int32_t>(i % c.kv_heads);
    const float* cosine = s_.cosines[kind].data() + r * c.rope_dim / 2;
    const float* sine = s_.sines[kind].data() + r * c.rope_dim / 2;
    for (int32_t g = 0; g < group_size; ++g) {
      float* query = s_.q.row(r) + int64_t{h * group_size + g} * c.head_dim;
      rotate(query, cosine, sine, c.rope_dim, c.interleaved_rope);
      s_.kernels.scale_row(query, query_scale, c.head_dim);
    }
    float* key = s_.k.row(r) + int64_t{h} * c.head_dim;
    rotate(key, cosine, sine, c.rope_dim, c.interleaved_rope);
    auto [span, position] = s_.places[static_cast<size_t>(r)];
    PageId page = s_.spans[static_cast<size_t>(span)].pages[group][static_cast<size_t>(position / kPageTokens)];
    write(key, s_.v.row(r) + int64_t{h} * c.head_dim, c.head_dim, static_cast<int>(position % kPageTokens),
          s_.kv->head_block(group, page, index, h));
  }
  team_.barrier();
}

// Partial states lie as [split]{maximum[rows], sum[rows], values[rows, head_dim]}; with partials == nullptr the splits are
// met at once and the result written out. Both ways meet the same partial results in the same order.
void Step::attend_task(int32_t layer, const StepState::AttentionTask& task, int32_t kv_head, int64_t split_begin, int64_t split_end,
                       float* partials) {
  const ModelConfig& c = s_.config;
  int32_t group_size = c.heads / c.kv_heads;
  auto [group, index] = s_.layer_place[static_cast<size_t>(layer)];
  const TokenSpan& span = s_.spans[static_cast<size_t>(task.span)];
  int64_t row0 = s_.span_start[static_cast<size_t>(task.span)] + task.first;
  std::array<QueryRow, kMaxQueryRows> rows;
  int count = 0;
  // A group larger than kMaxQueryRows heads does not occur (heads ≤ 64 per KV head is checked at load).
  for (int32_t t = 0; t < task.count; ++t) {
    for (int32_t g = 0; g < group_size; ++g) {
      int64_t at = int64_t{kv_head * group_size + g} * c.head_dim;
      rows[static_cast<size_t>(count++)] = {s_.q.row(row0 + t) + at, s_.attended.row(row0 + t) + at, int64_t{span.position} + task.first + t};
    }
  }
  AttentionRows a{rows.data(), count, c.head_dim, s_.group_window[group], s_.kv->element(), nullptr};
  auto pages_seen = static_cast<size_t>(a.last_key() / kPageTokens + 1);
  size_t floats = attention_scratch_floats(c.head_dim);
  float* scratch = attention_scratch_.ensure(floats + kMaxQueryRows * (static_cast<size_t>(c.head_dim) + 2) * 2 +
                                             pages_seen * sizeof(void*) / sizeof(float) + 64);
  auto** pages = reinterpret_cast<const std::byte**>(scratch + floats + kMaxQueryRows * (static_cast<size_t>(c.head_dim) + 2) * 2);
  for (size_t p = static_cast<size_t>(a.first_key() / kPageTokens); p < pages_seen; ++p) {
    pages[p] = s_.kv->head_block(group, span.pages[group][p], index, kv_head);
  }
  a.pages = pages;
  auto attend = s_.kernels.attend_split[static_cast<int>(s_.kv->element())];
  auto state_at = [&](float* base) {
    return AttentionState{base, base + count, base + 2 * count};
  };
  if (partials != nullptr) {
    for (int64_t split = split_begin; split < split_end; ++split) {
      attend(a, split, scratch, state_at(partials + split * kMaxQueryRows * (c.head_dim + 2)));
    }
    return;
  }
  AttentionState part = state_at(scratch + floats);
  AttentionState whole = state_at(scratch + floats + kMaxQueryRows * (static_cast<size_t>(c.head_dim) + 2));
  std::fill_n(whole.maximum, count, -std::numeric_limits<float>::infinity());
  std::fill_n(whole.sum, count, 0.0f);
  std::fill_n(whole.values, count * c.head_dim, 0.0f);
  for (int64_t split = split_begin; split < split_end; ++split) {
    attend(a, split, scratch, part);
    for (int r = 0; r < count; ++r) {
      s_.kernels.merge_row(whole.maximum[r], whole.sum[r], whole.values + r * c.head_dim, part.maximum[r], part.sum[r],
                           part.values + r * c.head_dim, c.head_dim);
    }
  }
  for (int r = 0; r < count; ++r) s_.kernels.finish_row(whole.sum[r], whole.values + r * c.head_dim, c.head_dim, rows[static_cast<size_t>(r)].out);
}

// The splits that a task's rows touch.
static std::pair<int64_t, int64_t> splits_of(const StepState& s, const StepState::AttentionTask& task, int64_t window) {
  constexpr int64_t kSplitTokens = int64_t{kSplitPages} * kAttentionTile;
  int64_t first = int64_t{s.spans[static_cast<size_t>(task.span)].position} + task.first;
  int64_t lowest = window > 0 ? std::max<int64_t>(0, first - window + 1) : 0;
  return {lowest / kSplitTokens, (first + task.count - 1) / kSplitTokens + 1};
}

void Step::attend_whole_tasks(int32_t layer) {
  int64_t window = s_.group_window[s_.layer_place[static_cast<size_t>(layer)].first];
  int64_t count = static_cast<int64_t>(s_.tasks.size()) * s_.config.kv_heads;
  auto& next = s_.next_task[layer];
  // From the back: the last tasks of a long prefill see the most keys.
  for (int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
    const auto& task = s_.tasks[static_cast<size_t>((count - 1 - i) / s_.config.kv_heads)];
    auto [begin, end] = splits_of(s_, task, window);
    attend_task(layer, task, static_cast<int32_t>((count - 1 - i) % s_.config.kv_heads), begin, end, nullptr);
  }
}

void Step::attend_split_tasks(int32_t layer) {
  const ModelConfig& c = s_.config;
  int64_t window = s_.group_window[s_.layer_place[static_cast<size_t>(layer)].first];
  int64_t state_floats = int64_t{kMaxQueryRows} * (c.head_dim + 2);
  int64_t count = static_cast<int64_t>(s_.tasks.size()) * c.kv_heads;
  auto& next = s_.next_task[layer];
  for (int64_t i = next.fetch_add(1); i < count * s_.most_splits; i = next.fetch_add(1)) {
    int64_t unit = i / s_.most_splits, split = i % s_.most_splits;
    const auto& task = s_.tasks[static_cast<size_t>(unit / c.kv_heads)];
    auto [begin, end] = splits_of(s_, task, window);
    if (split < begin || split >= end) continue;
    attend_task(layer, task, static_cast<int32_t>(unit % c.kv_heads), split, split + 1, s_.partials.data() + unit * s_.most_splits * state_floats);
  }
  team_.barrier();
  int32_t group_size = c.heads / c.kv_heads;
  auto [first, last] = team_.share(count);
  for (int64_t unit = first; unit < last; ++unit) {
    const auto& task = s_.tasks[static_cast<size_t>(unit / c.kv_heads)];
    auto [begin, end] = splits_of(s_, task, window);
    int rows = task.count * group_size;
    float* states = s_.partials.data() + unit * s_.most_splits * state_floats;
    float* whole = attention_scratch_.ensure(static_cast<size_t>(c.head_dim));
    for (int r = 0; r < rows; ++r) {
      float maximum = -std::numeric_limits<float>::infinity(), sum = 0;
      std::fill_n(whole, c.head_dim, 0.0f);
      for (int64_t split = begin; split < end; ++split) {
        const float* part = states + split * state_floats;
        s_.kernels.merge_row(maximum, sum, whole, part[r], part[rows + r], part + 2 * rows + r * c.head_dim, c.head_dim);
      }
      int64_t row = s_.span_start[static_cast<size_t>(task.span)] + task.first + r / group_size;
      float* out = s_.attended.row(row) + (unit % c.kv_heads * group_size + r % group_size) * c.head_dim;
      s_.kernels.finish_row(sum, whole, c.head_dim, out);
    }
  }
}

void Step::attend(int32_t layer) {
  if (s_.most_splits > 1) {
    attend_split_tasks(layer);
  } else {
    attend_whole_tasks(layer);
  }
  team_.barrier();
  ready(s_.attended);
}

}  // namespace inferens
