// The kernels of AMX machines: AVX-512 for everything, tiles where many rows meet a panel.
#include "kernels/kernel_table.h"

#include <utility>

#include "kernels/amx/tiles.h"

namespace inferens::avx512 {
const KernelTable& kernels();
}

namespace inferens::amx {

const KernelTable& kernels() {
  static const KernelTable table = [] {
    KernelTable t = avx512::kernels();
    t.isa = Isa::kAmx;
    [&]<int... f>(std::integer_sequence<int, f...>) {
      ((t.dot_panel_tiles[f] = dot_panel_tiles<static_cast<WeightFormat>(f)>), ...);
    }(std::make_integer_sequence<int, kIntegerFormats>());
    return t;
  }();
  return table;
}

}  // namespace inferens::amx
