#include "host/gpu/gpu_range.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "host/diagnostics/log.h"

namespace nerve::host {
namespace {

using cuda::PointerAttribute;
using cuda::Status;

// The allocation that contains one address.
GpuLookup look_up(const cuda::Driver& driver, std::uint64_t address) {
  cuda::Context context{};
  unsigned memory_type{};
  unsigned managed{};
  int ordinal{-1};
  cuda::Address base{};
  std::size_t size{};
  unsigned long long buffer{};
  unsigned has_ipc_handle{};
  std::array attributes{PointerAttribute::kContext,    PointerAttribute::kMemoryType,
                        PointerAttribute::kIsManaged,  PointerAttribute::kDeviceOrdinal,
                        PointerAttribute::kRangeStart, PointerAttribute::kRangeSize,
                        PointerAttribute::kBufferId,   PointerAttribute::kHasIpcHandle};
  std::array<void*, attributes.size()> values{&context, &memory_type, &managed, &ordinal,
                                              &base,    &size,        &buffer,  &has_ipc_handle};
  const Status asked =
      driver.pointer_get_attributes(attributes.size(), attributes.data(), values.data(), address);
  // A program that has not initialised CUDA has no GPU memory.
  if (asked == Status::kNotInitialized || asked == Status::kInvalidValue) return {};
  if (asked != Status::kSuccess)
    return {.finding = GpuFinding::kFailed, .range = {}, .status = asked};
  if (memory_type != cuda::kMemoryTypeDevice || managed != 0) return {};
  if (size == 0) return {};
  if (context == nullptr) {
    // Memory from cuMemCreate() or from a pool belongs to a device, not to a context. Any context
    // of the device can copy it. The reference to the primary one is kept for as long as the
    // process lives.
    cuda::Device device{};
    Status got = driver.device_get(&device, ordinal);
    if (got == Status::kSuccess) got = driver.device_primary_ctx_retain(&context, device);
    if (got != Status::kSuccess)
      return {.finding = GpuFinding::kFailed, .range = {}, .status = got};
  }
  return {.finding = GpuFinding::kGpu,
          .range = {.context = context,
                    .device = ordinal,
                    .base = base,
                    .size = size,
                    .buffer = buffer,
                    .has_ipc_handle = has_ipc_handle != 0},
          .status = Status::kSuccess};
}

std::uint64_t page_mask() {
  static const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return size - 1;
}

// Whether the pages of the allocation contain the range.
bool contains(const GpuRange& allocation, std::uint64_t address, std::uint64_t length) {
  const std::uint64_t first = allocation.base & ~page_mask();
  const std::uint64_t last = (allocation.base + allocation.size - 1) | page_mask();
  return address >= first && address <= last && length <= last - address + 1;
}

}  // namespace

const cuda::Driver* gpu_driver() {
  return cuda::loaded_driver([](const char* function) {
    log(LogLevel::kWarn, "libcuda.so.1 has no %s: GPU memory cannot be registered", function);
  });
}

GpuLookup find_gpu_memory(const cuda::Driver& driver, std::uint64_t address, std::uint64_t length) {
  const GpuLookup at_begin = look_up(driver, address);
  if (at_begin.finding == GpuFinding::kFailed) return at_begin;
  const bool is_gpu = at_begin.finding == GpuFinding::kGpu;
  if (length == 0 || (is_gpu && contains(at_begin.range, address, length))) return at_begin;
  // Rounded down to a page, the range begins in the allocation before.
  const std::uint64_t in_first_page = address + std::min(~address & page_mask(), length - 1);
  const GpuLookup in_page = look_up(driver, in_first_page);
  if (in_page.finding == GpuFinding::kGpu && contains(in_page.range, address, length)) {
    return in_page;
  }
  if (!is_gpu) return {};
  return {.finding = GpuFinding::kCrosses, .range = at_begin.range, .status = Status::kSuccess};
}

}  // namespace nerve::host
