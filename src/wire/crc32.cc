#include "wire/crc32.h"

#include <atomic>

#include "base/check.h"
#include "base/cpu.h"
#include "wire/crc32_path.h"

namespace nerve::wire {
namespace {

// Null until the first call. Threads that race here store the same pointer to a constant, so
// relaxed ordering is sufficient.
constinit std::atomic<const Crc32Path*> selected{nullptr};

[[gnu::cold, gnu::noinline]] const Crc32Path& select_fastest() {
  const Crc32Path* fastest = crc32_paths()[0];
  const Crc32Path* chosen_meanwhile = nullptr;
  // A concurrent crc32_select() takes precedence.
  if (selected.compare_exchange_strong(chosen_meanwhile, fastest, std::memory_order_relaxed)) {
    return *fastest;
  }
  return *chosen_meanwhile;
}

}  // namespace

std::array<const Crc32Path*, 2> crc32_paths() {
  [[maybe_unused]] const CpuFeatures cpu = cpu_features();
#if defined(__aarch64__)
  if (cpu.arm64_crc32 && cpu.arm64_pmull) return {&kCrc32Arm64, &kCrc32Portable};
#elif defined(__x86_64__)
  if (cpu.x86_pclmul && cpu.x86_sse41) return {&kCrc32X86, &kCrc32Portable};
#endif
  return {&kCrc32Portable, nullptr};
}

void crc32_select(const Crc32Path& path) { selected.store(&path, std::memory_order_relaxed); }

const Crc32Path& crc32_selected() {
  const Crc32Path* path = selected.load(std::memory_order_relaxed);
  return path != nullptr ? *path : select_fastest();
}

std::uint32_t crc32(std::uint32_t state, Bytes data) {
  return crc32_selected().sum(state, data.data(), data.size());
}

std::uint32_t crc32_copy(std::uint32_t state, MutableBytes to, Bytes from) {
  CHECK(to.size() >= from.size());
  return crc32_selected().copy(state, to.data(), from.data(), from.size());
}

}  // namespace nerve::wire
