// What an agent and a controller say to each other. An agent speaks for the processes of one user
// on one host (`nerve run --controller`); the controller (`nerve controller`) chooses the UDP
// source ports of their QPs, hence their paths.
//
// Plain values. As text they are JSON objects; whatever is read is checked, because the other end
// may be broken or hostile even though it knows the key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "wire/gid.h"

namespace nerve::controller {

// A connected QP (RC, UC, XRC) whose packets leave by UDP.
struct LiveFlow {
  Qpn qpn{};
  Qpn peer{};
  wire::Gid source{};
  wire::Gid destination{};
  std::uint16_t port{};  // the UDP source port on the wire
  std::uint8_t traffic_class{};
  std::uint64_t bytes{};          // sent
  std::uint64_t retransmitted{};  // packets
  friend bool operator==(const LiveFlow&, const LiveFlow&) = default;
};

// The routers that answered probes with this source port and limits of 1, 2, ... hops. A zero
// address stands for a router that did not answer. `lost`: this path answered before, and does not
// any more.
struct MeasuredPath {
  wire::Gid source{};
  wire::Gid destination{};
  std::uint16_t port{};
  std::vector<wire::Gid> hops;
  bool lost{};
  friend bool operator==(const MeasuredPath&, const MeasuredPath&) = default;
};

// From an agent, whenever something has changed, and otherwise as a sign of life.
struct Report {
  std::string host;  // its name, for people
  std::vector<LiveFlow> flows;
  std::vector<MeasuredPath> paths;  // measured since the last report
  friend bool operator==(const Report&, const Report&) = default;
};

// Measure the paths of these source ports between two hosts.
struct ProbeOrder {
  wire::Gid source{};
  wire::Gid destination{};
  std::vector<std::uint16_t> ports;
  friend bool operator==(const ProbeOrder&, const ProbeOrder&) = default;
};

// A QP gets another source port or a limit of its rate. It is named by both ends, so that an order
// for a QP that has gone never reaches the one that has its number now.
struct FlowOrder {
  Qpn qpn{};
  Qpn peer{};
  std::uint16_t port{};        // zero: as it is
  std::uint64_t rate_limit{};  // bits per second; zero: none
  friend bool operator==(const FlowOrder&, const FlowOrder&) = default;
};

// From the controller.
struct Orders {
  std::vector<ProbeOrder> probes;
  std::vector<FlowOrder> flows;
  friend bool operator==(const Orders&, const Orders&) = default;
};

inline constexpr std::size_t kMaxFlows = 65'536;  // of a report
inline constexpr std::size_t kMaxHops = 16;
inline constexpr std::size_t kMaxProbePorts = 256;
inline constexpr std::uint16_t kFirstSourcePort = 0xc000;  // RoCEv2's, as IBTA recommends

[[nodiscard]] std::string to_text(const Report& report);
[[nodiscard]] std::string to_text(const Orders& orders);
// The error is a sentence that names the field and its value.
[[nodiscard]] Result<Report, std::string> read_report(std::string_view text);
[[nodiscard]] Result<Orders, std::string> read_orders(std::string_view text);

}  // namespace nerve::controller
