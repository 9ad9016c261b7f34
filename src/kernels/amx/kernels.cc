// The kernels of AMX machines: AVX-512 for everything, tiles where many rows meet a panel.
#include "kernels/kernel_table.h"

namespace inferens::avx512 {
const KernelTable& kernels();
}

namespace inferens::amx {

const KernelTable& kernels() {
  static const KernelTable table = [] {
    KernelTable t = avx512::kernels();
    t.isa = Isa::kAmx;
    return t;
  }();
  return table;
}

}  // namespace inferens::amx
