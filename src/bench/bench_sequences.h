// Sequences of random tokens over a model's pages, for measurements: their context is computed once and copied, then they
// step together. It keeps no time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "inferens/status.h"
#include "model/model.h"

namespace inferens {

class BenchSequences {
 public:
  // Room for `count` sequences of `tokens` tokens. Sequence 0 has all its pages, so that it can be filled from the start;
  // the others have the pages that positions `shared` and later look at.
  static StatusOr<BenchSequences> make(Model& model, int32_t count, int32_t tokens, int32_t shared, uint64_t seed);
  static int64_t kv_bytes(const Model& model, int32_t count, int32_t tokens, int32_t shared);

  // Computes positions [begin, end) of sequence 0 in steps of at most `chunk` tokens, those before being there already,
  // and leaves the logits of the last one in logits(). Tokens depend on the position alone.
  Status fill(int32_t begin, int32_t end, int32_t chunk);

  // Gives every sequence the first `tokens` tokens of sequence 0, in pages of its own.
  void copy_to_all(int32_t tokens);

  // One token for each of tokens.size() sequences at `position`; then logits() has one row for each.
  Status step(std::span<const TokenId> tokens, int32_t position);

  std::span<const float> logits() const { return logits_used_; }
  // The most likely token of a row of logits(); an error when a logit is not a number. The smallest id of equal ones.
  StatusOr<TokenId> most_likely(size_t row);

  TokenId first_token(int32_t sequence) const { return random_token(uint64_t{1} << 40, static_cast<uint64_t>(sequence)); }

 private:
  BenchSequences() = default;
  TokenId random_token(uint64_t stream, uint64_t index) const;
  Status forward(std::span<const TokenSpan> spans, size_t rows);
  std::vector<std::span<const PageId>> pages_of(size_t sequence, int32_t tokens) const;

  Model* model_ = nullptr;
  uint64_t seed_ = 0;
  std::unique_ptr<KvPool> pool_;
  std::vector<std::vector<std::vector<PageId>>> pages_;  // [sequence][group][page]
  std::vector<float> logits_;
  std::span<const float> logits_used_;
  std::vector<float> tile_max_;
};

}  // namespace inferens
