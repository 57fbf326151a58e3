// Messages as flows: replaces NICs and packets when a scenario asks for `fidelity = "flow"`.
//
// A connection is two streams, one in each direction. A stream that has messages is a flow of
// FairRates: it sends them one after the other at its fair rate, headers included. A message has
// left when its bytes are sent at that rate, arrives a path latency later, and is acknowledged
// after another. Events are: a message has left, arrived or is acknowledged; rates change; a stream
// on a path that is down retries.
//
// There are no queues, marks, pauses, drops or retransmissions (docs/fluid.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/clockwork.h"
#include "sim/core/nic_user.h"
#include "sim/fabric/fabric.h"
#include "sim/fluid/fair_rates.h"
#include "sim/fluid/flow_paths.h"
#include "sim/fluid/flow_transport.h"

namespace nerve::sim {

struct FlowCounters {
  std::uint64_t messages{};
  std::uint64_t packets{};  // that the messages would be sent in
  std::uint64_t sent_bytes{};
  std::uint64_t delivered_bytes{};
  std::uint64_t timeouts{};
  std::uint64_t settled{};  // how often rates were computed
};

class FlowNetwork {
 public:
  // `transports` has one entry for each network of the graph.
  FlowNetwork(Clockwork& clockwork, Fabric& fabric, std::vector<FlowTransport> transports);

  void serve(NicUser& user) { user_ = &user; }
  [[nodiscard]] Joined join(NodeId a, NodeId b);
  [[nodiscard]] bool write(NodeId from, const NicMessage& message);

  // For Happening::kFlow.
  void happen(std::uint32_t subject, std::uint32_t argument, Time when);
  // A cable has failed, is back or has another rate, or the routes have changed.
  void cables_changed();

  [[nodiscard]] const FlowCounters& counters() const { return counters_; }
  [[nodiscard]] const FairRates& rates() const { return rates_; }
  [[nodiscard]] const FlowPaths& paths() const { return paths_; }
  // The bytes of the largest message in a network.
  [[nodiscard]] std::uint32_t largest_in(std::uint8_t network) const { return largest_[network]; }
  // Sets the counters of all ports to what their links have carried.
  void count_ports();

 private:
  enum class What : std::uint8_t {
    kSettle,
    kLeft,
    kArrived,
    kAcknowledged,
    kBegin,
    kRetry,
    kResend
  };
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  // A message, in its stream's list until it has left.
  struct Piece {
    std::uint64_t message{};
    std::uint32_t immediate{};
    std::uint32_t bytes{};
    std::uint32_t stream{};
    std::uint32_t next{kNone};
  };
  // One direction of a connection. Its index is that of its flow.
  struct Stream {
    NodeId from{};
    NodeId to{};
    QpNumber qp{};  // at the sender
    QpNumber peer{};
    std::uint32_t head{kNone};  // the message that is being sent
    std::uint32_t last{kNone};
    std::int64_t left{};  // of the head, in kb/s times picoseconds
    Time since{};         // when `left` was computed
    Time due{};           // when the head will have left, at the current rate
    Time event{};         // of the earliest event that is scheduled
    Duration tail{};      // from the end of sending a full packet to its arrival
    Duration acknowledgement{};
    std::uint32_t version{kNone};  // of its path
    std::uint8_t tries{};
    bool event_set{};
    bool follows{};  // the head was sent without a break after another message
    bool stalled{};  // waits for a retry
    bool broken{};
  };
  // The bytes that a link has carried.
  struct Carried {
    Time since{};
    double kilobits_ps{};  // kb/s times picoseconds
  };

  void schedule(Time when, What what, std::uint32_t argument);
  void request_settle();
  void settle();
  void compute_rates();
  void find_paths_again();
  void carry(FairRates::Number link, std::int64_t load);
  void divide_carried();
  void advance(std::uint32_t stream, std::int64_t rate);
  void arm(std::uint32_t stream);
  void start(std::uint32_t stream);
  void begin(std::uint32_t stream);
  void load_head(Stream& stream);
  void left(std::uint32_t stream, Time when);
  void arrived(std::uint32_t piece);
  void acknowledge(std::uint32_t piece);
  void resend(std::uint32_t piece);
  void acknowledged(std::uint32_t piece);
  void stall(std::uint32_t stream);
  void retry(std::uint32_t stream);
  void fail(std::uint32_t stream);
  [[nodiscard]] bool find_path(std::uint32_t stream);
  [[nodiscard]] bool is_up(const Stream& stream);
  [[nodiscard]] PortId port_of(const Stream& stream) const;
  [[nodiscard]] std::uint32_t hash_of(const Stream& stream) const;
  void add_cores(const Stream& stream, std::vector<FairRates::Use>& path);
  [[nodiscard]] FairRates::Use core_of(NodeId node, QpNumber connection, NodeId peer,
                                       std::int64_t fastest);
  [[nodiscard]] const FlowTransport& transport_of(const Stream& stream) const;
  [[nodiscard]] Duration tail_of(const Stream& stream, const Piece& piece) const;
  [[nodiscard]] std::int64_t work_of(const Stream& stream, const Piece& piece) const;
  [[nodiscard]] std::uint32_t gap_of(const Stream& stream) const;

  Clockwork& clockwork_;
  Fabric& fabric_;
  std::vector<FlowTransport> transports_;
  FairRates rates_;
  FlowPaths paths_;
  std::vector<Stream> streams_;
  std::vector<std::vector<std::uint32_t>> stream_of_;  // per node and QP
  std::vector<std::vector<FairRates::Number>> cores_;  // per node of a TCP host
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> free_pieces_;
  std::vector<Carried> carried_;  // per link
  std::vector<FairRates::Use> with_cores_;
  std::vector<std::uint32_t> largest_;  // per network
  NicUser* user_{};
  bool settle_set_{};
  bool degraded_{};          // a cable is down
  std::uint32_t version_{};  // of the paths of all active streams
  FlowCounters counters_;
};

}  // namespace nerve::sim
