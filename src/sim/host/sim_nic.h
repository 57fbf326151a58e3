// One NIC of the simulation: the engine that also runs live, with one or more ports of the fabric
// as its link. QPs are spread over the ports.
//
// It does what the driver loop of a host does: it passes arriving frames to the engine, fetches
// frames to send when a port is free, and calls the engine when a timer is due. It adds no protocol
// of its own.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/fetch_lines.h"
#include "nic/nic.h"
#include "sim/control/flow_hash.h"
#include "sim/core/clockwork.h"
#include "sim/core/nic_user.h"
#include "sim/fabric/fabric.h"
#include "sim/host/checked_memory.h"
#include "sim/host/nic_hardware.h"
#include "sim/host/nic_trace.h"

namespace nerve::sim {

struct SimNicConfig {
  nic::NicConfig engine{};
  NicHardwareSpec hardware{};
  nic::Mtu mtu{nic::Mtu::k4096};
  std::uint8_t data_class{1};
  std::uint8_t control_class{3};  // ACKs, NAKs and CNPs
  std::uint32_t queue_depth{64};  // work requests per QP and direction
  bool hash_by_qp{};              // the flow hash differs between QPs of two NICs
  std::uint8_t timeout{8};        // 4.096 us * 2^8: a millisecond
  std::uint8_t retries{7};
  Duration cnp_delay{};          // extra delay of CNPs, as on the slow paths of real switches
  CheckedMemory* payload{};      // null: packets carry lengths only; must outlive the NIC
  std::span<NicTrace> traces{};  // of the NICs that are traced; must outlive the NIC
};

// The settings of NICs that are alike. All of them refer to one object: copies would take up the
// cache.
struct SimNicSettings {
  explicit SimNicSettings(const SimNicConfig& given);

  SimNicConfig config;
  nic::SharedConfig engine;  // config.engine, as the engine of a simulated NIC needs it
};

// What is recorded of a NIC. Plain values, so that another process can send them.
struct NicFigures {
  std::uint64_t bytes_sent{};
  std::uint64_t bytes_received{};
  std::uint64_t data_packets{};  // sent; without ACKs
  std::uint64_t retransmitted{};
  std::uint64_t timeouts{};
  std::uint64_t congestion_notices{};  // CNPs received
  std::uint64_t policy_fallbacks{};
  std::uint64_t context_lookups{};
  std::uint64_t context_misses{};
  std::uint64_t page_lookups{};
  std::uint64_t page_misses{};
  Duration timeout{};
  std::uint64_t outstanding{};  // messages
  friend bool operator==(const NicFigures&, const NicFigures&) = default;
};

// The GID of a node in the simulation.
[[nodiscard]] wire::Gid gid_of(NodeId node);
[[nodiscard]] NodeId node_of(const wire::Gid& gid);

class alignas(64) SimNic final : private nic::EgressGate {
 public:
  // `settings` and `pcie`, which other NICs may share, must outlive the NIC.
  SimNic(Clockwork& clockwork, Fabric& fabric, NodeId node, const SimNicSettings& settings,
         PcieLink* pcie = nullptr);

  [[nodiscard]] NodeId node() const { return node_; }
  [[nodiscard]] nic::Nic& engine() { return engine_; }
  [[nodiscard]] const nic::Counters& counters() const { return engine_.counters(); }
  [[nodiscard]] std::uint64_t data_packets() const { return data_packets_; }  // sent; without ACKs
  // Messages that are posted and not acknowledged.
  [[nodiscard]] std::uint32_t outstanding() const { return outstanding_; }
  // How long a lost packet waits if nothing else reveals the loss.
  [[nodiscard]] Duration timeout() const;
  [[nodiscard]] NicFigures figures() const;
  // `user` must outlive the NIC.
  void serve(NicUser& user) { user_ = &user; }

  // Creates and connects two QPs, with receives posted. Urgent ones send in the control class, and
  // switches do not mark their packets.
  static Joined join(SimNic& a, SimNic& b, bool urgent = false);
  // The same for the end here of a connection to a NIC of another process, where it is this QP.
  QpNumber join(NodeId peer, QpNumber theirs, bool urgent = false);

  // Posts a message as a WRITE with immediate. Reports a failure when the send queue is full or the
  // QP is in the error state.
  void write(const NicMessage& message);
  // The next message begins a new flow, as on a QP that was just connected. The last one must be
  // acknowledged.
  void restart_flow(QpNumber qp);
  // Packets of this QP get another path with ECMP, from now on.
  void redirect_flow(QpNumber qp, std::uint32_t label);
  [[nodiscard]] Qpn qpn_of(QpNumber qp) const;
  // On a NIC that need not be in this process: there they count up.
  [[nodiscard]] static Qpn qpn_of(const SimNicConfig& config, QpNumber qp);

  // Prefetches the state of the NIC. For a timer, the first cache line is enough at first.
  void fetch() const { fetch_lines(this, this + 1); }
  void fetch_timer() const { fetch_line(this); }
  [[nodiscard]] const nic::Nic& engine() const { return engine_; }
  // Null unless the scenario models it.
  [[nodiscard]] const NicHardware* hardware() const { return hardware_.get(); }
  // Event handlers.
  void arrive(PortId at, PacketId packet);
  void port_free(PortId at);
  void timer(Time when);
  // A packet that was delayed in the NIC goes on.
  void go_on(PacketId packet);
  // A port was resumed, failed or came back.
  void resumed();

  // What packets refer to as their payload.
  [[nodiscard]] static MemoryPort& memory_of(const SimNicConfig& config);

 private:
  std::uint32_t grant(const Request& request) override;
  bool grant_acknowledge(const wire::Flow&, Qpn) override { return true; }
  void give_back(std::uint32_t) override {}

  [[nodiscard]] const SimNicConfig& config() const { return settings_.config; }
  [[nodiscard]] bool has_one_port() const { return port_ != kNoPort; }
  [[nodiscard]] QpNumber make_qp();
  [[nodiscard]] nic::QpHandle handle_of(QpNumber qp) const {
    return {first_qp_.index + qp.value(), first_qp_.generation};
  }
  void bring_up(QpNumber qp, NodeId peer, Qpn peer_qp, bool urgent);
  void refill(QpNumber qp);
  [[nodiscard]] PortId port_to(NodeId destination, Qpn qp) const;
  [[nodiscard]] bool has_idle_port() const;
  void pull();
  void send(const wire::Frame& frame);
  void begin_trail(PacketId packet, const wire::Frame& frame);
  [[nodiscard]] Duration delay_of(const Packet& packet);
  void release(PacketId packet);
  // A packet has arrived, and its turn has come.
  void admit(PortId at, PacketId packet);
  void take(PortId at, PacketId packet);
  [[nodiscard]] bool has_receive_buffer(PortId at) const;
  void leave_receive_buffer(PortId at, std::uint32_t bytes);
  [[nodiscard]] bool is_ready_to_send() const;
  void arm();
  void collect();
  void tell(const nic::Completion& done);

  // In order of how often they are used. The first cache line is enough for a packet that completes
  // nothing.
  Clockwork& clockwork_;
  Fabric& fabric_;
  Time timer_at_{FabricPart::kNever};
  nic::Nic engine_;
  const std::atomic<std::uint32_t>* completions_{};  // waiting on the CQ
  std::unique_ptr<NicHardware> hardware_;
  NodeId node_;
  PortId port_;  // kNoPort: it has several

  const SimNicSettings& settings_;
  NicUser* user_{};
  std::uint64_t data_packets_{};
  nic::CqHandle cq_;
  nic::QpHandle first_qp_;  // none is ever destroyed, so the others follow it
  std::uint32_t qp_count_{};
  std::uint32_t outstanding_{};
  nic::MrKeys keys_;
  std::uint64_t next_address_{};  // gives each checked payload its own addresses
  std::span<const PortId> ports_;
  std::uint32_t flow_label_{};  // of the flow restarted last
  nic::PdHandle pd_;
};

}  // namespace nerve::sim
