// Paged attention against plain arithmetic in double, on every instruction set and element type of the cache; and the
// promise that a query row's bits do not depend on the rows that come with it.
#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/random.h"
#include "formats/dequantize.h"
#include "kernels/kernel_table.h"

namespace inferens {
namespace {

// One head's keys and values of `tokens` positions, in pages written by the kernels, and as the numbers that were kept.
struct Cache {
  int head_dim;
  KvElement element;
  std::vector<AlignedMemory> pages;
  std::vector<const std::byte*> pointers;
  std::vector<double> keys, values;  // [tokens, head_dim], rounded as stored

  Cache(const KernelTable& kernels, int dim, KvElement e, int tokens, uint64_t seed) : head_dim(dim), element(e) {
    RandomSequence random(seed);
    std::vector<float> k(static_cast<size_t>(dim)), v(static_cast<size_t>(dim));
    for (int t = 0; t < tokens; ++t) {
      if (t % kAttentionTile == 0) {
        auto memory = AlignedMemory::allocate(kv_head_bytes(e, dim));
        EXPECT_TRUE(memory.ok());
        // What an earlier sequence left behind must not matter, whatever it was.
        std::memset(memory->data(), 0xFF, memory->size());
        pages.push_back(*std::move(memory));
        pointers.push_back(pages.back().data());
      }
      for (auto& x : k) x = static_cast<float>(random.normal());
      for (auto& x : v) x = static_cast<float>(random.normal());
      kernels.write_kv[static_cast<int>(e)](k.data(), v.data(), dim, t % kAttentionTile, pages.back().data());
      keep(k, keys);
      keep(v, values);
    }
  }
  void keep(const std::vector<float>& x, std::vector<double>& out) const {
    for (size_t i = 0; i < x.size(); ++i) {
      if (element != KvElement::kQ8_0) {
        out.push_back(stored(x[i]));
        continue;
      }
      float largest = 0;
      size_t first = i / kKvBlock * kKvBlock;
      for (size_t j = first; j < std::min(first + kKvBlock, x.size()); ++j) largest = std::max(largest, std::fabs(x[j]));
      float scale = half_to_float(float_to_half(largest / 127.0f));
      out.push_back(std::clamp(std::nearbyint(x[i] * (1.0f / scale)), -127.0f, 127.0f) * static_cast<double>(scale));
    }
  }
  double stored(float x) const {
    if (element == KvElement::kF16) return half_to_float(float_to_half(x));
    if (element == KvElement::kBf16) return bfloat16_to_float(float_to_bfloat16(x));
    return x;
  }
};

struct Query {
  int64_t position;
  std::vector<float> q;
};

std::vector<float> attend(const KernelTable& kernels, const Cache& cache, const std::vector<Query>& queries, int64_t window) {
  auto d = static_cast<size_t>(cache.head_dim);
  std::vector<float> out(queries.size() * d);
  std::vector<QueryRow> rows;
  for (size_t i = 0; i < queries.size(); ++i) rows.push_back({queries[i].q.data(), out.data() + i * d, queries[i].position});
  auto count = static_cast<int>(rows.size());
  AttentionRows a{rows.data(), count, cache.head_dim, window, cache.element, cache.pointers.data()};
  Scratch<float> scratch;
  scratch.ensure(attention_scratch_floats(cache.head_dim));
  std::vector<float> part(rows.size() * (d + 2)), maximum(rows.size(), -INFINITY), sum(rows.size()), values(rows.size() * d);
  AttentionState state{part.data(), part.data() + count, part.data() + 2 * count};
  constexpr int64_t kSplitTokens = int64_t{kSplitPages} * kAttentionTile;
  for (int64_t split = a.first_key() / kSplitTokens; split <= a.last_key() / kSplitTokens; ++split) {
    kernels.attend_split[static_cast<int>(cache.element)](a, split, scratch.data(), state);
    for (size_t r = 0; r < rows.size(); ++r) {
      kernels.merge_row(maximum[r], sum[r], values.data() + r * d, state.maximum[r], state.sum[r], state.values + r * d, cache.head_dim);
    }
  }
  for (size_t r = 0; r < rows.size(); ++r) kernels.finish_row(sum[r], values.data() + r * d, cache.head_dim, rows[r].out);
  return out;
}

std::vector<double> plain(const Cache& cache, const Query& query, int64_t window) {
  auto d = static_cast<size_t>(cache.head_dim);
  int64_t first = window > 0 ? std::max<int64_t>(0, query.position - window + 1) : 0;
  std::vector<double> scores;
  double highest = -INFINITY;
  for (int64_t t = first; t <= query.position; ++t) {
    double s = 0;
    for (size_t i = 0; i < d; ++i) s += query.q[i] * cache.keys[static_cast<size_t>(t) * d + i];
    scores.push_back(s);
    highest = std::max(highest, s);
  }
  double total = 0;
  std::vector<double> out(d);
  for (size_t t = 0; t < scores.size(); ++t) {
    double w = std::exp(scores[t] - highest);
    total += w;
    for (size_t i = 0; i < d; ++i) out[i] += w * cache.values[(static_cast<size_t>(first) + t) * d + i];
  }
  for (double& x : out) x /= total;
  return out;
}

std::vector<Query> random_queries(int count, int head_dim, int tokens, uint64_t seed) {
  RandomSequence random(seed);
  std::vector<Query> queries;
  for (int i = 0; i < count; ++i) {
    Query q{random.between(0, tokens - 1), {}};
    if (i == 0) q.position = tokens - 1;
    for (int j = 0; j < head_dim; ++j) q.q.push_back(static_cast<float>(random.normal()) * 2 / std::sqrt(static_cast<float>(head_dim)));
    queries.push_back(q);
  }
  return queries;
}

class AttentionOnEveryIsa : public testing::TestWithParam<Isa> {
 protected:
  const KernelTable& kernels() { return **kernels_for(GetParam()); }
};

TEST_P(AttentionOnEveryIsa, EqualsPlainArithmeticForEveryElementHeadSizeAndWindow) {
  for (KvElement element : {KvElement::kF32, KvElement::kF16, KvElement::kBf16, KvElement::kQ8_0}) {
    for (int dim : {16, 48, 64, 80, 128, 256}) {
      int tokens = dim == 64 ? 2300 : 150;  // 2300: more than two splits
      Cache cache(kernels(), dim, element, tokens, static_cast<uint64_t>(dim));
      for (int64_t window : {0, 1, 7, 64, 100}) {
        for (int count : {1, 3, 7, 17, 64}) {
          auto queries = random_queries(count, dim, tokens, static_cast<uint64_t>(count));
          auto got = attend(kernels(), cache, queries, window);
          for (size_t r = 0; r < queries.size(); r += 5) {
            auto expected = plain(cache, queries[r], window);
            for (int i = 0; i < dim; ++i) {
              // Scores are sums of dim terms of size 1, weights and values are of size 1; 16-bit halves round at 2^-16.
              ASSERT_NEAR(got[r * static_cast<size_t>(dim) + static_cast<size_t>(i)], expected[static_cast<size_t>(i)], 2e-4)
                  << "element " << static_cast<int>(element) << " dim " << dim << " window " << window << " of " << count << " rows, row " << r;
            }
          }
        }
      }
    }
  }
}

TEST_P(AttentionOnEveryIsa, ARowsBitsDoNotDependOnTheRowsThatComeWithIt) {
  for (KvElement element : {KvElement::kF32, KvElement::kF16, KvElement::kBf16, KvElement::kQ8_0}) {
    for (int64_t window : {0, 70}) {
      constexpr int kDim = 64;
      Cache cache(kernels(), kDim, element, 1500, 5);
      auto queries = random_queries(64, kDim, 1500, 6);
      auto all = attend(kernels(), cache, queries, window);
      for (size_t count : {1, 2, 5, 16, 33}) {
        for (size_t first = 0; first + count <= queries.size(); first += count) {
          std::vector<Query> some(queries.begin() + static_cast<long>(first), queries.begin() + static_cast<long>(first + count));
          auto part = attend(kernels(), cache, some, window);
          ASSERT_EQ(std::memcmp(part.data(), all.data() + first * kDim, part.size() * 4), 0) << count << " rows from " << first;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, AttentionOnEveryIsa, testing::ValuesIn(available_isas()),
                         [](const auto& isa) { return std::string(isa_name(isa.param)); });

}  // namespace
}  // namespace inferens
