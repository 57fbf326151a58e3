#include "tests/bad_days/worlds/memory.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace worlds {
namespace {

constexpr std::array<std::size_t, kZones> kSizes{65'536, 262'144, 393'216, 262'144};

}  // namespace

Memory::Memory(std::uint64_t seed) : initial_(total()) {
  nerve::Prng prng{seed};
  for (std::size_t at = 0; at < initial_.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = prng.next();
    std::memcpy(&initial_[at], &word, sizeof word);
  }
  planned_ = initial_;
}

std::size_t Memory::size(Zone zone) { return kSizes[static_cast<std::size_t>(zone)]; }

std::size_t Memory::start(Zone zone) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(zone); ++i) sum += kSizes[i];
  return sum;
}

std::size_t Memory::total() { return start(Zone::kCount); }

std::optional<std::size_t> Memory::take(Zone zone, std::size_t length, std::size_t align,
                                        nerve::Prng& prng) {
  constexpr std::size_t kLargestGap = 40;
  std::size_t& taken = taken_[static_cast<std::size_t>(zone)];
  const std::size_t at = (taken + prng.between(1, kLargestGap) + align - 1) / align * align;
  if (at + length > size(zone)) return std::nullopt;
  taken = at + length;
  return start(zone) + at;
}

void Memory::plan(std::size_t at, View bytes) {
  std::ranges::copy(bytes, planned_.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace worlds
