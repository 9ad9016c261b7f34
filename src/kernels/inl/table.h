// Fills a KernelTable from the templates of this folder for one 16-lane vocabulary.
#pragma once

#include <utility>

#include "kernels/inl/attention.h"
#include "kernels/inl/matmul.h"
#include "kernels/inl/quantize.h"
#include "kernels/inl/rows.h"
#include "kernels/kernel_table.h"

namespace inferens::inl {

template <class V, WeightFormat kFormat>
void fill_format(KernelTable& t) {
  constexpr int i = static_cast<int>(kFormat);
  t.unpack_strip[i] = unpack_strip<V, kFormat>;
  [&]<int... r>(std::integer_sequence<int, r...>) {
    ((t.dot_strip[i][r] = dot_strip<V, r + 1, dot_kind(format_traits(kFormat))>), ...);
  }(std::make_integer_sequence<int, V::kTileRows>());
  if constexpr (i < kDirectFormats) {
    [&]<int... r>(std::integer_sequence<int, r...>) {
      ((t.dot_packed[i][r] = dot_packed<V, kFormat, r + 1>), ...);
    }(std::make_integer_sequence<int, V::kPackedRows>());
  }
}

template <class V, WeightFormat kFormat>
void fill_float_format(KernelTable& t) {
  constexpr int i = static_cast<int>(kFormat) - kIntegerFormats;
  [&]<int... r>(std::integer_sequence<int, r...>) {
    ((t.dot_float[i][r] = dot_float<V, kFormat, r + 1>), ...);
  }(std::make_integer_sequence<int, V::kTileRows>());
}

template <class V, KvElement kElement>
void fill_element(KernelTable& t) {
  t.attend_split[static_cast<int>(kElement)] = attend_split<V, kElement>;
  t.write_kv[static_cast<int>(kElement)] = write_kv<V, kElement>;
}

template <class V>
KernelTable make_table(Isa isa) {
  KernelTable t;
  t.isa = isa;
  t.tile_rows = V::kTileRows;
  t.quantize_row = quantize_row<V>;
  [&]<int... f>(std::integer_sequence<int, f...>) {
    (fill_format<V, static_cast<WeightFormat>(f)>(t), ...);
  }(std::make_integer_sequence<int, kIntegerFormats>());
  fill_float_format<V, WeightFormat::kF32>(t);
  fill_float_format<V, WeightFormat::kF16>(t);
  fill_float_format<V, WeightFormat::kBF16>(t);
  t.rms_norm = rms_norm<V>;
  t.add_rows = add_rows<V>;
  t.scale_row = scale_row<V>;
  t.gated_silu = gated_silu<V>;
  t.gated_gelu = gated_gelu<V>;
  fill_element<V, KvElement::kF32>(t);
  fill_element<V, KvElement::kF16>(t);
  fill_element<V, KvElement::kBf16>(t);
  fill_element<V, KvElement::kQ8_0>(t);
  t.merge_row = merge_row<V>;
  t.finish_row = finish_row<V>;
  return t;
}

}  // namespace inferens::inl
