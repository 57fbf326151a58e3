// The memory of one side of a world: its initial contents, its contents according to the plan, and
// which parts are allocated. Both processes compute the memories of both sides from the seed.
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

// Each zone is a memory region with its own keys.
enum class Zone : std::uint8_t {
  kStatic,  // never written; the peer may READ it
  kOpen,    // the peer has all rights
  kLocal,   // results of READs, reused sources; the peer has no rights
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

  // Allocates memory after a random gap; nothing if the zone is full.
  [[nodiscard]] std::optional<std::size_t> take(Zone zone, std::size_t length, std::size_t align,
                                                nerve::Prng& prng);
  [[nodiscard]] const Bytes& initial() const { return initial_; }
  // The contents after all requests planned so far.
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
