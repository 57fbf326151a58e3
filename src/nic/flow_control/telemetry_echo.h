// The telemetry that switches wrote into the peer's newest request, to be returned with the ACK.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "wire/frame.h"

namespace nerve::nic {

class TelemetryEcho {
 public:
  static constexpr std::size_t kMaxHops = 8;  // further hops are dropped

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
