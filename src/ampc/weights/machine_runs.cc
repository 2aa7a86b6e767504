// What Highway asks of a machine before it runs code for a target (HWY_TARGET_STR in its set_macros-inl.h).
#include <hwy/detect_targets.h>

#include "ampc/weights/kernel_table.h"

#if HWY_ARCH_X86
#include <cpuid.h>

namespace ampc::weights {

bool machine_runs(std::int64_t target) {
  __builtin_cpu_init();
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  const bool ssse3 = __builtin_cpu_supports("ssse3");
  const bool sse4 = ssse3 && __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
                    __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("aes");
  const bool avx2 = sse4 && f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  switch (target) {
    case HWY_SSSE3:
      return ssse3;
    case HWY_SSE4:
      return sse4;
    case HWY_AVX2:
      return avx2;
    case HWY_AVX3:
      return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    default:
      return target == HWY_STATIC_TARGET;  // what the compiler may use anywhere
  }
}

}  // namespace ampc::weights
#endif
