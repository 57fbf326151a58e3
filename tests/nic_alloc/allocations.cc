#include "tests/nic_alloc/allocations.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::uint64_t g_allocations = 0;

void* counted(std::size_t size, std::size_t alignment) {
  ++g_allocations;
  // aligned_alloc requires a multiple of the alignment.
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

std::uint64_t nerve::test::allocations() { return g_allocations; }

// The array and nothrow forms of the standard library call these; a sanitizer's nothrow form does
// not.
void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
