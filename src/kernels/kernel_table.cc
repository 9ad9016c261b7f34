#include "kernels/kernel_table.h"

#include <algorithm>
#include <string>

namespace inferens {

namespace portable { const KernelTable& kernels(); }
#if defined(__x86_64__)
namespace avx2 { const KernelTable& kernels(); }
namespace avxvnni { const KernelTable& kernels(); }
namespace avx512 { const KernelTable& kernels(); }
namespace amx { const KernelTable& kernels(); }
#elif defined(__aarch64__)
namespace neon { const KernelTable& kernels(); }
#endif

StatusOr<const KernelTable*> kernels_for(Isa isa) {
  const auto& have = available_isas();
  if (std::find(have.begin(), have.end(), isa) == have.end()) {
    return unsupported("this CPU does not offer the instruction set " + std::string(isa_name(isa)));
  }
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2: return &avx2::kernels();
    case Isa::kAvxVnni: return &avxvnni::kernels();
    case Isa::kAvx512: return &avx512::kernels();
    case Isa::kAmx: return &amx::kernels();
#elif defined(__aarch64__)
    case Isa::kNeonDot: return &neon::kernels();
#endif
    default: return &portable::kernels();
  }
}

}  // namespace inferens
