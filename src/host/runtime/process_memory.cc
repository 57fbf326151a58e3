#include "host/runtime/process_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

namespace nerve::host {
namespace {

std::uintptr_t page_size() {
  static const auto size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

// Kernels before 5.14 do not know the advice, and report that like missing rights, with EINVAL.
bool can_populate() {
  static const bool can = [] {
    const int here = 0;
    const auto page = reinterpret_cast<std::uintptr_t>(&here) & ~(page_size() - 1);
    return ::madvise(reinterpret_cast<void*>(page), page_size(), MADV_POPULATE_READ) == 0;
  }();
  return can;
}

}  // namespace

bool is_mapped(const void* address, std::size_t length) {
  const std::uintptr_t page = page_size();
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (length == 0) return true;
  if (begin + (length - 1) < begin) return false;
  std::array<unsigned char, 4096> resident;  // filled by the kernel, one byte per page; not used
  std::uintptr_t at = begin & ~(page - 1);
  for (std::size_t left = (begin + (length - 1) - at) / page + 1; left > 0;) {
    const std::size_t pages = std::min(left, resident.size());
    if (::mincore(reinterpret_cast<void*>(at), pages * page, resident.data()) != 0) {
      return errno != ENOMEM;  // other errors do not mean that it is unmapped
    }
    at += pages * page;
    left -= pages;
  }
  return true;
}

bool ProcessPager::fault_in(std::uint64_t address, std::uint64_t length, bool for_write) {
  if (length == 0) return true;
  const std::uintptr_t page = page_size();
  const std::uintptr_t begin = address & ~(page - 1);
  const std::uintptr_t end = (address + (length - 1)) | (page - 1);
  if (end < begin) return false;
  const int advice = for_write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
  if (::madvise(reinterpret_cast<void*>(begin), end - begin + 1, advice) == 0) return true;
  // mincore finds holes, but not missing rights.
  return !can_populate() && is_mapped(reinterpret_cast<const void*>(address), length);
}

}  // namespace nerve::host
