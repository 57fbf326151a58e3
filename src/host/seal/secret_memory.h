// Memory for keys: not written to swap (as far as the limit of locked memory allows), and not in
// core dumps. What is given back is overwritten before the kernel gets its pages.
//
// Children of fork() have a copy, which SealTable::leave() erases: destructors have to run there,
// so the kernel must not wipe the pages (MADV_WIPEONFORK).
#pragma once

#include <memory>
#include <memory_resource>
#include <utility>

namespace nerve::host {

// Whole pages of such memory.
class SecretPages final : public std::pmr::memory_resource {
 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

// Pieces of any size, for one thread at a time.
class SecretMemory {
 public:
  [[nodiscard]] std::pmr::memory_resource& resource() { return pool_; }

 private:
  SecretPages pages_;
  // Few blocks at once: a process may lock only so much.
  static constexpr std::pmr::pool_options kPool{.max_blocks_per_chunk = 16,
                                                .largest_required_pool_block = 8192};
  std::pmr::unsynchronized_pool_resource pool_{kPool, &pages_};
};

template <class T>
struct SecretDelete {
  std::pmr::memory_resource* memory{};
  void operator()(T* object) const {
    std::pmr::polymorphic_allocator<>{memory}.delete_object(object);
  }
};
// An object that lies in secret memory, which outlives it.
template <class T>
using SecretPtr = std::unique_ptr<T, SecretDelete<T>>;

template <class T, class... Arguments>
[[nodiscard]] SecretPtr<T> make_secret(SecretMemory& memory, Arguments&&... arguments) {
  std::pmr::polymorphic_allocator<> allocator{&memory.resource()};
  return {allocator.new_object<T>(std::forward<Arguments>(arguments)...), {&memory.resource()}};
}

}  // namespace nerve::host
