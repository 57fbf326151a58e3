// The implementations behind crc32(): one file each, chosen when first needed by what the
// processor can do.
//
// Tests and benchmarks walk crc32_paths() and call the paths by hand. A program may also insist on
// one with crc32_select(), for example to find out whether a fault is in the hardware path.
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

extern const Crc32Path kCrc32Portable;  // sixteen bytes a step from tables; runs everywhere
#if defined(__aarch64__)
extern const Crc32Path kCrc32Arm64;  // PMULL folds 128 bytes a step, CRC32X does the rest
#elif defined(__x86_64__)
extern const Crc32Path kCrc32X86;  // PCLMULQDQ folds 64 bytes a step
#endif

// What this machine can run, fastest first; unused places are null.
[[nodiscard]] std::array<const Crc32Path*, 2> crc32_paths();

// Which path crc32() and crc32_copy() take from now on. Safe at any time from any thread, since all
// paths agree.
void crc32_select(const Crc32Path& path);
[[nodiscard]] const Crc32Path& crc32_selected();

}  // namespace nerve::wire
