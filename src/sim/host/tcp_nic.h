// A NIC whose host speaks TCP: what RDMA is compared with.
//
// A message is bytes of a stream. Every byte is copied by a core on each side, every packet costs
// the core time, every message a system call; a connection stays on one core, so that one core
// bounds it and all cores together bound the NIC. What a core does for a connection in one turn is
// a batch (64 KB, as segmentation and receive offload make them): it answers what has come, then
// hands on what may leave. Its effects are seen when the turn ends.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "sim/core/clockwork.h"
#include "sim/fabric/fabric.h"
#include "sim/host/nic_user.h"
#include "sim/host/tcp_cores.h"
#include "sim/host/tcp_receiver.h"
#include "sim/host/tcp_sender.h"
#include "sim/scenario/host_spec.h"

namespace nerve::sim {

struct TcpCounters {
  std::uint64_t data_packets{};  // sent, repeats included
  std::uint64_t data_bytes{};    // payload
  std::uint64_t retransmitted{};
  std::uint64_t timeouts{};
  std::uint64_t dropped{};          // by the host: its cores were too slow
  std::uint64_t delivered_bytes{};  // in order, as they came
};

class TcpNic {
 public:
  TcpNic(Clockwork& clockwork, Fabric& fabric, NodeId node, const TcpSpec& spec);

  [[nodiscard]] NodeId node() const { return node_; }
  void serve(NicUser& user) { user_ = &user; }
  // Connections are taken to be open already, as QPs are.
  static Joined join(TcpNic& a, TcpNic& b);
  void write(const NicMessage& message);

  [[nodiscard]] const TcpCounters& counters() const { return counters_; }
  [[nodiscard]] Duration cpu_time() const { return cores_.used(); }
  [[nodiscard]] std::uint32_t cores() const { return cores_.count(); }
  [[nodiscard]] const TcpSender& sender(QpNumber qp) const {
    return connections_[qp.value()].sender;
  }

  // One for each kind of event.
  void arrive(PortId at, PacketId packet);
  void port_free(PortId at);
  void resumed() { pull(); }
  void happen(std::uint32_t argument);

 private:
  enum class What : std::uint8_t { kCore, kRetransmit, kAcknowledge, kDeliver };

  // A message's last byte, in the stream.
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
    PacketQueue inbox{};             // not seen by the core yet
    std::deque<Boundary> sending;    // until acknowledged
    std::deque<Boundary> receiving;  // said beside the stream, which has no contents
    std::uint32_t calls{};           // system calls to be paid for
    std::uint32_t queued{};          // bytes that wait for the cable
    bool waits{};                    // for its core
    bool retransmit_set{};           // an event is on its way ...
    bool acknowledge_set{};
    Time acknowledge_at{};
  };
  // What a core is at.
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

  // Of several ports a connection has one of its own; the next when that one leads nowhere.
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
  std::vector<Turn> turns_;             // of each core
  std::vector<std::uint32_t> in_ring_;  // of each core: packets not seen yet
  std::vector<Connection> connections_;
  std::vector<std::deque<Waiting>> outgoing_;  // for each port, in order
  std::deque<Delivery> deliveries_;            // to the application, each after the same time
  NicUser* user_{};
  TcpCounters counters_;
};

}  // namespace nerve::sim
