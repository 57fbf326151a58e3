// How the NICs of a network send messages, as far as flows need it: the bytes around the payload,
// the path hash, the costs of a TCP host.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "sim/scenario/host_spec.h"

namespace nerve::sim {

struct FlowTransport {
  std::uint32_t payload{4096};        // per packet
  std::uint32_t around{62};           // frame bytes around the payload of each packet
  std::uint32_t around_first{16};     // also around that of a message's first packet: RETH
  std::uint32_t around_last{4};       // and of its last: the immediate value
  std::uint32_t acknowledgement{66};  // frame bytes
  bool hash_by_qp{true};
  std::uint32_t share_used{1000};  // of a switch port's rate by data, in thousandths
  Duration retry_after{std::chrono::milliseconds{16}};
  std::uint32_t retries{7};
  std::optional<TcpSpec> tcp;

  // Payload as it is sent: RDMA pads the last packet of a message.
  [[nodiscard]] std::uint32_t padded(std::uint32_t bytes) const {
    return tcp ? bytes : (bytes + 3) & ~3U;
  }
  [[nodiscard]] std::uint32_t packets_of(std::uint32_t bytes) const {
    return bytes == 0 ? 1 : (bytes - 1) / payload + 1;
  }
};

// A TCP host's core at work for one direction of a connection.
struct TcpCost {
  std::int64_t fastest{};  // kb/s on the cable that one core can send or receive
  Duration batch{};        // the time of a batch: what the network waits for at the start
};
[[nodiscard]] TcpCost sending_cost(const TcpSpec& spec, std::uint32_t on_cable);
[[nodiscard]] TcpCost receiving_cost(const TcpSpec& spec, std::uint32_t on_cable);

}  // namespace nerve::sim
