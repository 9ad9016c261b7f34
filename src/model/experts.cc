#include "model/experts.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"

namespace inferens {
namespace {

constexpr int64_t kLine = 64;
// What ActivationTiles::bytes adds behind the last record.
const int64_t kTileSlack = static_cast<int64_t>(ActivationTiles::bytes(0, kBlockColumns));

// Tiles of up to `groups` groups in one memory.
void resize_slots(Activations& a, int64_t slots, int64_t columns, int tile_rows, int64_t groups) {
  a.resize(slots, columns, tile_rows);
  if (a.tiles.data == nullptr) return;
  auto extra = static_cast<size_t>(groups * (kTileSlack + 2 * kLine));
  a.tiles.data = a.tile_memory.ensure(ActivationTiles::bytes(slots, columns) + extra);
}

}  // namespace

void ExpertSlots::resize(const ModelConfig& c, int64_t tokens, int tile_rows) {
  used_ = c.experts_used;
  tile_rows_ = tile_rows;
  int64_t slots = tokens * used_;
  int64_t most_groups = std::min<int64_t>(c.experts, slots);
  choices_.resize(static_cast<size_t>(slots));
  tokens_.resize(static_cast<size_t>(slots));
  next_slot_.resize(static_cast<size_t>(c.experts) + 1);
  groups_.reserve(static_cast<size_t>(most_groups));
  scores.resize(tokens, c.experts, tile_rows);
  shared_score.resize(tokens, 1, tile_rows);
  resize_slots(in, slots, c.hidden, tile_rows, most_groups);
  resize_slots(gate, slots, c.expert_ffn, tile_rows, most_groups);
  up.resize(slots, c.expert_ffn, tile_rows);
  out.resize(slots, c.hidden, tile_rows);
}

void ExpertSlots::choose(const ModelConfig& c, int64_t t, const float* scores) {
  Choice* chosen = choices(t);
  // Insertion into the few best so far, in descending order; a later expert passes only those it exceeds.
  int64_t count = 0;
  for (int32_t e = 0; e < c.experts; ++e) {
    int64_t at = count;
    while (at > 0 && scores[e] > scores[chosen[at - 1].expert]) --at;
    if (at == used_) continue;
    count = std::min(count + 1, used_);
    std::copy_backward(chosen + at, chosen + count - 1, chosen + count);
    chosen[at] = {e, 0.0f, 0};
  }
  const auto largest = static_cast<double>(scores[chosen[0].expert]);
  double all = 0, used = 0;
  for (int32_t e = 0; e < c.experts; ++e) all += std::exp(static_cast<double>(scores[e]) - largest);
  for (int64_t i = 0; i < used_; ++i) used += std::exp(static_cast<double>(scores[chosen[i].expert]) - largest);
  double scale = static_cast<double>(c.expert_scale) / (c.normalize_experts ? used : all);
  for (int64_t i = 0; i < used_; ++i) {
    chosen[i].weight = static_cast<float>(std::exp(static_cast<double>(scores[chosen[i].expert]) - largest) * scale);
  }
  std::sort(chosen, chosen + used_, [](const Choice& a, const Choice& b) { return a.expert < b.expert; });
}

void ExpertSlots::group() {
  std::fill(next_slot_.begin(), next_slot_.end(), 0);
  for (const Choice& c : choices_) ++next_slot_[static_cast<size_t>(c.expert) + 1];
  groups_.clear();
  for (size_t e = 0; e + 1 < next_slot_.size(); ++e) {
    int64_t count = next_slot_[e + 1];
    next_slot_[e + 1] += next_slot_[e];
    if (count > 0) groups_.push_back({static_cast<int32_t>(e), next_slot_[e], count});
  }
  for (size_t i = 0; i < choices_.size(); ++i) {
    choices_[i].slot = next_slot_[static_cast<size_t>(choices_[i].expert)]++;
    tokens_[static_cast<size_t>(choices_[i].slot)] = static_cast<int64_t>(i) / used_;
  }
}

ActivationTiles ExpertSlots::tiles(const Activations& a, size_t group) const {
  const Group& g = groups_[group];
  ActivationTiles tiles{nullptr, g.count, a.columns, tile_rows_};
  if (a.tiles.data == nullptr) return tiles;
  int64_t records = round_up<int64_t>(g.first * tiles.blocks() * TileRecord::bytes(1), kLine);
  tiles.data = a.tiles.data + records + static_cast<int64_t>(group) * round_up<int64_t>(kTileSlack, kLine);
  return tiles;
}

}  // namespace inferens
