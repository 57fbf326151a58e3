#include "sim/host/sim_nic.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/check.h"
#include "base/no_contents.h"
#include "nic/qp_manager/qp_transitions.h"
#include "wire/packet.h"

namespace nerve::sim {
namespace {

using nic::QpState;

NoContents no_memory;

constexpr std::uint64_t kMemory = std::uint64_t{1} << 46;
constexpr std::uint32_t kTelemetryBytes = 42;  // as in HPCC: five hops of eight bytes, and two
constexpr std::uint32_t kAtOnce = 2;           // a packet and the ACK beside it

nic::NicConfig adapted(const SimNicConfig& config) {
  nic::NicConfig engine = config.engine;
  engine.max_mtu = config.mtu;
  engine.scheduling_quantum = 1;
  engine.gid_table_size = 1;
  engine.flow_control.pacing_burst = 0;
  return engine;
}

nic::NicHooks hooks_for(const SimNicConfig& config, nic::EgressGate* gate, NodeId node,
                        const Clockwork& clockwork) {
  nic::NicHooks hooks{.gate = gate};
  for (NicTrace& trace : config.traces) {
    if (trace.node() == node) hooks.trace = &trace.begin(clockwork);
  }
  return hooks;
}

constexpr std::uint8_t kEcnCapable = 2;
constexpr std::uint8_t kUrgent = 48U << 2U;  // DSCP CS6: in the control class, not marked

bool is_control(const wire::Frame& frame) {
  const wire::Opcode code = frame.headers.bth.opcode;
  return code == wire::kCnpOpcode || wire::operation_of(code) == wire::Operation::kAcknowledge ||
         frame.flow.traffic_class == kUrgent;
}

bool begins_request(wire::Opcode code) {
  const wire::OpcodeInfo& info = *wire::find_opcode(code);
  return info.role == wire::Role::kRequest &&
         (info.position == wire::Position::kFirst || info.position == wire::Position::kOnly);
}

std::string_view reason_of(nic::WcStatus status) {
  switch (status) {
    case nic::WcStatus::kRetryExceeded:
      return "no answer to any of its packets";
    case nic::WcStatus::kRnrRetryExceeded:
      return "the receiver has no receive posted";
    case nic::WcStatus::kFlushed:
      return "the connection is in error";
    default:
      return "the receiver refused it";
  }
}

// Shared by all NICs: it is empty between calls.
nic::TxBurst& shared_burst() {
  static thread_local nic::TxBurst burst{kAtOnce};
  return burst;
}

}  // namespace

wire::Gid gid_of(NodeId node) {
  const std::uint32_t number = node.value() + 1;
  return wire::Gid::ipv4(10, static_cast<std::uint8_t>(number >> 16U),
                         static_cast<std::uint8_t>(number >> 8U),
                         static_cast<std::uint8_t>(number));
}

NodeId node_of(const wire::Gid& gid) {
  const auto part = [&](std::size_t i) { return std::to_integer<std::uint32_t>(gid.bytes[i]); };
  return NodeId{(part(13) << 16U | part(14) << 8U | part(15)) - 1};
}

SimNicSettings::SimNicSettings(const SimNicConfig& given) : config{given}, engine{adapted(given)} {}

SimNic::SimNic(Clockwork& clockwork, Fabric& fabric, NodeId node, const SimNicSettings& settings,
               PcieLink* pcie)
    : clockwork_{clockwork},
      fabric_{fabric},
      engine_{settings.engine, hooks_for(settings.config, this, node, clockwork)},
      node_{node},
      port_{fabric.ports_of(node).size() == 1 ? fabric.first_port(node) : kNoPort},
      settings_{settings},
      ports_{fabric.ports_of(node)} {
  const SimNicConfig& config = settings.config;
  CHECK(engine_.set_gid(0, gid_of(node)));
  pd_ = *engine_.alloc_pd();
  cq_ = *engine_.create_cq({.depth = 4 * config.queue_depth, .ignore_overrun = false});
  completions_ = engine_.cq_gauge(cq_);
  const auto region = engine_.register_mr(
      {.pd = pd_,
       .length = kMemory,
       .access = nic::Access::kLocalWrite | nic::Access::kRemoteWrite | nic::Access::kRemoteRead,
       .port = &memory_of(config)});
  keys_ = *engine_.keys_of(*region);
  if (!config.hardware.modelled && pcie == nullptr) return;
  const NicHardwareSpec& spec = config.hardware.modelled ? config.hardware : kFastestNic;
  hardware_ = std::make_unique<NicHardware>(spec, fabric.rate_of(node), pcie);
}

MemoryPort& SimNic::memory_of(const SimNicConfig& config) {
  return config.payload != nullptr ? static_cast<MemoryPort&>(*config.payload) : no_memory;
}

NicFigures SimNic::figures() const {
  const nic::Counters& counters = engine_.counters();
  NicFigures all{.bytes_sent = counters.bytes_sent,
                 .bytes_received = counters.bytes_received,
                 .data_packets = data_packets_,
                 .retransmitted = counters.retransmitted_frames,
                 .timeouts = counters.timeouts,
                 .congestion_notices = counters.cnps_received,
                 .policy_fallbacks = counters.policy_fallbacks,
                 .timeout = timeout(),
                 .outstanding = outstanding_};
  if (hardware_) {
    all.context_lookups = hardware_->contexts().lookups();
    all.context_misses = hardware_->contexts().misses();
    all.page_lookups = hardware_->pages().lookups();
    all.page_misses = hardware_->pages().misses();
  }
  return all;
}

Duration SimNic::timeout() const {
  const Duration of_qp{std::int64_t{4'096'000} << config().timeout};
  const nic::SelectiveRepeatConfig& selective = config().engine.selective_repeat;
  return selective.on ? std::min(selective.timeout, of_qp) : of_qp;
}

QpNumber SimNic::make_qp() {
  const std::uint32_t depth = config().queue_depth;
  const nic::QpHandle made =
      *engine_.create_qp({.type = nic::QpType::kRc,
                          .pd = pd_,
                          .send_cq = cq_,
                          .recv_cq = cq_,
                          .caps = {.max_send_wr = depth, .max_recv_wr = depth, .max_recv_sge = 0},
                          .plain = true});
  if (qp_count_ == 0) first_qp_ = made;
  const QpNumber number{qp_count_++};
  CHECK(made == handle_of(number));
  return number;
}

Qpn SimNic::qpn_of(const SimNicConfig& config, QpNumber qp) {
  CHECK(!config.engine.scatter_numbers);
  return Qpn{config.engine.first_qpn.value() + config.engine.begin_qpns_at + qp.value()};
}

QpNumber SimNic::join(NodeId peer, QpNumber theirs, bool urgent) {
  const QpNumber mine = make_qp();
  CHECK(qpn_of(mine) == qpn_of(config(), mine));
  bring_up(mine, peer, qpn_of(config(), theirs),
           urgent);  // NICs of a network have the same settings
  return mine;
}

Qpn SimNic::qpn_of(QpNumber qp) const { return engine_.query_qp(handle_of(qp))->qpn; }

void SimNic::bring_up(QpNumber qp, NodeId peer, Qpn peer_qp, bool urgent) {
  nic::QpAttributes attributes{.access = nic::Access::kRemoteWrite | nic::Access::kRemoteRead,
                               .path_mtu = config().mtu,
                               .dest_qp = peer_qp,
                               .max_dest_read = 1,
                               .max_read = 1,
                               .min_rnr_timer = 1,
                               .timeout = config().timeout,
                               .retry_count = config().retries,
                               .rnr_retry = 7};
  attributes.path.destination = gid_of(peer);
  attributes.path.traffic_class = urgent ? kUrgent : kEcnCapable;
  QpState from = QpState::kReset;
  for (const QpState to : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
    const auto rule = nic::transition_rule(nic::QpType::kRc, from, to);
    CHECK(rule && engine_.modify_qp(handle_of(qp), to, rule->required, attributes));
    from = to;
  }
  if (hardware_) hardware_->connect(qpn_of(qp), peer, peer_qp);
  for (std::uint32_t i = 0; i < config().queue_depth; ++i) refill(qp);
}

void SimNic::refill(QpNumber qp) { CHECK(engine_.post_recv(handle_of(qp), {.wr_id = qp.value()})); }

Joined SimNic::join(SimNic& a, SimNic& b, bool urgent) {
  const Joined made{a.make_qp(), b.make_qp()};
  a.bring_up(made.mine, b.node_, b.qpn_of(made.theirs), urgent);
  b.bring_up(made.theirs, a.node_, a.qpn_of(made.mine), urgent);
  return made;
}

void SimNic::write(const NicMessage& message) {
  const nic::Sge sge{next_address_, message.bytes, keys_.lkey};
  const nic::SendWr wr{.wr_id = message.message,
                       .op = nic::SendOp::kWriteImm,
                       .flags = nic::SendFlags::kSignaled,
                       .sges = {&sge, 1},
                       .remote_address = next_address_,
                       .rkey = keys_.rkey,  // the keys are the same on all NICs
                       .immediate = message.immediate};
  if (!engine_.post_send(handle_of(message.qp), wr)) {
    return user_->failed(node_, message.qp, "the connection is in error");
  }
  ++outstanding_;
  if (config().payload != nullptr) next_address_ = (next_address_ + message.bytes) % (kMemory / 2);
  pull();
}

// Another flow label gives the flow another path with ECMP, as a new QP would have.
void SimNic::restart_flow(QpNumber qp) {
  constexpr std::uint32_t kLabels = 0xf'ffff;  // and zero, which means none
  flow_label_ = flow_label_ % kLabels + 1;
  CHECK(engine_.restart_flow(handle_of(qp), flow_label_));
}

void SimNic::redirect_flow(QpNumber qp, std::uint32_t label) {
  // A QP in the error state sends nothing any more.
  (void)engine_.redirect_flow(handle_of(qp), label);
}

PortId SimNic::port_to(NodeId destination, Qpn qp) const {
  return has_one_port() ? port_ : fabric_.nic_port(node_, destination, qp);
}

bool SimNic::has_idle_port() const {
  if (has_one_port()) return fabric_.port(port_).waiting == 0;
  return std::ranges::any_of(ports_, [&](PortId one) { return fabric_.port(one).waiting == 0; });
}

// Grants no data while the port holds data or is paused. Packets wait in the engine instead of at
// the port, so that ACKs can overtake them.
std::uint32_t SimNic::grant(const Request& request) {
  const Port& port = fabric_.port(
      has_one_port() ? port_ : port_to(node_of(request.flow.destination), request.destination));
  const bool urgent = request.flow.traffic_class == kUrgent;
  const unsigned bit = 1U << (urgent ? config().control_class : config().data_class);
  return ((port.waiting | port.paused) & bit) != 0 ? 0 : request.frames;
}

bool SimNic::is_ready_to_send() const {
  return !hardware_ || hardware_->takes_next() <= clockwork_.now();
}

void SimNic::pull() {
  nic::TxBurst& burst = shared_burst();
  while (engine_.wants_to_send() && has_idle_port() && is_ready_to_send() &&
         engine_.transmit(burst, clockwork_.now()) > 0) {
    for (const wire::Frame& frame : burst.frames()) send(frame);
  }
  engine_.fetch_senders();
  arm();
}

void SimNic::send(const wire::Frame& frame) {
  const PacketId id = clockwork_.packets.take();
  Packet& packet = clockwork_.packets[id];
  std::construct_at(&packet.frame, frame);
  // A message is one contiguous buffer, unchanged until it is acknowledged.
  packet.piece = frame.payload.empty() ? wire::Piece{} : frame.payload[0];
  packet.piece.length = frame.payload_length;
  packet.frame.telemetry = {};
  packet.destination = node_of(frame.flow.destination);
  packet.bytes = static_cast<std::uint32_t>(wire::packet_size(frame)) + kEthernetBytes;
  const bool control = is_control(frame);
  packet.traffic_class = control ? config().control_class : config().data_class;
  if (!control) ++data_packets_;
  packet.flow_hash = flow_hash(node_, packet.destination, config().hash_by_qp,
                               frame.flow.source_port, frame.headers.bth.dest_qp);
  packet.hops = 0;
  packet.may_be_marked = frame.flow.ecn() != wire::Ecn::kNotCapable;
  packet.marked = false;
  packet.collects = false;
  if (clockwork_.packets.has_trails()) begin_trail(id, frame);
  const Duration delay = delay_of(packet);
  if (delay == Duration{}) return release(id);
  clockwork_.wheel.after(delay, Happening::kNicPacket, node_.value(), id.value());
}

Duration SimNic::delay_of(const Packet& packet) {
  const wire::Bth& bth = packet.frame.headers.bth;
  const bool is_cnp = bth.opcode == wire::kCnpOpcode;
  const Duration delay = is_cnp ? config().cnp_delay : Duration{};
  if (!hardware_) return delay;
  const NicHardware::Work work{.qp = hardware_->qp_towards(packet.destination, bth.dest_qp),
                               .address = packet.piece.address,
                               .payload = packet.piece.length,
                               .bytes = packet.bytes,
                               .begins_request = begins_request(bth.opcode)};
  const Time now = clockwork_.now();
  return delay + (hardware_->send(work, now) - now);
}

void SimNic::go_on(PacketId id) {
  const Packet& packet = clockwork_.packets[id];
  if (packet.destination != node_) return release(id);
  take(packet.ingress, id);
  pull();
}

void SimNic::release(PacketId id) {
  const Packet& packet = clockwork_.packets[id];
  fabric_.send(port_to(packet.destination, packet.frame.headers.bth.dest_qp), id);
}

// Data packets collect telemetry; ACKs return it.
void SimNic::begin_trail(PacketId id, const wire::Frame& frame) {
  Packet& packet = clockwork_.packets[id];
  Trail& trail = clockwork_.packets.trail(id);
  trail.count = 0;
  for (const wire::HopTelemetry& hop : frame.telemetry) trail.add(hop);
  packet.collects = packet.traffic_class == config().data_class;
  packet.bytes += kTelemetryBytes;
}

void SimNic::arrive(PortId at, PacketId id) {
  if (fabric_.lost_in_flight(at, id)) return;
  if (hardware_) return admit(at, id);
  take(at, id);
  pull();
}

void SimNic::admit(PortId at, PacketId id) {
  Packet& packet = clockwork_.packets[id];
  packet.ingress = at;
  if (has_receive_buffer(at)) {
    if (!hardware_->admit(packet.bytes)) return fabric_.drop(at, id);
    if (fabric_.is_lossless(at, config().data_class) && hardware_->begins_pause()) {
      fabric_.pause_switch(at, true);
    }
  }
  const Time now = clockwork_.now();
  const Time ready = hardware_->receive({.qp = packet.frame.headers.bth.dest_qp,
                                         .address = packet.piece.address,
                                         .payload = packet.piece.length,
                                         .bytes = packet.bytes},
                                        now);
  clockwork_.wheel.at(ready, Happening::kNicPacket, node_.value(), id.value());
}

// With credits, the switch sends no more than the NIC has room for.
bool SimNic::has_receive_buffer(PortId at) const {
  return fabric_.port(at).kind == LinkKind::kEthernet;
}

void SimNic::leave_receive_buffer(PortId at, std::uint32_t bytes) {
  if (!has_receive_buffer(at)) return;
  hardware_->release(bytes);
  if (hardware_->ends_pause()) fabric_.pause_switch(at, false);
}

void SimNic::take(PortId at, PacketId id) {
  Packet& packet = clockwork_.packets[id];
  if (hardware_) leave_receive_buffer(at, packet.bytes);
  packet.frame.payload = {&packet.piece, packet.piece.length > 0 ? 1U : 0U};
  if (packet.marked) packet.frame.flow.set_ecn(wire::Ecn::kCongestion);
  if (clockwork_.packets.has_trails()) {
    const Trail& trail = clockwork_.packets.trail(id);
    packet.frame.telemetry = {trail.hops.data(), trail.count};
  }
  fabric_.taken(at, packet);
  engine_.receive({&packet.frame, 1}, clockwork_.now());
  clockwork_.packets.give_back(id);
  collect();
}

void SimNic::collect() {
  static thread_local std::array<nic::Completion, 8> some;
  while (completions_->load(std::memory_order_relaxed) > 0) {
    const std::size_t count = *engine_.poll_cq(cq_, some);
    for (const nic::Completion& one : std::span{some}.first(count)) tell(one);
  }
}

void SimNic::tell(const nic::Completion& done) {
  if (done.status != nic::WcStatus::kSuccess) {
    QpNumber failed{0};
    while (qpn_of(failed) != done.qpn) failed = QpNumber{failed.value() + 1};
    return user_->failed(node_, failed, reason_of(done.status));
  }
  if (done.opcode != nic::WcOpcode::kRecvWriteImm) {
    --outstanding_;
    return user_->sent(node_, done.wr_id);
  }
  const QpNumber qp{static_cast<std::uint32_t>(done.wr_id)};
  refill(qp);
  user_->received(node_, qp, done.immediate);
}

void SimNic::port_free(PortId at) {
  fabric_.port_free(at);
  if (!has_one_port())
    engine_.resume();  // QPs of this port may have been skipped while it was busy
  pull();
}

void SimNic::resumed() {
  engine_.resume();
  pull();
}

void SimNic::arm() {
  auto due = engine_.next_deadline();
  if (hardware_ && engine_.wants_to_send() && !is_ready_to_send()) {
    due = std::min(due.value_or(FabricPart::kNever), hardware_->takes_next());
  }
  if (!due || timer_at_ <= *due) return;
  timer_at_ = std::max(*due, clockwork_.now());
  clockwork_.wheel.at(timer_at_, Happening::kNicTimer, node_.value());
}

// Earlier settings may leave stale events; only the one at timer_at_ counts, which is the earliest.
void SimNic::timer(Time when) {
  if (when != timer_at_) return;
  timer_at_ = FabricPart::kNever;
  engine_.expire(clockwork_.now());
  collect();
  pull();
}

}  // namespace nerve::sim
