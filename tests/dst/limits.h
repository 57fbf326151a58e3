// The parts of a world that are left out. A seed draws everything as before, so that what remains
// is unchanged; the shrinker uses this to find a minimal failing world.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace nerve::dst {

// Parts of a world that can be switched off one by one.
enum class Part : std::uint8_t {
  kLoss,
  kDuplication,
  kReordering,
  kCorruption,
  kMarking,
  kJitter,
  kBlackout,
  kOutage,
  kDisturbance,  // QPs moved to ERR or RESET, destroyed, or deprived of a region while in use
  kDatagrams,
  kCount,
};

[[nodiscard]] constexpr std::string_view name_of(Part part) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(Part::kCount)> kNames{
      "loss",   "duplication", "reordering", "corruption",  "marking",
      "jitter", "blackout",    "outage",     "disturbance", "datagrams"};
  return kNames[static_cast<std::size_t>(part)];
}

struct Limits {
  static constexpr std::uint32_t kConnections = 32;  // that can be left out one by one

  std::uint32_t parts_off{};        // a bit for each Part
  std::uint32_t connections_off{};  // a bit for each of the first 32 connections
  std::uint32_t requests{~0U};      // of each connection
  std::uint32_t lives{~0U};

  [[nodiscard]] bool off(Part part) const {
    return (parts_off >> static_cast<unsigned>(part) & 1U) != 0;
  }
  [[nodiscard]] bool without_connection(std::size_t i) const {
    return i < kConnections && (connections_off >> i & 1U) != 0;
  }
  friend bool operator==(const Limits&, const Limits&) = default;
};

// "2 connections left out, at most 3 requests and 1 life each, no loss, no outage".
[[nodiscard]] std::string describe(const Limits& limits);

}  // namespace nerve::dst
