// What diagnostics show of a QP.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/rate.h"
#include "nic/attributes.h"
#include "wire/frame.h"
#include "wire/gid.h"

namespace nerve::nic {

struct QpGlance {
  Qpn qpn{};
  QpType type{};
  QpState state{};
  Qpn peer{};                // connected QPs, once they know it; else zero
  wire::Gid destination{};   // likewise
  std::optional<Rate> rate;  // what congestion control allows; none: it has none
};

// Between which addresses a connected QP sends.
struct QpRoute {
  wire::Gid source{};
  wire::Gid destination{};
  Qpn peer{};       // zero until the QP knows it
  bool answered{};  // the peer has acknowledged something
};

// The flow of a connected QP in RTR (its ACKs) or RTS, and what it has sent so far.
struct QpFlow {
  Qpn qpn{};
  Qpn peer{};
  wire::Flow flow{};
  // Payload of its requests and of its answers to READs, retransmissions included. An answer counts
  // when its last packet has been sent.
  std::uint64_t bytes_sent{};
  std::uint64_t packets_retransmitted{};
};

// Some of them, and where to go on; none: these were the last ones.
struct QpFlows {
  std::vector<QpFlow> flows;
  std::optional<std::uint32_t> next;
};

// A controller of paths cannot slow a QP down further than this.
inline constexpr Rate kLeastSteeredRate = Rate::megabits(10);

// What it wants of a QP.
struct FlowSteering {
  std::uint16_t source_port{};  // of its packets, 49152 or higher; zero: as it is
  Rate rate_limit{};            // zero: none
};

}  // namespace nerve::nic
