#include "kernels/limits.h"

#include "kernels/kernel_table.h"

namespace inferens {

namespace portable { const LimitLoops& limits(); }
#if defined(__x86_64__)
namespace avx2 { const LimitLoops& limits(); }
namespace avxvnni { const LimitLoops& limits(); }
namespace avx512 { const LimitLoops& limits(); }
namespace amx { const LimitLoops& limits(); }
#elif defined(__aarch64__)
namespace neon { const LimitLoops& limits(); }
#endif

StatusOr<const LimitLoops*> limits_for(Isa isa) {
  // Built in and offered where the kernels are.
  if (auto kernels = kernels_for(isa); !kernels.ok()) return kernels.status();
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAvx2: return &avx2::limits();
    case Isa::kAvxVnni: return &avxvnni::limits();
    case Isa::kAvx512: return &avx512::limits();
    case Isa::kAmx: return &amx::limits();
#elif defined(__aarch64__)
    case Isa::kNeonDot: return &neon::limits();
#endif
    default: return &portable::limits();
  }
}

}  // namespace inferens
