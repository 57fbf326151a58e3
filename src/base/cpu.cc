#include "base/cpu.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace nerve {

CpuFeatures cpu_features() {
  CpuFeatures features;
#if defined(__aarch64__) && defined(__linux__)
  const unsigned long capabilities = getauxval(AT_HWCAP);
  features.arm64_crc32 = (capabilities & HWCAP_CRC32) != 0;
  features.arm64_pmull = (capabilities & HWCAP_PMULL) != 0;
  features.aes = (capabilities & HWCAP_AES) != 0;
#elif defined(__x86_64__)
  features.x86_pclmul = __builtin_cpu_supports("pclmul") != 0;
  features.x86_sse41 = __builtin_cpu_supports("sse4.1") != 0;
  features.aes = __builtin_cpu_supports("aes") != 0;
#endif
  return features;
}

}  // namespace nerve
