// The configuration of the two processes of a group of worlds: faults and other settings of the
// library, by seed.
#pragma once

#include <cstdint>
#include <string>

namespace worlds {

// Worlds that the same two processes run, one after the other.
inline constexpr std::uint64_t kGroup = 10;
[[nodiscard]] constexpr std::uint64_t first_of_group(std::uint64_t seed) {
  return (seed - 1) / kGroup * kGroup + 1;
}

struct Settings {
  std::string faults;  // without a seed; empty if there are none
  bool loses{};        // packets may be lost
  bool repeats{};      // packets may be duplicated or reordered
  bool udp{};          // the transport
  bool noise{};        // another thread of each process creates and destroys objects
  std::string ring_size;
  std::string congestion;
  std::string offloads;

  [[nodiscard]] std::string describe() const;
};

[[nodiscard]] Settings draw_settings(std::uint64_t first_seed, bool udp);
// Sets the variables that the library reads when it is first used.
void apply(const Settings& settings, std::uint64_t first_seed, std::uint64_t side);

}  // namespace worlds
