#include "host/gpu/gpu_memory.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "host/diagnostics/log.h"
#include "host/runtime/clock.h"

namespace nerve::host {
namespace {

constexpr Duration kLongestRemoval = std::chrono::seconds{5};

}  // namespace

GpuMemory::GpuMemory() = default;

GpuMemory::~GpuMemory() {
  if (left_) {
    for (const auto& area : areas_) area->staging->leave_to_parent();
  }
}

GpuMemory::Area* GpuMemory::area_for(const cuda::Driver& driver, cuda::Context context,
                                     cuda::Status& why) {
  // A context may have the address of one that was destroyed, whose area is dead.
  for (const auto& area : areas_) {
    if (area->staging->context() == context && !area->staging->dead()) return area.get();
  }
  auto made = GpuStaging::make(driver, context, why);
  if (!made) return nullptr;
  areas_.push_back(std::make_unique<Area>(std::move(made), writes_));
  return areas_.back().get();
}

GpuLookup GpuMemory::add(std::uint64_t address, std::uint64_t length) {
  const cuda::Driver* const driver = left_ ? nullptr : cuda::loaded_driver();
  if (driver == nullptr) return {};
  GpuLookup found = find_gpu_memory(*driver, address, length);
  if (found.finding != GpuFinding::kGpu) return found;
  const std::scoped_lock guard{mutex_};
  Area* const area = area_for(*driver, found.range.context, found.status);
  if (area == nullptr) {
    found.finding = GpuFinding::kFailed;
    return found;
  }
  const auto place = std::ranges::lower_bound(regions_, address, {}, &Region::address);
  for (auto same = place; same != regions_.end() && same->address == address; ++same) {
    if (same->length != length) continue;
    same->area = area;
    ++same->uses;
    return found;
  }
  regions_.insert(place, {.address = address, .length = length, .area = area, .uses = 1});
  longest_ = std::max(longest_, length);
  return found;
}

void GpuMemory::remove(std::uint64_t address, std::uint64_t length) {
  if (left_) return;
  const Time limit = now() + kLongestRemoval;
  std::unique_lock guard{mutex_};
  const auto busy = [&] {
    return writes_.busy(address, length) || std::ranges::any_of(areas_, [&](const auto& area) {
             return area->windows.busy(address, length);
           });
  };
  while (busy() && now() < limit) {
    guard.unlock();
    ::sched_yield();
    guard.lock();
  }
  const auto found = std::ranges::find_if(regions_, [&](const Region& region) {
    return region.address == address && region.length == length;
  });
  if (found != regions_.end() && --found->uses == 0) regions_.erase(found);
}

// Regions may overlap. Those that contain an address begin at most the longest length before it.
GpuMemory::Area* GpuMemory::area_of(std::uint64_t address, std::uint64_t length) {
  if (last_found_ < regions_.size() && regions_[last_found_].contains(address, length)) {
    return regions_[last_found_].area;
  }
  auto at = std::ranges::upper_bound(regions_, address, {}, &Region::address);
  while (at != regions_.begin()) {
    --at;
    if (at->contains(address, length)) {
      last_found_ = static_cast<std::size_t>(at - regions_.begin());
      return at->area;
    }
    if (address - at->address > longest_) break;
  }
  return nullptr;
}

LateMemory::Fetched GpuMemory::fetch(const Wanted& wanted) {
  if (left_) return {Progress::kFailed, nullptr};
  const std::scoped_lock guard{mutex_};
  Area* const area = area_of(wanted.address, wanted.length);
  if (area == nullptr) return {Progress::kFailed, nullptr};
  return area->windows.fetch(wanted, now());
}

void GpuMemory::release(const void* engine) {
  if (left_) return;
  const std::scoped_lock guard{mutex_};
  for (const auto& area : areas_) area->windows.release(engine);
}

void GpuMemory::write(std::uint64_t address, Bytes from) {
  if (left_) return;
  const std::scoped_lock guard{mutex_};
  Area* const area = area_of(address, from.size());
  if (area == nullptr || area->staging->dead()) return writes_.fail();
  writes_.write(*area->staging, address, from);
}

LateMemory::Ticket GpuMemory::written() const {
  if (left_) return 0;
  const std::scoped_lock guard{mutex_};
  return writes_.written();
}

LateMemory::Progress GpuMemory::landed(Ticket after, Ticket last) {
  if (left_) return Progress::kFailed;
  const std::scoped_lock guard{mutex_};
  return writes_.landed(after, last);
}

void GpuMemory::read(std::uint64_t address, MutableBytes into) {
  std::ranges::fill(into, std::byte{});
  if (left_) return;
  const std::scoped_lock guard{mutex_};
  Area* const area = area_of(address, into.size());
  if (area == nullptr) return writes_.fail();
  writes_.begin_collected();
  const std::span<std::byte> words = area->staging->words();
  for (std::size_t done = 0; done < into.size();) {
    const std::size_t part = std::min(words.size(), into.size() - done);
    if (!area->staging->read_now(words.data(), address + done, part)) return writes_.fail();
    std::memcpy(into.data() + done, words.data(), part);
    done += part;
  }
}

template <class Change>
std::uint64_t GpuMemory::change_word(std::uint64_t address, Change change) {
  if (left_) return 0;
  const std::scoped_lock guard{mutex_};
  std::uint64_t word = 0;
  Area* const area = area_of(address, sizeof word);
  if (area == nullptr) {
    writes_.fail();
    return 0;
  }
  writes_.begin_collected();
  GpuStaging& staging = *area->staging;
  std::byte* const buffer = staging.words().data();
  if (!staging.read_now(buffer, address, sizeof word)) {
    writes_.fail();
    return 0;
  }
  std::memcpy(&word, buffer, sizeof word);
  const std::uint64_t changed = change(word);
  if (changed != word) {
    std::memcpy(buffer, &changed, sizeof changed);
    if (!staging.write_now(address, buffer, sizeof changed)) writes_.fail();
  }
  return word;
}

std::uint64_t GpuMemory::compare_swap(std::uint64_t address, std::uint64_t expected,
                                      std::uint64_t desired) {
  return change_word(address,
                     [&](std::uint64_t word) { return word == expected ? desired : word; });
}

std::uint64_t GpuMemory::fetch_add(std::uint64_t address, std::uint64_t addend) {
  return change_word(address, [&](std::uint64_t word) { return word + addend; });
}

void GpuMemory::store_word(std::uint64_t address, std::uint64_t value) {
  (void)change_word(address, [&](std::uint64_t /*word*/) { return value; });
}

}  // namespace nerve::host
