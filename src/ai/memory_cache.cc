#include "ai/memory_cache.h"

#include <algorithm>
#include <iterator>

namespace nerve::ai {

void MemoryCache::drop(std::list<Entry>::iterator entry) {
  forget_(*entry->memory);
  if (!entry->buffer && entry->memory->gpu != nullptr) --of_gpus_;
  transport_.remove_memory(*entry->memory);
  entries_.erase(entry);
}

void MemoryCache::drop_last() { drop(std::prev(entries_.end())); }

// Registrations of GPU memory that was freed: the memory is kept by some devices until then.
void MemoryCache::drop_freed() {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    const Registration& memory = *entry->memory;
    const bool freed =
        memory.gpu != nullptr && memory.gpu->allocation_at(memory.address) != memory.allocation;
    if (!entry->buffer && freed) drop(entry);
    entry = next;
  }
}

Result<const Registration*, Error> MemoryCache::find_or_add(const Memory& memory,
                                                            std::size_t length) {
  if (memory.gpu != nullptr) drop_freed();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    const Registration& known = *entry->memory;
    if (!known.contains(memory.data, length) || known.allocation != memory.allocation) continue;
    entries_.splice(entries_.begin(), entries_, entry);
    return entries_.front().memory.get();
  }
  auto made = transport_.add_memory(memory, length, Lifetime::kMayChange);
  if (!made) return passed_on(made);
  entries_.push_front({std::move(*made), false});
  if (memory.gpu != nullptr) ++of_gpus_;
  return entries_.front().memory.get();
}

void MemoryCache::end_call() {
  const bool keep = transport_.memory_may_change();
  if (keep && entries_.size() <= kMost && of_gpus_ <= kMostOfGpus) return;
  std::size_t kept = 0;
  std::size_t kept_of_gpus = 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (!entry->buffer) {
      const bool fits =
          entry->memory->gpu != nullptr ? ++kept_of_gpus <= kMostOfGpus : keep && ++kept <= kMost;
      if (!fits) drop(entry);
    }
    entry = next;
  }
}

Result<const Registration*, Error> MemoryCache::add_buffer(const Memory& memory, std::size_t length,
                                                           Lifetime lifetime) {
  auto made = transport_.add_memory(memory, length, lifetime);
  if (!made) return passed_on(made);
  entries_.push_front({std::move(*made), true});
  return entries_.front().memory.get();
}

void MemoryCache::remove_buffer(const Registration* buffer) {
  const auto entry =
      std::ranges::find_if(entries_, [&](const Entry& one) { return one.memory.get() == buffer; });
  if (entry != entries_.end()) drop(entry);
}

}  // namespace nerve::ai
