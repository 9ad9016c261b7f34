// Page operations of sequences over pools and tree.
#include "engine/kv_cache.h"

#include <algorithm>

#include "base/checked.h"

namespace inferens {
namespace {

// While it takes a chunk, a sequence holds the window before it, the chunk, and a page that either end only touches.
// One page of chunk is always possible then.
constexpr int32_t kWindowSlackPages = 3;

int32_t window_pages(int32_t window) {
  return div_up(window, kPageTokens) + kWindowSlackPages;
}

// What a sequence of so many tokens holds at most while it takes small chunks.
int32_t sequence_pages(const KvGroup& group, int32_t tokens) {
  const int32_t all = div_up(tokens, kPageTokens);
  return group.window == 0 ? all : std::min(all, window_pages(group.window));
}

std::vector<PagePool> make_pools(std::span<const int32_t> pages) {
  std::vector<PagePool> pools;
  for (const int32_t count : pages) pools.emplace_back(count);
  return pools;
}

}  // namespace

size_t kv_bytes_for(const std::vector<KvGroup>& groups, int32_t tokens) {
  size_t bytes = 0;
  for (const KvGroup& group : groups) bytes += static_cast<size_t>(sequence_pages(group, tokens)) * group.page_bytes;
  return bytes;
}

std::vector<int32_t> split_kv_memory(const std::vector<KvGroup>& groups, size_t bytes, int32_t context) {
  // A usual long sequence: short ones need as many pages of a window as of full attention, the longest hardly any.
  constexpr int32_t kUsualTokens = 2048;
  const size_t whole = kv_bytes_for(groups, context);
  const int32_t usual_tokens = std::min(context, kUsualTokens);
  const auto usual = static_cast<double>(kv_bytes_for(groups, usual_tokens));
  // First what one sequence of the whole context needs, the rest in the proportion of usual ones.
  const double scale = bytes < whole ? static_cast<double>(bytes) / static_cast<double>(whole) : 1;
  const double more = bytes > whole ? static_cast<double>(bytes - whole) / usual : 0;
  std::vector<int32_t> pages;
  for (const KvGroup& group : groups) {
    const double count = scale * sequence_pages(group, context) + more * sequence_pages(group, usual_tokens);
    if (count < 1) return {};
    pages.push_back(static_cast<int32_t>(std::min(count, 1e9)));
  }
  return pages;
}

KvCache::KvCache(const std::vector<KvGroup>& groups, std::span<const int32_t> pages, std::unique_ptr<KvPool> memory,
                 bool prefix_cache, Nanos time_to_live)
    : groups_(groups),
      pools_(make_pools(pages)),
      memory_(std::move(memory)),
      tree_(groups, pools_, time_to_live),
      prefix_cache_(prefix_cache) {}

int32_t KvCache::capacity_tokens() const {
  int64_t tokens = INT32_MAX;
  for (size_t g = 0; g < groups_.size(); ++g) {
    const int32_t window = groups_[g].window;
    if (window != 0 && pools_[g].size() >= window_pages(window)) continue;
    tokens = std::min<int64_t>(tokens, int64_t{pools_[g].size()} * kPageTokens);
  }
  return static_cast<int32_t>(tokens);
}

int32_t KvCache::pages_for(size_t group, int32_t tokens) const {
  return sequence_pages(groups_[group], tokens);
}

PageId KvCache::allocate(size_t group) {
  PageId page = pools_[group].allocate();
  if (page == kNoPage && tree_.evict(group)) page = pools_[group].allocate();
  return page;
}

int32_t KvCache::attach_prefix(KvState& kv, std::string_view salt, std::span<const TokenId> tokens, Nanos now) {
  PrefixHit hit = tree_.match(salt, tokens);
  if (hit.tokens <= kv.length) return kv.length;
  const auto full_pages = static_cast<size_t>(hit.tokens / kPageTokens);
  const bool has_tail = hit.tokens % kPageTokens != 0;
  // Hold the hit before anything can be evicted.
  for (size_t g = 0; g < groups(); ++g) {
    for (const PageId page : hit.pages[g]) {
      if (page != kNoPage) tree_.retain(g, page);
    }
  }
  const auto give_back = [&](size_t g, size_t page) {
    if (hit.pages[g][page] != kNoPage) tree_.release(g, hit.pages[g][page], now);
  };
  // The partial page needs a copy of one's own: the one already begun there, or a new one.
  std::vector<PageId> tail(groups(), kNoPage);
  bool tail_fits = true;
  for (size_t g = 0; has_tail && g < groups(); ++g) {
    const bool begun = kv.pages[g].size() > full_pages && kv.pages[g][full_pages] != kNoPage;
    if (!begun) tail_fits = (tail[g] = allocate(g)) != kNoPage && tail_fits;
  }
  if (!tail_fits) {
    for (size_t g = 0; g < groups(); ++g) {
      if (tail[g] != kNoPage) tree_.release(g, tail[g], now);
      for (size_t p = hit.pages[g].size(); p-- > 0;) give_back(g, p);
    }
    return attach_prefix(kv, salt, tokens.first(full_pages * kPageTokens), now);
  }
  // Pages of one's own that say the same give way: who holds a page of the tree holds what it hangs on.
  for (size_t g = 0; g < groups(); ++g) {
    std::vector<PageId>& mine = kv.pages[g];
    if (mine.size() < hit.pages[g].size()) mine.resize(hit.pages[g].size(), kNoPage);
    for (size_t p = hit.pages[g].size(); p-- > 0;) {
      const PageId theirs = hit.pages[g][p];
      if (p == full_pages) {
        if (tail[g] != kNoPage) mine[p] = tail[g];
        memory_->copy_page(g, theirs, mine[p], hit.tokens % kPageTokens);
        tree_.release(g, theirs, now);
      } else if (theirs != kNoPage) {
        if (mine[p] != kNoPage) tree_.release(g, mine[p], now);
        mine[p] = theirs;
      }
    }
  }
  kv.length = hit.tokens;
  slide(kv, now);
  return kv.length;
}

bool KvCache::reserve(KvState& kv, int32_t end) {
  const auto pages = static_cast<size_t>(div_up(end, kPageTokens));
  for (size_t g = 0; g < groups(); ++g) {
    if (pages > kv.pages[g].size() && available(g) < static_cast<int32_t>(pages - kv.pages[g].size())) return false;
  }
  for (size_t g = 0; g < groups(); ++g) {
    // Evicting in one group can drop pages of another, never take free ones: what was available stays so.
    while (kv.pages[g].size() < pages) kv.pages[g].push_back(allocate(g));
  }
  return true;
}

void KvCache::publish(KvState& kv, std::string_view salt, std::span<const TokenId> tokens, Nanos now) {
  if (prefix_cache_) tree_.insert(salt, tokens, kv.pages, now);
}

void KvCache::slide(KvState& kv, Nanos now) {
  for (size_t g = 0; g < groups(); ++g) {
    const int32_t window = groups_[g].window;
    if (window == 0) continue;
    const auto visible = std::min(static_cast<size_t>(first_visible_page(kv.length, window)), kv.pages[g].size());
    for (size_t& p = kv.first_page[g]; p < visible; ++p) {
      if (kv.pages[g][p] == kNoPage) continue;
      tree_.release(g, kv.pages[g][p], now, true);
      kv.pages[g][p] = kNoPage;
    }
  }
}

// Full-attention pages go from the end, so that leaves of the tree are colder than what carries them. Of a window the
// end is what the next turn needs, so it goes last.
void KvCache::release(KvState& kv, Nanos now) {
  for (size_t g = 0; g < groups(); ++g) {
    if (groups_[g].window == 0) std::reverse(kv.pages[g].begin(), kv.pages[g].end());
    for (const PageId page : kv.pages[g]) {
      if (page != kNoPage) tree_.release(g, page, now);
    }
  }
  kv.reset(groups());
}

bool KvCache::fork(const KvState& from, KvState& to, Nanos now) {
  to = from;
  const auto full_pages = static_cast<size_t>(from.length / kPageTokens);
  const int32_t tail = from.length % kPageTokens;
  bool fits = true;
  for (size_t g = 0; g < groups(); ++g) {
    to.pages[g].resize(full_pages);
    for (const PageId page : to.pages[g]) {
      if (page != kNoPage) tree_.retain(g, page);
    }
  }
  for (size_t g = 0; tail != 0 && fits && g < groups(); ++g) {
    const PageId copy = allocate(g);
    fits = copy != kNoPage;
    if (!fits) break;
    memory_->copy_page(g, from.pages[g][full_pages], copy, tail);
    to.pages[g].push_back(copy);
  }
  if (!fits) release(to, now);
  return fits;
}

Status KvCache::check(std::span<const KvState* const> sequences) const {
  std::vector<std::vector<int32_t>> expected;
  for (const PagePool& pool : pools_) expected.emplace_back(static_cast<size_t>(pool.size()), 0);
  for (const KvState* kv : sequences) {
    for (size_t g = 0; g < groups(); ++g) {
      for (const PageId page : kv->pages[g]) {
        if (page != kNoPage) ++expected[g][static_cast<size_t>(page)];
      }
    }
  }
  if (Status status = tree_.check(expected); !status.ok()) return status;
  for (size_t g = 0; g < groups(); ++g) {
    if (Status status = pools_[g].check(expected[g]); !status.ok())
      return status.with_context("group " + std::to_string(g));
  }
  return ok_status();
}

}  // namespace inferens
