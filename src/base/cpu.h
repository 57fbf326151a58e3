// What the processor we run on can do beyond its baseline.
//
// This is the one door through which the core learns something of its machine: cpu.cc is the
// documented exception to "no OS header in base, wire and nic" (it reads the capability word that
// the kernel hands to every process at start; on x86-64 it asks the processor itself). The answer
// chooses between implementations of one function, never between results.
#pragma once

namespace nerve {

struct CpuFeatures {
  bool arm64_crc32{};  // CRC32X and its narrower sisters
  bool arm64_pmull{};  // 64-bit polynomial multiply
  bool x86_pclmul{};   // PCLMULQDQ
  bool x86_sse41{};
};

[[nodiscard]] CpuFeatures cpu_features();

}  // namespace nerve
