// One entry of a rights table, as words that one process writes while others read them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "link/shm/rights_table.h"

namespace nerve::link::shm {

struct RightsContents {
  static constexpr std::size_t kWords = 5;
  std::array<std::uint64_t, kWords> words{};
};

// Accessed in place; both sides see the same 64 bytes.
struct RightsEntry {
  std::atomic<std::uint64_t> version;
  std::atomic<std::uint64_t> name;
  std::array<std::atomic<std::uint64_t>, RightsContents::kWords> contents;
  std::uint64_t unused;
};
static_assert(sizeof(RightsEntry) == kRightsEntrySize);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

inline constexpr std::uint64_t kRightsMagic = 0x3230'7374'6867'6972;  // "rights02"
inline constexpr std::size_t kRightsProbe = 16;

// Names are never zero, because zero marks an empty entry.
constexpr std::uint64_t rights_name(std::uint32_t number) {
  return std::uint64_t{1} << 32U | number;
}
constexpr std::size_t rights_place(std::uint64_t name, std::size_t step) {
  return ((name * 0x9e37'79b9'7f4a'7c15 >> 40U) + step) % kRightsEntries;
}

}  // namespace nerve::link::shm
