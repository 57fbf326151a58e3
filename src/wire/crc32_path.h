// The implementations of crc32(): one file each. The fastest one that the processor supports is
// selected on first use.
//
// Tests and benchmarks iterate over crc32_paths() and call the implementations directly. A program
// may also force one with crc32_select(), for example to find out whether a fault is in the
// hardware path.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace nerve::wire {

struct Crc32Path {
  const char* name;
  std::uint32_t (*sum)(std::uint32_t state, const std::byte* from, std::size_t count);
  std::uint32_t (*copy)(std::uint32_t state, std::byte* to, const std::byte* from,
                        std::size_t count);
};

extern const Crc32Path kCrc32Portable;  // sixteen bytes per step from tables; runs everywhere
#if defined(__aarch64__)
extern const Crc32Path kCrc32Arm64;  // PMULL folds 128 bytes per step, CRC32X handles the rest
#elif defined(__x86_64__)
extern const Crc32Path kCrc32X86;  // PCLMULQDQ folds 64 bytes per step
#endif

// The implementations that this machine can run, fastest first; unused entries are null.
[[nodiscard]] std::array<const Crc32Path*, 2> crc32_paths();

// Selects the implementation that crc32() and crc32_copy() use from now on. Safe at any time from
// any thread, since all implementations agree.
void crc32_select(const Crc32Path& path);
[[nodiscard]] const Crc32Path& crc32_selected();

}  // namespace nerve::wire
