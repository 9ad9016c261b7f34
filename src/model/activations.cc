#include "model/activations.h"

#include "base/checked.h"

namespace inferens {

void Activations::resize(int64_t new_rows, int64_t new_columns, int tile_rows, bool with_fine) {
  rows = new_rows;
  columns = new_columns;
  stride = round_up<int64_t>(columns, kPanelRows);
  x = memory.ensure(static_cast<size_t>(rows * stride));
  tiles = {nullptr, rows, columns, tile_rows};
  fine = tiles;
  if (columns % kBlockColumns != 0) return;
  tiles.data = tile_memory.ensure(ActivationTiles::bytes(rows, columns));
  if (with_fine) fine.data = fine_memory.ensure(ActivationTiles::bytes(rows, columns));
}

}  // namespace inferens
