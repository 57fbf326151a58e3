// Registrations of the memory that collectives are called with, so that a tensor is registered
// once. Kept only where a registration survives a change of the memory map (on-demand paging, TCP);
// elsewhere a registration lasts for one call. Of GPU memory the last few are kept, for as long as
// their allocation exists: other memory may be allocated at its address later.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>

#include "ai/transport.h"

namespace nerve::ai {

class MemoryCache {
 public:
  static constexpr std::size_t kMost = 128;
  static constexpr std::size_t kMostOfGpus = 16;

  // `forget` is called before a registration is removed.
  MemoryCache(Transport& transport, std::function<void(const Registration&)> forget)
      : transport_{transport}, forget_{std::move(forget)} {}
  MemoryCache(const MemoryCache&) = delete;
  MemoryCache& operator=(const MemoryCache&) = delete;
  ~MemoryCache() {
    while (!entries_.empty()) drop_last();
  }

  // A registration that contains this memory. Valid until the next call of end_call().
  Result<const Registration*, Error> find_or_add(const Memory& memory, std::size_t length);
  // The end of a collective: removes what may not be kept.
  void end_call();

  // Memory of the user's buffers, which stays registered until it is removed. So does memory of
  // ours, whose lifetime is kFixed.
  Result<const Registration*, Error> add_buffer(const Memory& memory, std::size_t length,
                                                Lifetime lifetime = Lifetime::kMayChange);
  void remove_buffer(const Registration* buffer);

 private:
  struct Entry {
    std::unique_ptr<Registration> memory;
    bool buffer{};
  };
  void drop_last();
  void drop_freed();
  void drop(std::list<Entry>::iterator entry);

  Transport& transport_;
  std::function<void(const Registration&)> forget_;
  std::list<Entry> entries_;  // the most recently used first
  std::size_t of_gpus_{};     // entries of GPU memory that are not buffers
};

}  // namespace nerve::ai
