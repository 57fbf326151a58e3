// What switches wrote into the newest request of a peer, for the ACK to take back to it.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "wire/frame.h"

namespace nerve::nic {

class TelemetryEcho {
 public:
  static constexpr std::size_t kMaxHops = 8;  // of more, the first are kept

  void keep(std::span<const wire::HopTelemetry> hops) {
    count_ = std::min(hops.size(), kMaxHops);
    std::ranges::copy(hops.first(count_), hops_.begin());
  }
  [[nodiscard]] std::span<const wire::HopTelemetry> hops() const { return {hops_.data(), count_}; }

 private:
  std::array<wire::HopTelemetry, kMaxHops> hops_{};
  std::size_t count_{};
};

}  // namespace nerve::nic
