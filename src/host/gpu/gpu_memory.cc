#include "host/gpu/gpu_memory.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstring>

#include "host/diagnostics/log.h"
#include "host/gpu/cuda_copies.h"
#include "host/runtime/clock.h"

namespace nerve::host {
namespace {

constexpr Duration kLongestRemoval = std::chrono::seconds{5};

}  // namespace

GpuMemory::GpuMemory(std::string copier) : copier_{std::move(copier)} {}

GpuMemory::~GpuMemory() {
  if (left_) {
    for (const auto& area : areas_) area->staging->leave_to_parent();
  }
}

GpuMemory::Area* GpuMemory::join_copier(const cuda::Driver& driver, int ordinal) {
  for (const auto& area : areas_) {
    if (area->copier != nullptr && area->device == ordinal && !area->staging->dead()) {
      return area.get();
    }
  }
  cuda::Device device{};
  cuda::Uuid uuid{};
  if (driver.device_get(&device, ordinal) != cuda::Status::kSuccess ||
      driver.sharing->device_get_uuid(&uuid, device) != cuda::Status::kSuccess) {
    return nullptr;
  }
  std::string why;
  std::unique_ptr<CopierClient> joined = CopierClient::join(uuid, copier_, why);
  if (!joined) {
    // Programs register memory often, and the reason will be the same.
    copier_failed_ = true;
    log(LogLevel::kWarn,
        "gpu memory: the GPU copier cannot be used (%s); copies are made in this process, and a "
        "program that waits for RDMA inside a CUDA call can block for ever",
        why.c_str());
    return nullptr;
  }
  CopierClient* const copier = joined.get();
  auto staging = std::make_unique<GpuStaging>(std::move(joined), copier->staging());
  const std::scoped_lock guard{mutex_};
  areas_.push_back(std::make_unique<Area>(std::move(staging), writes_));
  areas_.back()->copier = copier;
  areas_.back()->device = ordinal;
  return areas_.back().get();
}

GpuMemory::Area* GpuMemory::copier_for(const cuda::Driver& driver, const GpuRange& allocation) {
  if (copier_.empty() || copier_failed_ || driver.sharing == nullptr) return nullptr;
  Area* const area = join_copier(driver, allocation.device);
  if (area == nullptr) return nullptr;
  std::string why;
  if (area->copier->import(driver, allocation, why)) return area;
  log(LogLevel::kInfo,
      "gpu memory: 0x%" PRIx64 " with %" PRIu64 " bytes is copied in this process: %s",
      allocation.base, allocation.size, why.c_str());
  return nullptr;
}

GpuMemory::Area* GpuMemory::area_for(const cuda::Driver& driver, cuda::Context context,
                                     cuda::Status& why) {
  // A context may have the address of one that was destroyed, whose area is dead.
  for (const auto& area : areas_) {
    if (area->context == context && !area->staging->dead()) return area.get();
  }
  auto made = OwnCopies::make_staging(driver, context, why);
  if (!made) return nullptr;
  areas_.push_back(std::make_unique<Area>(std::move(made), writes_));
  areas_.back()->context = context;
  return areas_.back().get();
}

GpuLookup GpuMemory::add(std::uint64_t address, std::uint64_t length) {
  const cuda::Driver* const driver = left_ ? nullptr : gpu_driver();
  if (driver == nullptr) return {};
  GpuLookup found = find_gpu_memory(*driver, address, length);
  if (found.finding != GpuFinding::kGpu) return found;
  const std::scoped_lock adding{adding_};
  Area* area = copier_for(*driver, found.range);
  const std::scoped_lock guard{mutex_};
  if (area == nullptr) area = area_for(*driver, found.range.context, found.status);
  if (area == nullptr) {
    found.finding = GpuFinding::kFailed;
    return found;
  }
  const auto end = std::ranges::upper_bound(regions_, address, {}, &Region::address);
  for (auto same = std::ranges::lower_bound(regions_, address, {}, &Region::address); same != end;
       ++same) {
    if (same->length != length || same->area != area ||
        same->allocation.buffer != found.range.buffer) {
      continue;
    }
    ++same->uses;
    return found;
  }
  // The newest comes last, where it is found first: it is the one that exists, if its address was
  // used before.
  regions_.insert(
      end,
      {.address = address, .length = length, .area = area, .allocation = found.range, .uses = 1});
  longest_ = std::max(longest_, length);
  last_found_ = regions_.size();
  return found;
}

void GpuMemory::remove(std::uint64_t address, std::uint64_t length, std::uint64_t buffer) {
  if (left_) return;
  const Time limit = now() + kLongestRemoval;
  CopierClient* copier = nullptr;
  GpuRange allocation{};
  {
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
      return region.address == address && region.length == length &&
             region.allocation.buffer == buffer;
    });
    if (found == regions_.end()) return;
    copier = found->area->copier;
    allocation = found->allocation;
    if (--found->uses == 0) {
      regions_.erase(found);
      last_found_ = regions_.size();
    }
  }
  if (copier != nullptr) copier->forget(allocation);
}

std::optional<GpuMemory::Shared> GpuMemory::share(std::uint64_t address, std::uint64_t length) {
  if (left_) return std::nullopt;
  const std::scoped_lock guard{mutex_};
  const Region* const region = region_of(address, length);
  if (region == nullptr || region->area->copier == nullptr) return std::nullopt;
  const CopierClient& copier = *region->area->copier;
  const std::uint64_t there = copier.address_of(address);
  if (there == 0) return std::nullopt;
  return Shared{.copier = copier.identity(), .address = there};
}

bool GpuMemory::copy(Direction direction, std::uint64_t address, const Shared& other,
                     std::uint64_t length) {
  if (left_) return false;
  const std::scoped_lock guard{mutex_};
  const Region* const region = region_of(address, length);
  if (region == nullptr || region->area->copier == nullptr ||
      region->area->copier->identity() != other.copier || region->area->staging->dead()) {
    return false;
  }
  return writes_.copy(*region->area->staging, direction, address, other.address, length);
}

void GpuMemory::settle() {
  if (left_) return;
  std::vector<CopierClient*> all;
  {
    const std::scoped_lock guard{mutex_};
    for (const auto& area : areas_) {
      if (area->copier != nullptr) all.push_back(area->copier);
    }
  }
  // All connections are to one copier, unless one has ended.
  for (CopierClient* const copier : all) copier->settle();
}

// Regions may overlap. Those that contain an address begin at most the longest length before it.
const GpuMemory::Region* GpuMemory::region_of(std::uint64_t address, std::uint64_t length) {
  if (last_found_ < regions_.size() && regions_[last_found_].contains(address, length)) {
    return &regions_[last_found_];
  }
  auto at = std::ranges::upper_bound(regions_, address, {}, &Region::address);
  while (at != regions_.begin()) {
    --at;
    if (at->contains(address, length)) {
      last_found_ = static_cast<std::size_t>(at - regions_.begin());
      return &*at;
    }
    if (address - at->address > longest_) break;
  }
  return nullptr;
}

GpuMemory::Area* GpuMemory::area_of(std::uint64_t address, std::uint64_t length) {
  const Region* const region = region_of(address, length);
  return region != nullptr ? region->area : nullptr;
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
    if (!area->staging->read_words(address + done, part)) return writes_.fail();
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
  if (!staging.read_words(address, sizeof word)) {
    writes_.fail();
    return 0;
  }
  std::memcpy(&word, buffer, sizeof word);
  const std::uint64_t changed = change(word);
  if (changed != word) {
    std::memcpy(buffer, &changed, sizeof changed);
    if (!staging.write_words(address, sizeof changed)) writes_.fail();
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
