// The memory of one side of a world: what it holds at the beginning, what the plan makes of it, and
// which parts of it are taken. Both processes compute the memories of both sides from the seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/prng.h"

namespace worlds {

using Bytes = std::vector<std::byte>;
using View = std::span<const std::byte>;

// Each zone is a memory region with keys of its own.
enum class Zone : std::uint8_t {
  kStatic,  // is never written; the peer may READ it
  kOpen,    // the peer may do everything
  kLocal,   // results of READs, sources that are reused; the peer may do nothing
  kReceive,
  kCount,
};
inline constexpr std::size_t kZones = static_cast<std::size_t>(Zone::kCount);

class Memory {
 public:
  explicit Memory(std::uint64_t seed);

  [[nodiscard]] static std::size_t start(Zone zone);
  [[nodiscard]] static std::size_t size(Zone zone);
  [[nodiscard]] static std::size_t total();

  // Memory that nothing else uses, behind a random gap; nothing when the zone is full.
  [[nodiscard]] std::optional<std::size_t> take(Zone zone, std::size_t length, std::size_t align,
                                                nerve::Prng& prng);
  [[nodiscard]] const Bytes& initial() const { return initial_; }
  // As it is after all requests that were planned so far.
  [[nodiscard]] View planned(std::size_t at, std::size_t length) const {
    return View{planned_}.subspan(at, length);
  }
  void plan(std::size_t at, View bytes);

 private:
  Bytes initial_;
  Bytes planned_;
  std::size_t taken_[kZones]{};
};

}  // namespace worlds
