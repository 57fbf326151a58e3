// One NIC of the simulation: the engine that runs live, with a port of the fabric for its link, or
// several, over which its QPs are spread.
//
// It does what a host's loop does: hands in what arrives, fetches what is to be sent when the port
// has nothing left, calls when a timer is due. It adds no protocol of its own.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/fetch_lines.h"
#include "nic/nic.h"
#include "sim/core/clockwork.h"
#include "sim/fabric/fabric.h"
#include "sim/host/checked_memory.h"
#include "sim/host/nic_user.h"

namespace nerve::sim {

struct SimNicConfig {
  nic::NicConfig engine{};
  nic::Mtu mtu{nic::Mtu::k4096};
  std::uint8_t data_class{1};
  std::uint8_t control_class{3};  // ACKs, NAKs and CNPs
  std::uint32_t queue_depth{64};  // work requests of each QP, in each direction
  bool hash_by_qp{};              // switches tell the QPs of two NICs apart
  std::uint8_t timeout{8};        // 4.096 us * 2^8: a millisecond
  std::uint8_t retries{7};
  Duration cnp_delay{};  // more than other packets are on their way: slow paths of real switches
  CheckedMemory* payload{};  // null: lengths alone are carried. Otherwise it outlives the NIC
};

// The address by which the simulation knows a node.
[[nodiscard]] wire::Gid gid_of(NodeId node);
[[nodiscard]] NodeId node_of(const wire::Gid& gid);

class SimNic final : private nic::EgressGate {
 public:
  SimNic(Clockwork& clockwork, Fabric& fabric, NodeId node, const SimNicConfig& config);

  [[nodiscard]] NodeId node() const { return node_; }
  [[nodiscard]] nic::Nic& engine() { return engine_; }
  [[nodiscard]] const nic::Counters& counters() const { return engine_.counters(); }
  [[nodiscard]] std::uint64_t data_packets() const { return data_packets_; }  // sent; ACKs are none
  // Outlives the NIC.
  void serve(NicUser& user) { user_ = &user; }

  // Two QPs that are connected to each other, with receives posted.
  static Joined join(SimNic& a, SimNic& b);

  // A message: a WRITE that consumes a receive, which tells the other side. False while the send
  // queue is full, or when the QP is in error.
  [[nodiscard]] bool write(const NicMessage& message);

  // Into the cache: it is about to be called.
  void fetch() const {
    __builtin_prefetch(this);
    fetch_lines(&config_.mtu, this + 1);
  }
  [[nodiscard]] const nic::Nic& engine() const { return engine_; }
  // One for each kind of event.
  void arrive(PortId at, PacketId packet);
  void port_free(PortId at);
  void timer(Time when);
  // A CNP that was held back goes.
  void release(PacketId packet);
  // A port may send again, or has failed or come back.
  void resumed();

 private:
  std::uint32_t grant(const Request& request) override;
  bool grant_acknowledge(const wire::Flow&, Qpn) override { return true; }
  void give_back(std::uint32_t) override {}

  [[nodiscard]] QpNumber make_qp();
  [[nodiscard]] Qpn qpn_of(QpNumber qp) const;
  void bring_up(QpNumber qp, NodeId peer, Qpn peer_qp);
  void refill(QpNumber qp);
  [[nodiscard]] PortId port_to(NodeId destination, Qpn qp) const;
  [[nodiscard]] bool has_idle_port() const;
  void pull();
  void send(const wire::Frame& frame);
  void begin_trail(PacketId packet, const wire::Frame& frame);
  void arm();
  void collect();
  void tell(const nic::Completion& done);
  [[nodiscard]] MemoryPort& memory() const;

  Clockwork& clockwork_;
  Fabric& fabric_;
  NodeId node_;
  SimNicConfig config_;
  nic::Nic engine_;
  PortId port_;  // the only one, mostly
  std::span<const PortId> ports_;
  nic::PdHandle pd_;
  nic::CqHandle cq_;
  nic::MrKeys keys_;
  std::vector<nic::QpHandle> qps_;
  std::uint64_t next_address_{};  // so that all payload that is checked differs
  NicUser* user_{};
  std::uint64_t data_packets_{};
  Time timer_at_{};
  bool timer_set_{};
};

}  // namespace nerve::sim
