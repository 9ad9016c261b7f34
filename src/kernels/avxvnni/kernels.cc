// The kernels of this instruction set: the templates of kernels/inl/ over its vocabulary.
#define INFERENS_AVX2_NAMESPACE avxvnni
#include "kernels/avx2/simd.h"
#include "kernels/inl/table.h"

namespace inferens::avxvnni {

const KernelTable& kernels() {
  static const KernelTable table = inl::make_table<Simd>(Isa::kAvxVnni);
  return table;
}

}  // namespace inferens::avxvnni
