// The hash of a QP's packets, by which ECMP switches choose their path.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "nic/ethernet/port.h"
#include "sim/core/ids.h"
#include "sim/fabric/path_choice.h"

namespace nerve::sim {

// Addresses, the UDP source port and the QP number of the receiver; `by_qp` false: only addresses.
[[nodiscard]] constexpr std::uint32_t flow_hash(NodeId from, NodeId to, bool by_qp,
                                                std::uint16_t source_port, Qpn theirs) {
  const std::uint32_t pair = mix(from.value(), to.value());
  return by_qp ? mix(mix(pair, source_port), theirs.value()) : pair;
}

// One direction of a QP.
struct QpEnds {
  NodeId from{};
  NodeId to{};
  Qpn mine{};
  Qpn theirs{};

  // With this flow label.
  [[nodiscard]] std::uint32_t hash(std::uint32_t label) const {
    return flow_hash(from, to, true, nic::source_port(label, mine, theirs), theirs);
  }
};

}  // namespace nerve::sim
