// Matching, insertion, idle lists and eviction of the prefix tree.
#include "engine/prefix_tree.h"

#include <algorithm>
#include <utility>

namespace inferens {
namespace {

std::span<const TokenId> page_of(std::span<const TokenId> tokens, size_t page) {
  const size_t begin = page * kPageTokens;
  return tokens.subspan(begin, std::min<size_t>(kPageTokens, tokens.size() - begin));
}

int32_t common_tokens(std::span<const TokenId> a, std::span<const TokenId> b) {
  const size_t n = std::min(a.size(), b.size());
  return static_cast<int32_t>(std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(n), b.begin()).first -
                              a.begin());
}

bool is_less(std::span<const TokenId> a, std::span<const TokenId> b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

bool PrefixTree::TokenOrder::operator()(const Node* a, const Node* b) const {
  return is_less(a->tokens, b->tokens);
}
bool PrefixTree::TokenOrder::operator()(const Node* a, std::span<const TokenId> b) const {
  return is_less(a->tokens, b);
}
bool PrefixTree::TokenOrder::operator()(std::span<const TokenId> a, const Node* b) const {
  return is_less(a, b->tokens);
}

PrefixTree::PrefixTree(const std::vector<KvGroup>& groups, std::vector<PagePool>& pools, Nanos time_to_live)
    : pools_(pools), time_to_live_(time_to_live), idle_(groups.size()) {
  for (size_t g = 0; g < groups.size(); ++g) {
    windows_.push_back(groups[g].window);
    owner_.emplace_back(static_cast<size_t>(pools[g].size()), nullptr);
  }
}

PrefixTree::~PrefixTree() = default;

const PrefixTree::Node* PrefixTree::find_root(std::string_view salt) const {
  const auto found = roots_.find(salt);
  return found == roots_.end() ? nullptr : found->second.get();
}

PrefixTree::Node* PrefixTree::make_root(std::string_view salt) {
  auto found = roots_.find(salt);
  if (found == roots_.end()) {
    found = roots_.emplace(std::string(salt), std::make_unique<Node>()).first;
    found->second->salt = found->first;
  }
  return found->second.get();
}

// Neighbours in lexicographic order share the longest prefixes, so only two children can be the best.
std::pair<PrefixTree::Node*, int32_t> PrefixTree::best_child(const Node& parent, std::span<const TokenId> tokens) {
  std::pair<Node*, int32_t> best{nullptr, 0};
  const auto after = parent.children.lower_bound(tokens);
  if (after != parent.children.end()) best = {*after, common_tokens((*after)->tokens, tokens)};
  if (after != parent.children.begin()) {
    Node* before = *std::prev(after);
    const int32_t common = common_tokens(before->tokens, tokens);
    if (common > best.second) best = {before, common};
  }
  return best;
}

PrefixHit PrefixTree::match(std::string_view salt, std::span<const TokenId> tokens) const {
  PrefixHit hit;
  hit.pages.resize(windows_.size());
  const Node* node = find_root(salt);
  std::vector<const Node*> path;
  std::vector<int32_t> run_start(windows_.size(), 0);  // first page of the unbroken run that ends at this page
  for (int32_t depth = 0; node != nullptr && static_cast<size_t>(depth) < tokens.size();) {
    const auto [child, common] = best_child(*node, page_of(tokens, path.size()));
    if (common == 0) break;
    const auto page = static_cast<int32_t>(path.size());
    path.push_back(child);
    depth += common;
    bool usable = true;
    for (size_t g = 0; g < windows_.size(); ++g) {
      if (child->slots[g].page == kNoPage) run_start[g] = page + 1;
      usable = usable && run_start[g] <= std::min(page, first_visible_page(depth, windows_[g]));
    }
    if (usable) hit.tokens = depth;
    if (common < kPageTokens) break;
    node = child;
  }
  const int32_t pages = (hit.tokens + kPageTokens - 1) / kPageTokens;
  for (size_t g = 0; g < windows_.size(); ++g) {
    hit.pages[g].assign(static_cast<size_t>(pages), kNoPage);
    for (int32_t p = first_visible_page(hit.tokens, windows_[g]); p < pages; ++p) {
      hit.pages[g][static_cast<size_t>(p)] = path[static_cast<size_t>(p)]->slots[g].page;
    }
  }
  return hit;
}

void PrefixTree::insert(std::string_view salt, std::span<const TokenId> tokens,
                        std::vector<std::vector<PageId>>& tables, Nanos now) {
  if (tokens.empty()) return;
  Node* node = make_root(salt);
  for (size_t page = 0; node != nullptr && page * kPageTokens < tokens.size(); ++page) {
    node = insert_page(*node, page_of(tokens, page), page, tables, now);
  }
}

// The node of this page, or null when the tree already has more than a partial page offers.
PrefixTree::Node* PrefixTree::insert_page(Node& parent, std::span<const TokenId> tokens, size_t page_index,
                                          std::vector<std::vector<PageId>>& tables, Nanos now) {
  const auto [child, common] = best_child(parent, tokens);
  const auto length = static_cast<int32_t>(tokens.size());
  if (common == length && length == kPageTokens) {
    adopt_pages(*child, page_index, true, tables, now);
    return child;
  }
  if (common == length) return nullptr;
  if (common > 0 && common == static_cast<int32_t>(child->tokens.size())) {
    // A partial page that ours continues. Its place among the siblings stays: none lies between it and its extension.
    child->tokens.assign(tokens.begin(), tokens.end());
    adopt_pages(*child, page_index, false, tables, now);
    ++version_;
    return child;
  }
  Node& node = add_node(parent, tokens);
  adopt_pages(node, page_index, false, tables, now);
  ++version_;
  return &node;
}

PrefixTree::Node& PrefixTree::add_node(Node& parent, std::span<const TokenId> tokens) {
  auto node = std::make_unique<Node>();
  node->parent = &parent;
  node->tokens.assign(tokens.begin(), tokens.end());
  node->slots.resize(windows_.size());
  node->index = nodes_.size();
  parent.children.insert(node.get());
  nodes_.push_back(std::move(node));
  return *nodes_.back();
}

// share: the node's full page and the sequence's hold the same bits; keep one. Otherwise the sequence's page says more.
void PrefixTree::adopt_pages(Node& node, size_t page_index, bool share, std::vector<std::vector<PageId>>& tables,
                             Nanos now) {
  for (size_t g = 0; g < windows_.size(); ++g) {
    if (page_index >= tables[g].size() || tables[g][page_index] == kNoPage) {
      // It left the window: the node's page, if any, is of fewer tokens than the node has now.
      if (!share) drop_page(node, g);
      continue;
    }
    PageId& mine = tables[g][page_index];
    const PageId theirs = node.slots[g].page;
    if (theirs == mine) continue;
    if (theirs == kNoPage) {
      set_page(node, g, mine);
      ++version_;
    } else if (share) {
      retain(g, theirs);
      release(g, mine, now);
      mine = theirs;
      ++stats_.duplicate_pages;
    } else {
      drop_page(node, g);
      set_page(node, g, mine);
    }
  }
}

void PrefixTree::set_page(Node& node, size_t group, PageId page) {
  pools_[group].retain(page);
  node.slots[group].page = page;
  owner_[group][static_cast<size_t>(page)] = &node;
  ++stats_.inserted_pages;
}

void PrefixTree::drop_page(Node& node, size_t group) {
  const PageId page = node.slots[group].page;
  if (page == kNoPage) return;
  unlink_idle(node, group);
  owner_[group][static_cast<size_t>(page)] = nullptr;
  node.slots[group].page = kNoPage;
  pools_[group].release(page);
}

void PrefixTree::retain(size_t group, PageId page) {
  if (Node* node = owner_[group][static_cast<size_t>(page)]) unlink_idle(*node, group);
  pools_[group].retain(page);
}

void PrefixTree::release(size_t group, PageId page, Nanos now, bool cold) {
  const int32_t left = pools_[group].release(page);
  Node* node = owner_[group][static_cast<size_t>(page)];
  if (left == 1 && node != nullptr) link_idle(*node, group, cold, now);
}

void PrefixTree::link_idle(Node& node, size_t group, bool cold, Nanos now) {
  Slot& slot = node.slots[group];
  slot.last_use = now;
  if (node.pinned_until > 0) return;
  IdleList& list = idle_[group];
  slot.idle = true;
  slot.stamp = ++next_stamp_;
  Node*& end = cold ? list.coldest : list.warmest;
  slot.colder = cold ? nullptr : end;
  slot.warmer = cold ? end : nullptr;
  if (end != nullptr) (cold ? end->slots[group].colder : end->slots[group].warmer) = &node;
  end = &node;
  Node*& other_end = cold ? list.warmest : list.coldest;
  if (other_end == nullptr) other_end = &node;
  ++list.count;
}

void PrefixTree::unlink_idle(Node& node, size_t group) {
  Slot& slot = node.slots[group];
  if (!slot.idle) return;
  IdleList& list = idle_[group];
  (slot.colder != nullptr ? slot.colder->slots[group].warmer : list.coldest) = slot.warmer;
  (slot.warmer != nullptr ? slot.warmer->slots[group].colder : list.warmest) = slot.colder;
  slot.idle = false;
  slot.colder = slot.warmer = nullptr;
  --list.count;
}

// A page of a full-attention group takes its node along, so it must be a leaf; sequences give pages back from the end
// of their prompt to its start, so the coldest one is. A sliding-window page can go alone.
bool PrefixTree::evict_coldest(size_t group) {
  Node* node = idle_[group].coldest;
  if (windows_[group] == 0) {
    while (node != nullptr && !node->children.empty()) node = node->slots[group].warmer;
    if (node == nullptr) return false;
    for (size_t g = 0; g < windows_.size(); ++g) drop_page(*node, g);
  } else {
    if (node == nullptr) return false;
    drop_page(*node, group);
  }
  remove_if_empty(node);
  return true;
}

bool PrefixTree::evict(size_t group) {
  if (!evict_coldest(group)) return false;
  ++stats_.evicted_pages;
  return true;
}

void PrefixTree::remove_if_empty(Node* node) {
  while (node->children.empty()) {
    Node* parent = node->parent;
    if (parent == nullptr) {
      roots_.erase(roots_.find(node->salt));
      return;
    }
    const auto has_page = [](const Slot& slot) { return slot.page != kNoPage; };
    if (std::any_of(node->slots.begin(), node->slots.end(), has_page)) return;
    if (node->pinned_until > 0) std::erase(pinned_, node);
    parent->children.erase(node);
    std::swap(nodes_[node->index], nodes_.back());
    nodes_[node->index]->index = node->index;
    nodes_.pop_back();
    node = parent;
  }
}

int32_t PrefixTree::pin(std::string_view salt, std::span<const TokenId> tokens, Nanos until) {
  const auto root = roots_.find(salt);
  Node* node = root == roots_.end() ? nullptr : root->second.get();
  int32_t kept = 0;
  while (node != nullptr && static_cast<size_t>(kept) + kPageTokens <= tokens.size()) {
    const auto [child, common] = best_child(*node, page_of(tokens, static_cast<size_t>(kept / kPageTokens)));
    if (common < kPageTokens) break;
    if (child->pinned_until == 0) pinned_.push_back(child);
    child->pinned_until = std::max({child->pinned_until, until, Nanos{1}});
    for (size_t g = 0; g < windows_.size(); ++g) unlink_idle(*child, g);
    kept += kPageTokens;
    node = child;
  }
  return kept;
}

void PrefixTree::unpin(size_t place, Nanos now) {
  Node* node = pinned_[place];
  node->pinned_until = 0;
  pinned_.erase(pinned_.begin() + static_cast<ptrdiff_t>(place));
  for (size_t g = 0; g < windows_.size(); ++g) {
    const PageId page = node->slots[g].page;
    if (page != kNoPage && pools_[g].references(page) == 1) link_idle(*node, g, false, now);
  }
}

void PrefixTree::unpin_all(Nanos now) {
  while (!pinned_.empty()) unpin(pinned_.size() - 1, now);
}

void PrefixTree::expire(Nanos now) {
  // Parents come before their children in pinned_: from the back, so that leaves become idle first.
  for (size_t i = pinned_.size(); i-- > 0;) {
    if (pinned_[i]->pinned_until <= now) unpin(i, now);
  }
  if (time_to_live_ == 0) return;
  for (size_t g = 0; g < windows_.size(); ++g) {
    while (idle_[g].coldest != nullptr && idle_[g].coldest->slots[g].last_use + time_to_live_ <= now) {
      if (!evict_coldest(g)) break;
      ++stats_.expired_pages;
    }
  }
}

void PrefixTree::clear() {
  for (size_t g = 0; g < windows_.size(); ++g) {
    while (evict_coldest(g)) continue;
  }
}

Status PrefixTree::check(std::vector<std::vector<int32_t>>& expected) const {
  std::vector<int32_t> idle_seen(windows_.size(), 0);
  for (const auto& node : nodes_) {
    const auto length = static_cast<int32_t>(node->tokens.size());
    if (length < 1 || length > kPageTokens)
      return internal_error("a tree node has " + std::to_string(length) + " tokens");
    if (length < kPageTokens && !node->children.empty())
      return internal_error("a partial page has children in the tree");
    const auto place = node->parent->children.find(node.get());
    if (place == node->parent->children.end() || *place != node.get())
      return internal_error("a tree node is not its parent's child");
    const auto next = std::next(place);
    if (next != node->parent->children.end() && common_tokens(node->tokens, (*next)->tokens) == length) {
      return internal_error("a tree node is a prefix of its sibling");
    }
    for (size_t g = 0; g < windows_.size(); ++g) {
      const Slot& slot = node->slots[g];
      if (slot.idle) ++idle_seen[g];
      if (slot.page == kNoPage) {
        if (slot.idle) return internal_error("a tree node without a page is in the idle list");
        continue;
      }
      ++expected[g][static_cast<size_t>(slot.page)];
      if (owner_[g][static_cast<size_t>(slot.page)] != node.get())
        return internal_error("a page does not know its tree node");
      const bool unused = pools_[g].references(slot.page) == 1 && node->pinned_until == 0;
      if (slot.idle != unused) return internal_error("the idle list and the references of a tree page disagree");
      const bool root_child = node->parent->parent == nullptr;
      const Slot* above = root_child ? nullptr : &node->parent->slots[g];
      if (windows_[g] == 0 && above != nullptr && above->idle && (!slot.idle || above->stamp < slot.stamp)) {
        return internal_error("a tree page would be evicted before what hangs under it");
      }
    }
  }
  for (size_t g = 0; g < windows_.size(); ++g) {
    if (idle_seen[g] != idle_[g].count) return internal_error("the idle list's count is wrong");
  }
  return ok_status();
}

}  // namespace inferens
