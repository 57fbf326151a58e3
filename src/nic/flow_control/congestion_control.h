// The interface of congestion control: its inputs and its decision. One object per sending QP; a QP
// without one sends at line rate.
//
// The interface carries the inputs of the published algorithms: acknowledged bytes and round trips
// (Swift, TIMELY), CNPs (DCQCN), ECN echoes (DCTCP-like) and per-hop telemetry (HPCC).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/fetch_lines.h"
#include "base/rate.h"
#include "base/time.h"
#include "nic/config.h"
#include "nic/flow_control/cnp_filter.h"
#include "nic/flow_control/round_trips.h"
#include "wire/frame.h"

namespace nerve::nic {

struct AckSample {
  Time now{};
  std::uint64_t acked_bytes{};           // newly acknowledged
  std::uint64_t outstanding_bytes{};     // still unacknowledged
  std::optional<Duration> round_trip{};  // none when a retransmission makes it ambiguous
  bool ecn_echo{};                       // the peer received congestion marks (BECN)
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
  // The peer received so many bytes' packet without its payload.
  virtual void on_trim(std::uint64_t /*bytes*/, Time now) { on_nak(now); }

  // For algorithms whose rate also changes with time: applies what was due until now. Called before
  // the rate is used, so that nobody needs a timer for it.
  virtual void catch_up(Time /*now*/) {}

  // The decision: the rate, and the limit of unacknowledged bytes.
  [[nodiscard]] virtual Rate rate() const = 0;
  [[nodiscard]] virtual std::uint64_t window_bytes() const = 0;  // max() when there is none

  // Prefetches what every packet and timer touches. Not virtual: a call would wait for the object.
  void fetch() const {
    constexpr std::size_t kUsed = 256;
    const auto* const begin = reinterpret_cast<const std::byte*>(this);
    fetch_lines(begin, begin + kUsed);
  }

  // Where the requester measures round trips; null: the algorithm does not look at them.
  [[nodiscard]] virtual RoundTrips* round_trips() { return nullptr; }
  void forget_round_trips() {
    if (RoundTrips* const trips = round_trips()) trips->forget();
  }
  // Used by the requester; stored here so that QPs without congestion control do not carry it.
  CnpFilter cnps;
};

// Null for CcAlgorithm::kNone. `packet_bytes` is the size of a full packet of the QP. `counters`
// must outlive the object.
[[nodiscard]] std::unique_ptr<CongestionControl> make_congestion_control(
    const FlowControlConfig& config, Rate line_rate, std::uint32_t packet_bytes,
    Counters& counters);

}  // namespace nerve::nic
