#include "engine/sampling/token_counts.h"

#include <algorithm>
#include <utility>

namespace inferens {

std::vector<TokenCounts::Entry>::iterator TokenCounts::find(TokenId token) {
  return std::lower_bound(entries_.begin(), entries_.end(), token,
                          [](const Entry& e, TokenId t) { return e.token < t; });
}

void TokenCounts::add(TokenId token) {
  auto at = find(token);
  if (at != entries_.end() && at->token == token) {
    ++at->count;
  } else {
    entries_.insert(at, {token, 1});
  }
}

void TokenCounts::add_all(std::span<const TokenId> tokens) {
  std::vector<Entry> all = std::move(entries_);
  for (TokenId t : tokens) all.push_back({t, 1});
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.token < b.token; });
  entries_.clear();
  for (const Entry& e : all) {
    if (!entries_.empty() && entries_.back().token == e.token) {
      entries_.back().count += e.count;
    } else {
      entries_.push_back(e);
    }
  }
}

void TokenCounts::remove(TokenId token) {
  auto at = find(token);
  if (--at->count == 0) entries_.erase(at);
}

}  // namespace inferens
