// How often each token was seen, for penalties. Sorted by token: an edit of logits then walks memory forwards, and a
// sequence pays only for the distinct tokens it has.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "inferens/generation.h"

namespace inferens {

class TokenCounts {
 public:
  struct Entry {
    TokenId token;
    int32_t count;  // ≥ 1
  };

  void add(TokenId token);
  void add_all(std::span<const TokenId> tokens);
  void remove(TokenId token);  // one that was added
  std::span<const Entry> entries() const { return entries_; }

 private:
  std::vector<Entry>::iterator find(TokenId token);
  std::vector<Entry> entries_;
};

}  // namespace inferens
