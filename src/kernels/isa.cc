#include "kernels/isa.h"

#include <string>

#include "base/environment.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace inferens {
namespace {

#if defined(__x86_64__)
// AMX tile data must be asked of the Linux kernel once per process (arch_prctl ARCH_REQ_XCOMP_PERM, feature 18).
bool request_amx_permission() {
  constexpr int kArchReqXcompPerm = 0x1023;
  constexpr int kXfeatureXtiledata = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtiledata) == 0;
}

bool cpu_has_amx() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kAmxBf16 = 1u << 22, kAmxTile = 1u << 24, kAmxInt8 = 1u << 25;
  return (d & kAmxBf16) && (d & kAmxTile) && (d & kAmxInt8);
}

bool cpu_has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & (1u << 4)) != 0;
}
#endif

std::vector<Isa> detect() {
  std::vector<Isa> found = {Isa::kPortable};
#if defined(__x86_64__)
  __builtin_cpu_init();
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
  if (avx2) found.push_back(Isa::kAvx2);
  if (avx2 && cpu_has_avx_vnni()) found.push_back(Isa::kAvxVnni);
  if (avx512) found.push_back(Isa::kAvx512);
  if (avx512 && cpu_has_amx() && request_amx_permission()) found.push_back(Isa::kAmx);
#elif defined(__aarch64__)
  if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) found.push_back(Isa::kNeonDot);
#endif
  return found;
}

}  // namespace

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::kPortable: return "portable";
    case Isa::kAvx2: return "avx2";
    case Isa::kAvxVnni: return "avx_vnni";
    case Isa::kAvx512: return "avx512_vnni";
    case Isa::kAmx: return "amx";
    case Isa::kNeonDot: return "neon_dot";
  }
  return "unknown";
}

const std::vector<Isa>& available_isas() {
  static const std::vector<Isa> isas = detect();
  return isas;
}

StatusOr<Isa> choose_isa() {
  auto wanted = forced_isa();
  if (!wanted) return available_isas().back();
  std::string names;
  for (Isa isa : available_isas()) {
    if (isa_name(isa) == *wanted) return isa;
    names += names.empty() ? "" : ", ";
    names += isa_name(isa);
  }
  return invalid_argument("INFERENS_ISA='" + *wanted + "' is not offered by this machine; it has: " + names);
}

}  // namespace inferens
