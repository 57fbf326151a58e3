// A NIC whose host uses TCP, for comparison with RDMA.
//
// A message is a range of bytes of a stream. A core on each side copies every byte; each packet
// costs core time, and each message a system call. A connection stays on one core, so one core
// limits a connection and all cores together limit the NIC. In one turn a core processes a batch of
// a connection (64 KB, as with segmentation and receive offload): first the received packets, then
// what may be sent. The effects become visible when the turn ends.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "sim/core/clockwork.h"
#include "sim/core/nic_user.h"
#include "sim/fabric/fabric.h"
#include "sim/host/tcp_cores.h"
#include "sim/host/tcp_receiver.h"
#include "sim/host/tcp_sender.h"
#include "sim/scenario/host_spec.h"

namespace nerve::sim {

struct TcpCounters {
  std::uint64_t data_packets{};  // sent, with retransmissions
  std::uint64_t data_bytes{};    // payload
  std::uint64_t retransmitted{};
  std::uint64_t timeouts{};
  std::uint64_t dropped{};          // by the host, because its cores were too slow
  std::uint64_t delivered_bytes{};  // in order
};

class TcpNic {
 public:
  TcpNic(Clockwork& clockwork, Fabric& fabric, NodeId node, const TcpSpec& spec);

  [[nodiscard]] NodeId node() const { return node_; }
  void serve(NicUser& user) { user_ = &user; }
  // Connections start established, like QPs.
  static Joined join(TcpNic& a, TcpNic& b);
  void write(const NicMessage& message);
  // The next message begins a new flow, as on a connection that was just made.
  void restart_flow(QpNumber qp);

  [[nodiscard]] const TcpCounters& counters() const { return counters_; }
  [[nodiscard]] Duration timeout() const { return spec_.minimum_timeout; }  // at least
  [[nodiscard]] Duration cpu_time() const { return cores_.used(); }
  [[nodiscard]] std::uint32_t cores() const { return cores_.count(); }
  [[nodiscard]] const TcpSender& sender(QpNumber qp) const {
    return connections_[qp.value()].sender;
  }

  // Event handlers.
  void arrive(PortId at, PacketId packet);
  void port_free(PortId at);
  void resumed() { pull(); }
  void happen(std::uint32_t argument);

 private:
  enum class What : std::uint8_t { kCore, kRetransmit, kAcknowledge, kDeliver };

  // The end of a message in the stream.
  struct Boundary {
    std::uint64_t end{};
    std::uint64_t name{};
  };
  struct Connection {
    TcpNic* peer{};
    std::uint32_t number_there{};
    std::uint32_t core{};
    std::uint32_t flow_hash{};
    TcpSender sender;
    TcpReceiver receiver;
    PacketQueue inbox{};             // not processed by the core yet
    std::deque<Boundary> sending;    // until acknowledged
    std::deque<Boundary> receiving;  // passed out of band: the stream has no contents
    std::uint32_t calls{};           // system calls to account for
    std::uint32_t queued{};          // bytes waiting for the cable
    bool waits{};                    // for its core
    bool retransmit_set{};           // an event is scheduled
    bool acknowledge_set{};
    Time acknowledge_at{};
  };
  // The current work of a core.
  struct Turn {
    std::uint32_t connection{};
    PacketQueue packets{};
    std::vector<TcpPiece> pieces;
  };
  struct Waiting {
    std::uint32_t connection{};
    TcpPiece piece{};
  };
  struct Delivery {
    std::uint32_t connection{};
    std::uint32_t immediate{};
  };

  void schedule(Time when, What what, std::uint32_t number);
  // Cores: tcp_turns.cc.
  [[nodiscard]] bool has_work(const Connection& connection) const;
  void wake(std::uint32_t number);
  void start(std::uint32_t core);
  [[nodiscard]] Duration take_packets(Connection& connection, Turn& turn);
  [[nodiscard]] Duration take_pieces(Connection& connection, Turn& turn);
  void finish(std::uint32_t core);
  void handle(std::uint32_t number, Packet& packet);
  void settle(std::uint32_t number);
  void acknowledge_if_due(std::uint32_t number);

  // With several ports, a connection has a preferred one; the next if that one has no route.
  [[nodiscard]] std::size_t lane_of(const Connection& connection) const {
    return connection.number_there % ports_.size();
  }
  [[nodiscard]] PortId port_for(const Connection& connection) const;
  void pull();
  void emit(std::uint32_t number, const TcpPiece& piece);
  void set_retransmit(std::uint32_t number);
  void retransmit(std::uint32_t number);
  void acknowledge(std::uint32_t number);

  Clockwork& clockwork_;
  Fabric& fabric_;
  NodeId node_;
  TcpSpec spec_;
  std::span<const PortId> ports_;
  std::uint32_t segment_;
  TcpCores cores_;
  std::vector<Turn> turns_;             // per core
  std::vector<std::uint32_t> in_ring_;  // per core: packets not processed yet
  std::vector<Connection> connections_;
  std::vector<std::deque<Waiting>> outgoing_;  // per port, in order
  std::deque<Delivery> deliveries_;            // to the application, all with the same latency
  NicUser* user_{};
  TcpCounters counters_;
};

}  // namespace nerve::sim
