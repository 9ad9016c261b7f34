#include "bench/bench_sequences.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/checked.h"
#include "kernels/sampling_math.h"

namespace inferens {
namespace {

// The first page that a token at `position` looks at.
int32_t first_page(const KvGroup& group, int32_t position) {
  return group.window > 0 ? std::max(0, position - group.window + 1) / kPageTokens : 0;
}

// [sequence][group][page], page ids counted up in each group.
std::vector<std::vector<std::vector<PageId>>> lay_out_pages(const Model& model, int32_t count, int32_t tokens, int32_t shared) {
  const auto& groups = model.kv_groups();
  std::vector<std::vector<std::vector<PageId>>> pages(static_cast<size_t>(count));
  std::vector<PageId> next(groups.size(), 0);
  for (size_t s = 0; s < pages.size(); ++s) {
    for (size_t g = 0; g < groups.size(); ++g) {
      std::vector<PageId> ids(static_cast<size_t>(div_up(tokens, kPageTokens)), kNoPage);
      for (size_t p = s == 0 ? 0 : static_cast<size_t>(first_page(groups[g], shared)); p < ids.size(); ++p) ids[p] = next[g]++;
      pages[s].push_back(std::move(ids));
    }
  }
  return pages;
}

std::vector<int32_t> pages_per_group(const std::vector<std::vector<std::vector<PageId>>>& pages, size_t groups) {
  std::vector<int32_t> counts(groups, 0);
  for (const auto& sequence : pages) {
    for (size_t g = 0; g < groups; ++g) counts[g] = std::max(counts[g], sequence[g].empty() ? 0 : sequence[g].back() + 1);
  }
  return counts;
}

}  // namespace

int64_t BenchSequences::kv_bytes(const Model& model, int32_t count, int32_t tokens, int32_t shared) {
  int64_t bytes = 0;
  for (const KvGroup& group : model.kv_groups()) {
    const int64_t all = div_up(tokens, kPageTokens);
    bytes += (all + (count - 1) * (all - first_page(group, shared))) * static_cast<int64_t>(group.page_bytes);
  }
  return bytes;
}

StatusOr<BenchSequences> BenchSequences::make(Model& model, int32_t count, int32_t tokens, int32_t shared, uint64_t seed) {
  BenchSequences s;
  s.model_ = &model;
  s.seed_ = seed;
  s.pages_ = lay_out_pages(model, count, tokens, shared);
  auto pool = model.make_kv_pool(pages_per_group(s.pages_, model.kv_groups().size()));
  if (!pool.ok()) return pool.status();
  s.pool_ = *std::move(pool);
  const auto vocabulary = static_cast<size_t>(model.vocab_size());
  s.logits_.resize(static_cast<size_t>(count) * vocabulary);
  s.tile_max_.resize(sampling_tiles(vocabulary));
  return s;
}

TokenId BenchSequences::random_token(uint64_t stream, uint64_t index) const {
  return static_cast<TokenId>(philox4x32(seed_, index, stream)[0] % static_cast<uint32_t>(model_->vocab_size()));
}

std::vector<std::span<const PageId>> BenchSequences::pages_of(size_t sequence, int32_t tokens) const {
  std::vector<std::span<const PageId>> views;
  for (const auto& ids : pages_[sequence]) views.push_back(std::span(ids).first(static_cast<size_t>(div_up(tokens, kPageTokens))));
  return views;
}

Status BenchSequences::forward(std::span<const TokenSpan> spans, size_t rows) {
  std::span<float> out = std::span(logits_).first(rows * static_cast<size_t>(model_->vocab_size()));
  logits_used_ = out;
  return model_->forward(spans, *pool_, out);
}

Status BenchSequences::fill(int32_t begin, int32_t end, int32_t chunk) {
  for (int32_t at = begin; at < end;) {
    const int32_t count = std::min(chunk, end - at);
    std::vector<TokenId> tokens(static_cast<size_t>(count));
    for (int32_t i = 0; i < count; ++i) tokens[static_cast<size_t>(i)] = random_token(0, static_cast<uint64_t>(at + i));
    TokenSpan span{tokens, at, pages_of(0, at + count), {}};
    if (at + count == end) span.logit_rows = {count - 1};
    if (Status s = forward({&span, 1}, span.logit_rows.size()); !s.ok()) return s;
    at += count;
  }
  return ok_status();
}

void BenchSequences::copy_to_all(int32_t tokens) {
  for (size_t s = 1; s < pages_.size(); ++s) {
    for (size_t g = 0; g < pages_[s].size(); ++g) {
      for (int32_t p = 0; p < div_up(tokens, kPageTokens); ++p) {
        const PageId to = pages_[s][g][static_cast<size_t>(p)];
        if (to == kNoPage) continue;
        pool_->copy_page(g, pages_[0][g][static_cast<size_t>(p)], to, std::min(kPageTokens, tokens - p * kPageTokens));
      }
    }
  }
}

Status BenchSequences::step(std::span<const TokenId> tokens, int32_t position) {
  std::vector<TokenSpan> spans;
  for (size_t s = 0; s < tokens.size(); ++s) spans.push_back({tokens.subspan(s, 1), position, pages_of(s, position + 1), {0}});
  return forward(spans, tokens.size());
}

StatusOr<TokenId> BenchSequences::most_likely(size_t row) {
  const auto vocabulary = static_cast<size_t>(model_->vocab_size());
  std::span<const float> values = logits_used_.subspan(row * vocabulary, vocabulary);
  const LogitPeak peak = find_peak(values, tile_max_);
  if (peak.has_nan) return internal_error("the model gave a logit that is not a number");
  const auto tile = static_cast<size_t>(std::find(tile_max_.begin(), tile_max_.end(), peak.max) - tile_max_.begin());
  auto at = std::find(values.begin() + static_cast<std::ptrdiff_t>(tile * kSamplingTile), values.end(), peak.max);
  return static_cast<TokenId>(at - values.begin());
}

}  // namespace inferens
