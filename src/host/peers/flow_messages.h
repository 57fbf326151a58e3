// What a process says of its flows, and what it is ordered to do with them, as bytes between two
// processes of one user (greeting.h). Everything that is read is checked: the other process may be
// broken, and may change shared memory at any time.
//
//   flows   answer: the number of flows as text; if there are any, memory with 64 bytes for each
//             0 QPN   4 peer   8 source   24 destination   40 source port   42 traffic class
//             43 zero   48 bytes sent   56 packets retransmitted
//   steer   request, behind the usual one: 20 bytes for each order
//             0 QPN   4 peer   8 source port   10 zero   12 rate limit in bits per second
//           answer: the numbers of flows redirected and of orders refused, as text
//
// Numbers are big-endian.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "host/peers/greeting.h"
#include "host/peers/shared_memory.h"
#include "host/peers/unix_socket.h"
#include "wire/gid.h"

namespace nerve::host {

// A connected QP (RC, UC, XRC) in RTR or RTS whose packets leave by UDP.
struct FlowReport {
  Qpn qpn{};
  Qpn peer{};
  wire::Gid source{};
  wire::Gid destination{};
  std::uint16_t source_port{};  // on the wire, which may not be the one that the QP wants
  std::uint8_t traffic_class{};
  std::uint64_t bytes_sent{};  // nic/qp_glance.h says what counts
  std::uint64_t packets_retransmitted{};
  friend bool operator==(const FlowReport&, const FlowReport&) = default;
};

// What a controller of paths wants of a QP, which is named by both ends.
struct SteeringOrder {
  Qpn qpn{};
  Qpn peer{};
  std::uint16_t source_port{};  // zero: as it is
  std::uint64_t rate_limit{};   // bits per second; zero: none
  friend bool operator==(const SteeringOrder&, const SteeringOrder&) = default;
};

struct SteeringResult {
  std::uint64_t redirected{};  // flows that have another source port now
  std::uint64_t refused{};     // orders, among them those that no process has answered
  friend bool operator==(const SteeringResult&, const SteeringResult&) = default;
};

// Of a shard, which has one slot's QPNs; the others are left out.
inline constexpr std::size_t kMostFlows = 1U << 14;
inline constexpr std::size_t kMostOrders = 512;  // of a request

// False if there is no memory, or the other process has gone.
[[nodiscard]] bool send_flows(int connection, std::span<const FlowReport> flows);
// Nothing if the answer is not valid.
[[nodiscard]] std::optional<std::vector<FlowReport>> read_flows(const Message& answer);

[[nodiscard]] std::vector<std::byte> encode_orders(std::span<const SteeringOrder> orders);
// Nothing if the request is not valid. The numbers in the orders are not checked.
[[nodiscard]] std::optional<std::vector<SteeringOrder>> decode_orders(Bytes request);
[[nodiscard]] std::vector<std::byte> encode_result(const SteeringResult& result);
[[nodiscard]] std::optional<SteeringResult> decode_result(Bytes answer);

}  // namespace nerve::host
