#include "bench/kernel_speed.h"

#include <algorithm>

#include "base/random.h"
#include "bench/kernel_matmul.h"
#include "bench/kernel_timer.h"

namespace inferens {
namespace {

constexpr int64_t kRowsWorkingSet = int64_t{1} << 20;

// Heads of Qwen2.5-0.5B and Gemma-3-270M: query heads per KV head, and values per head.
struct HeadShape {
  int group;
  int head_dim;
};
constexpr HeadShape kHeads[] = {{7, 64}, {4, 256}};
constexpr int kQueryTokens[] = {1, 8};  // decode, and a piece of a prefill

// One KV head of `depth` keys with its queries. A worker has its own, as the workers of a step have.
struct Head {
  AlignedMemory pages;
  std::vector<const std::byte*> page_table;
  std::vector<float> queries, outputs;
  std::vector<QueryRow> rows;
  Scratch<float> scratch;
  std::vector<float> part, whole;

  static StatusOr<Head> make(const KernelTable& kernels, HeadShape shape, int tokens, int32_t depth, uint64_t seed) {
    Head h;
    const auto dim = static_cast<size_t>(shape.head_dim);
    const size_t page_bytes = kv_head_bytes(KvElement::kF16, shape.head_dim);
    const auto page_count = static_cast<size_t>((depth + kAttentionTile - 1) / kAttentionTile);
    auto memory = AlignedMemory::allocate(page_count * page_bytes);
    if (!memory.ok()) return memory.status();
    h.pages = *std::move(memory);
    RandomSequence random(seed);
    std::vector<float> key(dim), value(dim);
    for (int32_t t = 0; t < depth; ++t) {
      for (size_t d = 0; d < dim; ++d) {
        key[d] = static_cast<float>(random.uniform() - 0.5);
        value[d] = static_cast<float>(random.uniform() - 0.5);
      }
      std::byte* page = h.pages.data() + static_cast<size_t>(t / kAttentionTile) * page_bytes;
      kernels.write_kv[static_cast<int>(KvElement::kF16)](key.data(), value.data(), shape.head_dim, t % kAttentionTile, page);
    }
    for (size_t p = 0; p < page_count; ++p) h.page_table.push_back(h.pages.data() + p * page_bytes);
    const auto count = static_cast<size_t>(shape.group * tokens);
    h.queries.resize(count * dim);
    for (auto& q : h.queries) q = static_cast<float>(random.uniform() - 0.5);
    h.outputs.resize(count * dim);
    for (size_t r = 0; r < count; ++r) h.rows.push_back({h.queries.data() + r * dim, h.outputs.data() + r * dim, int64_t{depth} - 1});
    h.scratch.ensure(attention_scratch_floats(shape.head_dim));
    h.part.resize(count * (dim + 2));
    h.whole.resize(count * (dim + 2));
    return h;
  }

  // All splits, met in order: what a step does for one KV head.
  void attend(const KernelTable& kernels, int head_dim) {
    const auto count = static_cast<int>(rows.size());
    AttentionRows a{rows.data(), count, head_dim, 0, KvElement::kF16, page_table.data()};
    auto state_in = [&](std::vector<float>& v) { return AttentionState{v.data(), v.data() + count, v.data() + 2 * count}; };
    AttentionState some = state_in(part), all = state_in(whole);
    std::fill_n(all.maximum, count, -std::numeric_limits<float>::infinity());
    std::fill_n(all.sum, static_cast<size_t>(count) * static_cast<size_t>(head_dim + 1), 0.0f);
    const int64_t splits = a.last_key() / (int64_t{kSplitPages} * kAttentionTile) + 1;
    for (int64_t split = 0; split < splits; ++split) {
      kernels.attend_split[static_cast<int>(KvElement::kF16)](a, split, scratch.data(), some);
      for (int r = 0; r < count; ++r) {
        kernels.merge_row(all.maximum[r], all.sum[r], all.values + r * head_dim, some.maximum[r], some.sum[r], some.values + r * head_dim, head_dim);
      }
    }
    for (int r = 0; r < count; ++r) kernels.finish_row(all.sum[r], all.values + r * head_dim, head_dim, rows[static_cast<size_t>(r)].out);
  }
};

Status measure_attention(const KernelTable& kernels, WorkerPool& pool, const KernelOptions& options, std::vector<KernelSpeed>& out) {
  for (HeadShape shape : kHeads) {
    for (int32_t depth : options.depths) {
      for (int tokens : kQueryTokens) {
        if (options.progress) options.progress("attention over " + std::to_string(depth) + " keys");
        std::vector<Head> heads;
        for (int w = 0; w < pool.size(); ++w) {
          auto head = Head::make(kernels, shape, tokens, depth, static_cast<uint64_t>(w));
          if (!head.ok()) return head.status();
          heads.push_back(*std::move(head));
        }
        KernelSpeed k;
        k.kernel = "attention f16";
        k.shape = std::to_string(shape.group) + " heads x " + std::to_string(shape.head_dim) + ", " + std::to_string(depth) + " keys";
        k.rows = tokens;
        // One product with each key and one with each value.
        k.operations = 4.0 * shape.head_dim * depth * shape.group * tokens * pool.size();
        k.bytes = 2.0 * 2.0 * shape.head_dim * depth * pool.size();
        k.working_set = static_cast<int64_t>(k.bytes);
        k.seconds = time_calls(pool, options.seconds, [&](const Team& team, int64_t) {
          heads[static_cast<size_t>(team.worker())].attend(kernels, shape.head_dim);
        });
        out.push_back(std::move(k));
      }
    }
  }
  return ok_status();
}

// A kernel that walks rows: each worker has its own rows of `width` floats, from caches as in a step.
template <class F>
void measure_rows(WorkerPool& pool, const KernelOptions& options, const std::string& name, int64_t width, double bytes_per_value, double operations_per_value,
                  std::vector<KernelSpeed>& out, F&& call) {
  constexpr int kRows = 16;
  std::vector<std::vector<float>> a, b;
  RandomSequence random(3);
  for (int w = 0; w < pool.size(); ++w) {
    a.emplace_back(static_cast<size_t>(width * kRows));
    for (auto& v : a.back()) v = static_cast<float>(random.normal());
    b.push_back(a.back());
  }
  if (options.progress) options.progress(name);
  KernelSpeed k;
  k.kernel = name;
  k.shape = std::to_string(width);
  k.rows = kRows * pool.size();
  k.operations = operations_per_value * static_cast<double>(width) * k.rows;
  k.bytes = bytes_per_value * static_cast<double>(width) * k.rows;
  k.working_set = kRowsWorkingSet;
  k.seconds = time_calls(pool, options.seconds, [&](const Team& team, int64_t) {
    const auto w = static_cast<size_t>(team.worker());
    for (int r = 0; r < kRows; ++r) call(team.worker(), a[w].data() + r * width, b[w].data() + r * width);
  });
  out.push_back(std::move(k));
}

void measure_row_kernels(const KernelTable& kernels, WorkerPool& pool, const KernelOptions& options, std::vector<KernelSpeed>& out) {
  constexpr int64_t kHidden = 896, kFfn = 4864;
  const std::vector<float> weight(kHidden, 1.0f);
  measure_rows(pool, options, "rms_norm", kHidden, 8, 4, out,
               [&](int, float* x, float* y) { kernels.rms_norm(x, weight.data(), kHidden, 1e-6f, y); });
  std::vector<Scratch<uint8_t>> tiles(static_cast<size_t>(pool.size()));
  for (auto& t : tiles) t.ensure(ActivationTiles::bytes(1, kFfn));
  auto quantize = [&](int64_t columns) {
    return [&kernels, &tiles, columns](int worker, float* x, float*) {
      kernels.quantize_row(x, columns, tiles[static_cast<size_t>(worker)].data(), nullptr, 1, 0);
    };
  };
  measure_rows(pool, options, "quantize int8", kHidden, 4, 3, out, quantize(kHidden));
  measure_rows(pool, options, "quantize int8", kFfn, 4, 3, out, quantize(kFfn));
  // Products of what was there before would die out; a copy of b is the gate each time.
  std::vector<std::vector<float>> gates(static_cast<size_t>(pool.size()), std::vector<float>(kFfn));
  measure_rows(pool, options, "gate silu", kFfn, 8, 12, out, [&](int worker, float* x, float* up) {
    float* gate = gates[static_cast<size_t>(worker)].data();
    std::copy_n(x, kFfn, gate);
    kernels.gated_silu(gate, up, kFfn);
  });
}

}  // namespace

double compute_share(const KernelSpeed& k, const MachineLimits& limits) {
  return k.operations_per_second() / (k.integer ? limits.best_int8() : limits.f32).all_threads;
}

double read_share(const KernelSpeed& k, const MachineLimits& limits) {
  return k.bytes_per_second() / limits.read_limit(k.working_set).bytes_per_second.all_threads;
}

std::vector<int64_t> kernel_working_sets(const KernelOptions& options) { return {kRowsWorkingSet, int64_t{8} << 20, options.working_set}; }

StatusOr<std::vector<KernelSpeed>> measure_kernels(const KernelTable& kernels, WorkerPool& pool, const KernelOptions& options) {
  std::vector<KernelSpeed> out;
  try {
    if (Status s = measure_matmuls(kernels, pool, options, out); !s.ok()) return s;
    if (Status s = measure_attention(kernels, pool, options, out); !s.ok()) return s;
    measure_row_kernels(kernels, pool, options, out);
  } catch (const std::bad_alloc&) {
    return resource_exhausted("no memory for the kernels' data; fewer rows, depths or a smaller working set need less");
  }
  return out;
}

}  // namespace inferens
