// The feed-forward of a mixture of experts, shared out over the team.
#include <algorithm>
#include <cmath>

#include "model/step.h"

namespace inferens {

void Step::gather_slots(const Activations& in) {
  auto [first, last] = team_.share(s_.slots.count());
  for (int64_t slot = first; slot < last; ++slot) std::copy_n(in.row(s_.slots.token_of(slot)), in.columns, s_.slots.in.row(slot));
  quantize_slots(s_.slots.in);
}

// This worker's share of the slots, by the same split that wrote them.
void Step::quantize_slots(const Activations& a) {
  auto [first, last] = team_.share(s_.slots.count());
  const auto& groups = s_.slots.groups();
  for (size_t g = 0; g < groups.size(); ++g) {
    int64_t begin = std::max(first, groups[g].first), end = std::min(last, groups[g].first + groups[g].count);
    ActivationTiles tiles = s_.slots.tiles(a, g);
    if (begin >= end || tiles.data == nullptr) continue;
    quantize_rows(s_.kernels, a.row(groups[g].first), a.stride, begin - groups[g].first, end - groups[g].first, tiles, {});
  }
}

// Calls part(group number, first panel, last panel) for this worker's share of `panels` panels per group.
template <class F>
void Step::share_panels(int64_t panels, F&& part) {
  auto [first, last] = team_.share(static_cast<int64_t>(s_.slots.groups().size()) * panels);
  for (int64_t at = first; at < last;) {
    int64_t group = at / panels, end = std::min(last, (group + 1) * panels);
    part(static_cast<size_t>(group), at - group * panels, end - group * panels);
    at = end;
  }
}

// One worker takes whole rows of x, so that the order of a row's sum is that of its choices.
void Step::add_slots(Activations& x) {
  auto [first, last] = team_.share(x.rows);
  for (int64_t r = first; r < last; ++r) {
    const ExpertSlots::Choice* choice = s_.slots.choices(r);
    float* sum = s_.slots.out.row(choice[0].slot);
    for (int32_t i = 0; i < s_.config.experts_used; ++i) {
      float* y = s_.slots.out.row(choice[i].slot);
      s_.kernels.scale_row(y, choice[i].weight, x.columns);
      if (i > 0) s_.kernels.add_rows(sum, y, x.columns);
    }
    s_.kernels.add_rows(x.row(r), sum, x.columns);
  }
}

void Step::add_experts(Gate kind, const Activations& in, const Experts& experts, Activations& x) {
  ExpertSlots& slots = s_.slots;
  products(in, {{experts.router, slots.scores}});
  auto [first, last] = team_.share(in.rows);
  for (int64_t r = first; r < last; ++r) slots.choose(s_.config, r, slots.scores.row(r));
  team_.barrier();
  if (team_.worker() == 0) slots.group();
  team_.barrier();
  gather_slots(in);
  team_.barrier();

  auto product = [&](const std::vector<Linear>& linears, const Activations& from, size_t g, int64_t begin, int64_t end, Activations& to) {
    const ExpertSlots::Group& group = slots.groups()[g];
    MatmulInput input{from.row(group.first), from.stride, slots.tiles(from, g), {}, group.count};
    const PackedMatrix& w = linears[static_cast<size_t>(group.expert)].w;
    matmul_panels(s_.kernels, w, input, begin, end, to.row(group.first), to.stride, matmul_scratch_);
  };
  auto act = kind == Gate::kSilu ? s_.kernels.gated_silu : s_.kernels.gated_gelu;
  share_panels(experts.gate.front().w.panels(), [&](size_t g, int64_t begin, int64_t end) {
    product(experts.gate, slots.in, g, begin, end, slots.gate);
    product(experts.up, slots.in, g, begin, end, slots.up);
    const ExpertSlots::Group& group = slots.groups()[g];
    int64_t from = begin * kPanelRows, to = std::min(end * kPanelRows, slots.gate.columns);
    for (int64_t slot = group.first; slot < group.first + group.count; ++slot) act(slots.gate.row(slot) + from, slots.up.row(slot) + from, to - from);
  });
  team_.barrier();
  quantize_slots(slots.gate);
  team_.barrier();
  share_panels(experts.down.front().w.panels(), [&](size_t g, int64_t begin, int64_t end) { product(experts.down, slots.gate, g, begin, end, slots.out); });
  team_.barrier();
  add_slots(x);
  team_.barrier();
}

void Step::add_weighted_product(const Activations& in, const Linear& weight, const Activations& hidden, const Linear& down, Activations& x) {
  products(in, {{weight, s_.slots.shared_score}});
  Activations& y = s_.projected;
  products(hidden, {{down, y}});
  auto [first, last] = team_.share(x.rows);
  for (int64_t r = first; r < last; ++r) {
    s_.kernels.scale_row(y.row(r), 1.0f / (1.0f + std::exp(-s_.slots.shared_score.row(r)[0])), y.columns);
    s_.kernels.add_rows(x.row(r), y.row(r), x.columns);
  }
  team_.barrier();
}

}  // namespace inferens
