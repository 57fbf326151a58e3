// Which peers' packets are sealed: the settings `seal` and `seal_networks`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "wire/gid.h"

namespace nerve::host {

enum class SealMode : std::uint8_t {
  kOff,
  kPrefer,   // sealed if the peer does it too, otherwise plain
  kRequire,  // sealed or not at all
};

// Addresses that begin with the first `bits` bits of `base`; IPv4 addresses are mapped, as in a
// GID.
struct SealNetwork {
  wire::Gid base{};
  unsigned bits{};
  SealMode mode{};
  friend bool operator==(const SealNetwork&, const SealNetwork&) = default;
};

struct SealPolicy {
  SealMode mode{SealMode::kOff};
  std::vector<SealNetwork> networks;
  friend bool operator==(const SealPolicy&, const SealPolicy&) = default;

  // That of the longest network with this address, otherwise `mode`.
  [[nodiscard]] SealMode mode_for(const wire::Gid& peer) const;
  [[nodiscard]] bool must_seal(const wire::Gid& peer) const {
    return mode_for(peer) == SealMode::kRequire;
  }
  // True if some peer's packets may be sealed.
  [[nodiscard]] bool any() const;
};

// "10.0.0.1" or "fd00::1".
[[nodiscard]] std::optional<wire::Gid> parse_address(std::string_view text);
[[nodiscard]] std::optional<SealMode> parse_seal_mode(std::string_view text);
// "10.0.0.0/8=require,fd00::/16=prefer,10.9.0.1=off".
[[nodiscard]] std::optional<std::vector<SealNetwork>> parse_seal_networks(std::string_view text);

}  // namespace nerve::host
