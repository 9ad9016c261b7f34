// A model as the engine sees it: it takes a ragged batch of token spans over paged KV and gives logits. One subclass per
// architecture; nothing here knows the instruction set or the device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "inferens/generation.h"
#include "inferens/status.h"

namespace inferens {

// Tokens per page: the attention tile. Page boundaries lie at absolute positions divisible by this.
constexpr int32_t kPageTokens = 64;

using PageId = int32_t;
constexpr PageId kNoPage = -1;  // a page given back because it left a sliding window

enum class KvType { kF32, kF16, kBf16, kQ8_0 };
const char* kv_type_name(KvType t);

// Layers that share one page table: all full-attention layers, or all sliding-window layers of one width.
struct KvGroup {
  int32_t window = 0;           // 0: full attention; w: a token sees itself and the w-1 before it
  std::vector<int32_t> layers;  // model layer numbers
  size_t page_bytes = 0;        // K and V of kPageTokens tokens for all layers of the group
};

// One run of consecutive tokens of one sequence in a step: a prefill chunk, a decode token, or tokens to verify.
struct TokenSpan {
  std::span<const TokenId> tokens;  // ≥ 1
  int32_t position = 0;             // absolute position of tokens[0]; all earlier K,V are in the pages
  // [group][page]: covers positions 0 … position + tokens.size() - 1; entries before the group's window may be kNoPage.
  std::vector<std::span<const PageId>> pages;
  std::vector<int32_t> logit_rows;  // offsets inside the span whose logits are wanted, ascending; may be empty
  bool wants_hidden = false;        // the last token's hidden state is wanted
};

// Memory for pages of every group, made once. page ids of a group are 0 … page_count(group)-1.
class KvPool {
 public:
  virtual ~KvPool() = default;
  virtual int32_t page_count(size_t group) const = 0;
  // Copies the first `tokens` tokens of a page (copy on write).
  virtual void copy_page(size_t group, PageId from, PageId to, int32_t tokens) = 0;
  // One page as one contiguous block of page_bytes, for export and import.
  virtual std::span<std::byte> page(size_t group, PageId id) = 0;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual int32_t vocab_size() const = 0;
  virtual int32_t context_length() const = 0;  // the longest sequence the model was made for
  virtual const std::vector<KvGroup>& kv_groups() const = 0;
  // pages_per_group has one entry per group.
  virtual StatusOr<std::unique_ptr<KvPool>> make_kv_pool(std::span<const int32_t> pages_per_group) = 0;

  virtual int32_t hidden_size() const = 0;

  // One step. Writes K,V of every span's tokens, the logits of all wanted rows, spans in order, rows in order:
  // logits [total wanted rows, vocab_size] f32, and the final-norm hidden state of the last token of every span that
  // wants it: hidden [such spans, hidden_size()] f32. Same bits for a row whatever else is in the batch.
  // Not thread safe: one caller (the engine thread). Every span was validated by the engine.
  virtual Status step(std::span<const TokenSpan> spans, KvPool& kv, std::span<float> logits,
                      std::span<float> hidden) = 0;
  // A step of spans that want logits only.
  Status forward(std::span<const TokenSpan> spans, KvPool& kv, std::span<float> logits) {
    return step(spans, kv, logits, {});
  }
};

}  // namespace inferens
