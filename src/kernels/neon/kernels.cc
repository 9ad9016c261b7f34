// The kernels of this instruction set: the templates of kernels/inl/ over its vocabulary.
#include "kernels/inl/table.h"
#include "kernels/neon/simd.h"

namespace inferens::neon {

const KernelTable& kernels() {
  static const KernelTable table = inl::make_table<Simd>(Isa::kNeonDot);
  return table;
}

}  // namespace inferens::neon
