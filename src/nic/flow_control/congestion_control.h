// Congestion control: what it is told and what it decides. One object for each sending QP; a QP
// without one sends as fast as the port.
//
// The interface carries all that the algorithms of the field read: acknowledged bytes and round
// trips (Swift, TIMELY), CNPs (DCQCN), ECN echoes (DCTCP-like) and per-hop telemetry (HPCC).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/rate.h"
#include "base/time.h"
#include "nic/config.h"
#include "nic/flow_control/round_trips.h"
#include "wire/frame.h"

namespace nerve::nic {

struct AckSample {
  Time now{};
  std::uint64_t acked_bytes{};           // newly acknowledged
  std::uint64_t outstanding_bytes{};     // still unacknowledged
  std::optional<Duration> round_trip{};  // none when a retransmission makes it ambiguous
  bool ecn_echo{};                       // the peer saw congestion marks (BECN)
  std::span<const wire::HopTelemetry> telemetry{};
};

class CongestionControl {
 public:
  virtual ~CongestionControl() = default;

  virtual void on_send(std::uint64_t bytes, Time now) = 0;
  virtual void on_ack(const AckSample& sample) = 0;
  virtual void on_cnp(Time now) = 0;
  virtual void on_nak(Time now) = 0;  // a sequence NAK: packets were lost
  virtual void on_timeout(Time now) = 0;

  // Algorithms with timers of their own.
  [[nodiscard]] virtual std::optional<Time> next_deadline() const = 0;
  virtual void expire(Time now) = 0;

  // The verdict: how fast, and how many bytes may be unacknowledged.
  [[nodiscard]] virtual Rate rate() const = 0;
  [[nodiscard]] virtual std::uint64_t window_bytes() const = 0;  // max() when there is none

  // Kept here for the requester, so that QPs without congestion control do without.
  RoundTrips round_trips;
};

// Null for CcAlgorithm::kNone. A full packet of the QP has `packet_bytes`.
[[nodiscard]] std::unique_ptr<CongestionControl> make_congestion_control(
    const FlowControlConfig& config, Rate line_rate, std::uint32_t packet_bytes);

}  // namespace nerve::nic
