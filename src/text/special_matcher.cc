#include "text/special_matcher.h"

#include <algorithm>
#include <tuple>

namespace inferens {
namespace {

// Entries that share their first `depth` bytes, and the node those bytes lead to.
struct Span {
  size_t begin, end, depth;
  uint32_t node;
};

}  // namespace

// A trie laid out breadth first over the sorted spellings, so that it is built without recursion.
SpecialMatcher::SpecialMatcher(std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.spelling, a.id) < std::tie(b.spelling, b.id); });
  nodes_.emplace_back();
  std::vector<Span> open = {{0, entries.size(), 0, 0}};
  for (size_t next = 0; next < open.size(); ++next) {
    const Span span = open[next];
    size_t at = span.begin;
    if (at < span.end && entries[at].spelling.size() == span.depth) {
      nodes_[span.node].id = entries[at].id;
      nodes_[span.node].trusted_only = entries[at].trusted_only;
      while (at < span.end && entries[at].spelling.size() == span.depth)
        ++at;  // the lowest id of equal spellings counts
    }
    nodes_[span.node].first_edge = static_cast<uint32_t>(edges_.size());
    while (at < span.end) {
      const size_t begin = at;
      const char byte = entries[at].spelling[span.depth];
      while (at < span.end && entries[at].spelling[span.depth] == byte) ++at;
      const auto node = static_cast<uint32_t>(nodes_.size());
      nodes_.emplace_back();
      edges_.push_back({static_cast<uint8_t>(byte), node});
      open.push_back({begin, at, span.depth + 1, node});
    }
    nodes_[span.node].edge_count = static_cast<uint32_t>(edges_.size()) - nodes_[span.node].first_edge;
  }
  for (uint32_t e = 0; e < nodes_[0].edge_count; ++e) can_start_[edges_[e].byte] = true;
}

uint32_t SpecialMatcher::child(uint32_t node, uint8_t byte) const {
  const auto first = edges_.begin() + nodes_[node].first_edge;
  const auto last = first + nodes_[node].edge_count;
  const auto edge = std::lower_bound(first, last, byte, [](const Edge& e, uint8_t b) { return e.byte < b; });
  return edge != last && edge->byte == byte ? edge->node : 0;
}

std::optional<SpecialMatcher::Match> SpecialMatcher::find(std::string_view text, size_t from,
                                                          std::span<const ByteRange> trusted) const {
  auto range =
      std::upper_bound(trusted.begin(), trusted.end(), from, [](size_t v, const ByteRange& r) { return v < r.end; });
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!can_start_[static_cast<uint8_t>(text[begin])]) continue;
    while (range != trusted.end() && range->end <= begin) ++range;
    const size_t trusted_end = range != trusted.end() && range->begin <= begin ? range->end : 0;
    std::optional<Match> longest;
    uint32_t node = 0;
    for (size_t end = begin; end < text.size();) {
      node = child(node, static_cast<uint8_t>(text[end]));
      if (node == 0) break;
      ++end;
      if (nodes_[node].id >= 0 && (!nodes_[node].trusted_only || end <= trusted_end))
        longest = Match{begin, end, nodes_[node].id};
    }
    if (longest) return longest;
  }
  return std::nullopt;
}

}  // namespace inferens
