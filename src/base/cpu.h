// The instruction set extensions of this processor.
//
// Only cpu.cc may query the machine: it is the documented exception to "no OS header in base, wire
// and nic". On arm64 it reads the capability word that the kernel passes to every process at start;
// on x86-64 it asks the processor itself. The answer selects between implementations of one
// function and never changes a result.
#pragma once

namespace nerve {

struct CpuFeatures {
  bool arm64_crc32{};  // CRC32X and its narrower variants
  bool arm64_pmull{};  // 64-bit polynomial multiply
  bool x86_pclmul{};   // PCLMULQDQ
  bool x86_sse41{};
  bool aes{};  // on either
};

[[nodiscard]] CpuFeatures cpu_features();

}  // namespace nerve
