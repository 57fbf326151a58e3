#include "ai/memory_cache.h"

#include <algorithm>
#include <iterator>

namespace nerve::ai {

void MemoryCache::drop(std::list<Entry>::iterator entry) {
  forget_(*entry->memory);
  transport_.remove_memory(*entry->memory);
  entries_.erase(entry);
}

void MemoryCache::drop_last() { drop(std::prev(entries_.end())); }

Result<const Registration*, Error> MemoryCache::find_or_add(const void* address,
                                                            std::size_t length) {
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (!entry->memory->contains(address, length)) continue;
    entries_.splice(entries_.begin(), entries_, entry);
    return entries_.front().memory.get();
  }
  auto made = transport_.add_memory(const_cast<void*>(address), length, Lifetime::kMayChange);
  if (!made) return passed_on(made);
  entries_.push_front({std::move(*made), false});
  return entries_.front().memory.get();
}

void MemoryCache::end_call() {
  const bool keep = transport_.memory_may_change();
  if (keep && entries_.size() <= kMost) return;
  std::size_t kept = 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (!entry->buffer && (!keep || ++kept > kMost)) drop(entry);
    entry = next;
  }
}

Result<const Registration*, Error> MemoryCache::add_buffer(void* address, std::size_t length) {
  auto made = transport_.add_memory(address, length, Lifetime::kMayChange);
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
