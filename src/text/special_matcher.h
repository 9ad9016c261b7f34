// Finds the spellings of added tokens in text, leftmost and longest first, as the reference does. Some are found
// anywhere; control tokens and chat markers only in text that is trusted to name them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inferens/generation.h"

namespace inferens {

struct ByteRange {
  size_t begin = 0;
  size_t end = 0;
};

class SpecialMatcher {
 public:
  struct Entry {
    std::string spelling;  // not empty
    TokenId id = 0;
    bool trusted_only = false;
  };
  explicit SpecialMatcher(std::vector<Entry> entries);

  struct Match {
    size_t begin = 0;
    size_t end = 0;
    TokenId id = 0;
  };
  // The next match at or after `from`. `trusted`: ascending ranges that do not touch; a trusted-only token must lie
  // wholly inside one. Linear in the text for a given vocabulary.
  std::optional<Match> find(std::string_view text, size_t from, std::span<const ByteRange> trusted) const;

 private:
  struct Node {
    uint32_t first_edge = 0;
    uint32_t edge_count = 0;
    TokenId id = -1;
    bool trusted_only = false;
  };
  struct Edge {
    uint8_t byte;
    uint32_t node;
  };
  uint32_t child(uint32_t node, uint8_t byte) const;  // 0 (the root) when there is none

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;  // of one node: contiguous, ascending
  std::array<bool, 256> can_start_{};
};

}  // namespace inferens
