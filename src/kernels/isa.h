// The instruction-set levels the kernels are built for, which of them this CPU has, and which one is used.
#pragma once

#include <string_view>
#include <vector>

#include "inferens/status.h"

namespace inferens {

// From plain to best on each kind of machine. A level implies those before it of the same kind.
enum class Isa {
  kPortable,    // plain C++: any machine, and the reference in tests
  kAvx2,        // AVX2, FMA, F16C
  kAvxVnni,     // the same with 256-bit VNNI
  kAvx512,      // AVX-512 F/BW/DQ/VL with VNNI
  kAmx,         // AVX-512 as above with AMX tiles (int8 and bf16)
  kNeonDot,     // aarch64 with dot products
};

std::string_view isa_name(Isa isa);  // "portable", "avx2", "avx_vnni", "avx512_vnni", "amx", "neon_dot"

// Built in and offered by this CPU and its kernel, best last.
const std::vector<Isa>& available_isas();

// INFERENS_ISA if set (an error when unknown or not offered here), else the best available.
StatusOr<Isa> choose_isa();

}  // namespace inferens
