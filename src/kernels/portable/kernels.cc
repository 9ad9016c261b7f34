// The kernels of this instruction set: the templates of kernels/inl/ over its vocabulary.
#include "kernels/inl/table.h"
#include "kernels/portable/simd.h"

namespace inferens::portable {

const KernelTable& kernels() {
  static const KernelTable table = inl::make_table<Simd>(Isa::kPortable);
  return table;
}

}  // namespace inferens::portable
