// The kernels of this instruction set: the templates of kernels/inl/ over its vocabulary.
#include "kernels/inl/table.h"
#include "kernels/avx512/simd.h"

namespace inferens::avx512 {

const KernelTable& kernels() {
  static const KernelTable table = inl::make_table<Simd>(Isa::kAvx512);
  return table;
}

}  // namespace inferens::avx512
