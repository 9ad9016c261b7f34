#include "model/step.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "formats/dequantize.h"

namespace inferens {

void StepState::prepare(std::span<const TokenSpan> new_spans, PagedKv& new_kv, const std::vector<KvGroup>& groups, int workers) {
  spans = new_spans;
  kv = &new_kv;
  span_start.clear();
  places.clear();
  wanted.clear();
  wanted_hidden.clear();
  tasks.clear();
  int64_t longest = 1;
  int32_t group_size = config.heads / config.kv_heads;
  int32_t tokens_per_task = std::max(1, kMaxQueryRows / group_size);
  for (size_t i = 0; i < spans.size(); ++i) {
    auto start = static_cast<int64_t>(places.size());
    auto count = static_cast<int32_t>(spans[i].tokens.size());
    span_start.push_back(start);
    for (int32_t t = 0; t < count; ++t) places.push_back({static_cast<int32_t>(i), int64_t{spans[i].position} + t});
    for (int32_t row : spans[i].logit_rows) wanted.push_back(start + row);
    if (spans[i].wants_hidden) wanted_hidden.push_back(start + count - 1);
    for (int32_t t = 0; t < count; t += tokens_per_task) {
      tasks.push_back({static_cast<int32_t>(i), t, std::min(tokens_per_task, count - t)});
    }
    longest = std::max(longest, int64_t{spans[i].position} + count);
  }
  tokens = static_cast<int64_t>(places.size());
  layer_place.assign(static_cast<size_t>(config.layers), {0, 0});
  group_window.clear();
  for (size_t g = 0; g < groups.size(); ++g) {
    group_window.push_back(groups[g].window);
    for (size_t l = 0; l < groups[g].layers.size(); ++l) {
      layer_place[static_cast<size_t>(groups[g].layers[l])] = {g, static_cast<int32_t>(l)};
    }
  }
  if (!next_task) next_task = std::make_unique<std::atomic<int64_t>[]>(static_cast<size_t>(config.layers));
  for (int32_t l = 0; l < config.layers; ++l) next_task[l].store(0, std::memory_order_relaxed);

  int tile = kernels.tile_rows;
  x.resize(tokens, config.hidden, tile);
  normed.resize(tokens, config.hidden, tile, true);
  projected.resize(tokens, config.hidden, tile);
  q.resize(tokens, int64_t{config.heads} * config.head_dim, tile);
  k.resize(tokens, int64_t{config.kv_heads} * config.head_dim, tile);
  v.resize(tokens, int64_t{config.kv_heads} * config.head_dim, tile);
  attended.resize(tokens, q.columns, tile);
  gate.resize(tokens, config.ffn, tile);
  up.resize(tokens, config.ffn, tile);
  if (config.experts > 0) slots.resize(config, tokens, tile);
  last.resize(static_cast<int64_t>(wanted.size()), config.hidden, tile);
  for (int kind = 0; kind < 2; ++kind) {
    cosines[kind].ensure(static_cast<size_t>(tokens * config.rope_dim / 2));
    sines[kind].ensure(static_cast<size_t>(tokens * config.rope_dim / 2));
  }
  // Fewer tasks than would keep the workers busy: split over keys too.
  auto whole = static_cast<int64_t>(tasks.size()) * config.kv_heads;
  most_splits = whole < 4 * workers && workers > 1 ? div_up<int64_t>(longest, int64_t{kSplitPages} * kAttentionTile) : 1;
  if (most_splits > 1) {
    partials.ensure(static_cast<size_t>(whole * most_splits) * kMaxQueryRows * static_cast<size_t>(config.head_dim + 2));
  }
}

void Step::embed(const TensorInfo& table, float scale) {
  auto [first, last] = team_.share(s_.tokens);
  auto width = static_cast<size_t>(s_.config.hidden);
  for (int64_t r = first; r < last; ++r) {
    auto [span, position] = s_.places[static_cast<size_t>(r)];
    const TokenSpan& tokens = s_.spans[static_cast<size_t>(span)];
    auto id = static_cast<size_t>(tokens.tokens[static_cast<size_t>(position - tokens.position)]);
    auto bytes = table.data.subspan(id * table.row_bytes(), table.row_bytes());
    (void)dequantize(table.type, bytes, {s_.x.row(r), width});  // sizes were checked at load
    if (scale != 1.0f) s_.kernels.scale_row(s_.x.row(r), scale, s_.config.hidden);
  }
  team_.barrier();
}

void Step::rope_angles(int kind, const RopeFrequencies& f) {
  auto [first, last] = team_.share(s_.tokens);
  auto half = static_cast<int64_t>(f.inverse.size());
  for (int64_t r = first; r < last; ++r) {
    auto position = static_cast<float>(s_.places[static_cast<size_t>(r)].position);
    for (int64_t i = 0; i < half; ++i) {
      // The angle is rounded to float before its cosine, as models were trained with.
      auto angle = static_cast<double>(position * f.inverse[static_cast<size_t>(i)]);
      s_.cosines[kind].data()[r * half + i] = static_cast<float>(std::cos(angle)) * f.magnitude;
      s_.sines[kind].data()[r * half + i] = static_cast<float>(std::sin(angle)) * f.magnitude;
    }
  }
  // No barrier: the products before rope_and_store end with one.
}

void Step::quantize_share(Activations& a, Sections rows, bool fine) {
  if (a.tiles.data != nullptr) quantize_rows(s_.kernels, a.x, a.stride, rows.first, rows.second, a.tiles, fine ? a.fine : ActivationTiles{});
}

void Step::rms_norm(const Activations& x, const Vector& weight, Activations& out, bool fine) {
  auto rows = team_.share(x.rows);
  for (int64_t r = rows.first; r < rows.second; ++r) {
    s_.kernels.rms_norm(x.row(r), weight.data(), x.columns, s_.config.norm_epsilon, out.row(r));
  }
  quantize_share(out, rows, fine);
  team_.barrier();
}

void Step::rms_norm_heads(Activations& heads, int32_t count, const Vector& weight) {
  auto [first, last] = team_.share(heads.rows * count);
  int32_t dim = s_.config.head_dim;
  for (int64_t i = first; i < last; ++i) {
    float* head = heads.row(i / count) + i % count * dim;
    s_.kernels.rms_norm(head, weight.data(), dim, s_.config.norm_epsilon, head);
  }
  team_.barrier();
}

void Step::ready(Activations& x) {
  quantize_share(x, team_.share(x.rows));
  team_.barrier();
}

void Step::add_bias(const Linear& linear, Activations& out, Sections columns) {
  if (linear.bias.empty()) return;
  for (int64_t r = 0; r < out.rows; ++r) {
    s_.kernels.add_rows(out.row(r) + columns.first, linear.bias.data() + columns.first, columns.second - columns.first);
  }
}

// The columns of an output that a share of panels covers.
static std::pair<int64_t, int64_t> columns_of(const PackedMatrix& w, std::pair<int64_t, int64_t> panels) {
  return {std::min(panels.first * kPanelRows, w.rows), std::min(panels.second * kPanelRows, w.rows)};
}

void Step::products(const Activations& in, std::initializer_list<Product> products) {
  for (const Product& p : products) {
    auto panels = team_.share(p.linear.w.panels());
    matmul_panels(s_.kernels, p.linear.w, in.as_input(p.linear.fine), panels.first, panels.second, p.out.x, p.out.stride, matmul_scratch_);
    add_bias(p.linear, p.out, columns_of(p.linear.w, panels));
  }
  team_.barrier();
}

void Step::add_product(const Activations& in, const Linear& linear, Activations& x) {
  Activations& y = s_.projected;
  auto panels = team_.share(linear.w.panels());
  matmul_panels(s_.kernels, linear.w, in.as_input(), panels.first, panels.second, y.x, y.stride, matmul_scratch_);
  auto [first, last] = columns_of(linear.w, panels);
  for (int64_t r = 0; r < x.rows; ++r) s_.kernels.add_rows(x.row(r) + first, y.row(r) + first, last - first);
  team_.barrier();
}

void Step::add_normed_product(const Activations& in, const Linear& linear, const Vector& weight, Activations& x) {
  Activations& y = s_.projected;
  auto panels = team_.share(linear.w.panels());
  matmul_panels(s_.kernels, linear.w, in.as_input(), panels.first, panels.second, y.x, y.stride, matmul_scratch_);
  team_.barrier();
  auto [first, last] = team_.share(x.rows);
  for (int64_t r = first; r < last; ++r) {
    s_.kernels.rms_norm(y.row(r), weight.data(), y.columns, s_.config.norm_epsilon, y.row(r));
    s_.kernels.add_rows(x.row(r), y.row(r), x.columns);
  }
  team_.barrier();
}

void Step::gated_product(Gate kind, const Activations& in, const Linear& gate, const Linear& up, Activations& out) {
  auto panels = team_.share(gate.w.panels());
  matmul_panels(s_.kernels, gate.w, in.as_input(), panels.first, panels.second, out.x, out.stride, matmul_scratch_);
  matmul_panels(s_.kernels, up.w, in.as_input(), panels.first, panels.second, s_.up.x, s_.up.stride, matmul_scratch_);
  auto [first, last] = columns_of(gate.w, panels);
  auto act = kind == Gate::kSilu ? s_.kernels.gated_silu : s_.kernels.gated_gelu;
  for (int64_t r = 0; r < out.rows; ++r) act(out.row(r) + first, s_.up.row(r) + first, last - first);
  team_.barrier();
  ready(out);
}

void Step::gather_hidden(const Vector& norm, std::span<float> out) {
  auto [first, last] = team_.share(static_cast<int64_t>(s_.wanted_hidden.size()));
  for (int64_t r = first; r < last; ++r) {
    const float* x = s_.x.row(s_.wanted_hidden[static_cast<size_t>(r)]);
    s_.kernels.rms_norm(x, norm.data(), s_.x.columns, s_.config.norm_epsilon, out.data() + r * s_.x.columns);
  }
}

void Step::gather_wanted(const Vector& norm) {
  auto rows = team_.share(s_.last.rows);
  for (int64_t r = rows.first; r < rows.second; ++r) {
    s_.kernels.rms_norm(s_.x.row(s_.wanted[static_cast<size_t>(r)]), norm.data(), s_.x.columns, s_.config.norm_epsilon, s_.last.row(r));
  }
  quantize_share(s_.last, rows);
  team_.barrier();
}

void Step::logits(const Linear& head, std::span<float> out) {
  matmul(s_.kernels, team_, head.w, s_.last.as_input(), out.data(), head.w.rows, matmul_scratch_);
  team_.barrier();
}

}  // namespace inferens
