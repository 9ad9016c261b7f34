// The kernels of this instruction set: the templates of kernels/inl/ over its vocabulary.
#define INFERENS_AVX2_NAMESPACE avx2
#include "kernels/avx2/simd.h"
#include "kernels/inl/table.h"

namespace inferens::avx2 {

const KernelTable& kernels() {
  static const KernelTable table = inl::make_table<Simd>(Isa::kAvx2);
  return table;
}

}  // namespace inferens::avx2
