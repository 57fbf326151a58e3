#include "sim/host/tcp_nic.h"

#include <algorithm>
#include <memory>

#include "base/check.h"

namespace nerve::sim {
namespace {

constexpr std::uint8_t kClass = 0;  // lossy, even if RDMA's class is lossless
constexpr std::uint32_t kLeastFrame = 64;
constexpr std::uint32_t kRangeBytes = 8;  // of a SACK block
constexpr std::uint32_t kRangesBytes = 4;
constexpr unsigned kWhatBits = 2;
// Linux waits up to 40 ms; a data centre with a shorter retransmission timeout reduces this.
constexpr Duration kAcknowledgeWithin = std::chrono::milliseconds{1};

}  // namespace

TcpNic::TcpNic(Clockwork& clockwork, Fabric& fabric, NodeId node, const TcpSpec& spec)
    : clockwork_{clockwork},
      fabric_{fabric},
      node_{node},
      spec_{spec},
      ports_{fabric.ports_of(node)},
      segment_{spec.mtu - kIpAndTcp},
      cores_{spec.cores},
      turns_(spec.cores),
      in_ring_(spec.cores),
      outgoing_(ports_.size()) {}

Joined TcpNic::join(TcpNic& a, TcpNic& b) {
  const auto number_of = [](const TcpNic& nic) {
    return static_cast<std::uint32_t>(nic.connections_.size());
  };
  const std::uint32_t here = number_of(a);
  const std::uint32_t there = number_of(b) + (&a == &b ? 1 : 0);
  const auto add = [](TcpNic& nic, TcpNic& peer, std::uint32_t own, std::uint32_t theirs) {
    // Like receive-side scaling: a hash of the two ends selects the core.
    const std::uint32_t hash = mix(mix(nic.node_.value(), peer.node_.value()), own);
    nic.connections_.push_back({.peer = &peer,
                                .number_there = theirs,
                                .core = hash % nic.cores_.count(),
                                .flow_hash = hash,
                                .sender = TcpSender{nic.spec_, nic.segment_},
                                .receiver = TcpReceiver{nic.spec_.receive_buffer},
                                .inbox = {},
                                .sending = {},
                                .receiving = {}});
  };
  add(a, b, here, there);
  add(b, a, there, here);
  return {QpNumber{here}, QpNumber{there}};
}

void TcpNic::restart_flow(QpNumber qp) {
  Connection& connection = connections_[qp.value()];
  connection.sender.restart(spec_);
  connection.flow_hash = mix(connection.flow_hash, qp.value());
}

void TcpNic::write(const NicMessage& message) {
  Connection& connection = connections_[message.qp.value()];
  // An empty message sends one byte, so that something arrives.
  connection.sender.write(std::max(message.bytes, 1U));
  const std::uint64_t end = connection.sender.end();
  connection.sending.push_back({end, message.message});
  connection.peer->connections_[connection.number_there].receiving.push_back(
      {end, message.immediate});
  ++connection.calls;
  wake(message.qp.value());
}

void TcpNic::schedule(Time when, What what, std::uint32_t number) {
  clockwork_.wheel.at(when, Happening::kTcp, node_.value(),
                      number << kWhatBits | static_cast<std::uint32_t>(what));
}

void TcpNic::happen(std::uint32_t argument) {
  const std::uint32_t number = argument >> kWhatBits;
  switch (static_cast<What>(argument % (1U << kWhatBits))) {
    case What::kCore:
      return finish(number);
    case What::kRetransmit:
      return retransmit(number);
    case What::kAcknowledge: {
      Connection& connection = connections_[number];
      connection.acknowledge_set = false;
      if (connection.receiver.owes()) acknowledge(number);
      return;
    }
    case What::kDeliver: {
      const Delivery delivery = deliveries_.front();
      deliveries_.pop_front();
      return user_->received(node_, QpNumber{delivery.connection}, delivery.immediate);
    }
  }
}

void TcpNic::arrive(PortId at, PacketId id) {
  if (fabric_.lost_in_flight(at, id)) return;
  const Packet& packet = clockwork_.packets[id];
  fabric_.taken(at, packet);
  const std::uint32_t number = packet.segment.connection;
  Connection& connection = connections_[number];
  std::uint32_t& in_ring = in_ring_[connection.core];
  if (in_ring == spec_.ring) {
    ++counters_.dropped;
    return clockwork_.packets.give_back(id);
  }
  ++in_ring;
  connection.inbox.push(clockwork_.packets, id);
  wake(number);
}

void TcpNic::port_free(PortId at) {
  fabric_.port_free(at);
  pull();
}

PortId TcpNic::port_for(const Connection& connection) const {
  const std::size_t own = lane_of(connection);
  if (ports_.size() == 1) return ports_[0];
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const PortId one = ports_[(own + i) % ports_.size()];
    if (fabric_.leads_to(one, connection.peer->node_)) return one;
  }
  return ports_[own];
}

// A port holds one packet in addition to the one being sent. ACKs do not wait here.
void TcpNic::pull() {
  for (std::deque<Waiting>& waiting : outgoing_) {
    while (!waiting.empty()) {
      const Waiting next = waiting.front();
      Connection& connection = connections_[next.connection];
      if (fabric_.port(port_for(connection)).waiting != 0) break;
      waiting.pop_front();
      connection.queued -= next.piece.length;
      emit(next.connection, next.piece);
      connection.sender.on_emitted(clockwork_.now());
      set_retransmit(next.connection);
      if (!connection.waits && has_work(connection)) wake(next.connection);
    }
  }
}

void TcpNic::emit(std::uint32_t number, const TcpPiece& piece) {
  Connection& connection = connections_[number];
  const PacketId id = clockwork_.packets.take();
  Packet& packet = clockwork_.packets[id];
  TcpSegment& segment = *std::construct_at(&packet.segment);
  connection.receiver.answer(segment);
  segment.first = piece.first;
  segment.length = piece.length;
  segment.stamp = clockwork_.now().picoseconds();
  segment.connection = connection.number_there;
  const std::uint32_t ranges =
      segment.range_count == 0 ? 0 : kRangesBytes + kRangeBytes * segment.range_count;
  packet.destination = connection.peer->node_;
  packet.bytes = std::max(piece.length + kIpAndTcp + ranges + kEthernetBytes, kLeastFrame);
  packet.flow_hash = connection.flow_hash;
  packet.traffic_class = kClass;
  packet.hops = 0;
  packet.may_be_marked = piece.length > 0 && spec_.algorithm == TcpAlgorithm::kDctcp;
  packet.marked = false;
  packet.collects = false;
  if (piece.length > 0) {
    ++counters_.data_packets;
    counters_.data_bytes += piece.length;
    counters_.retransmitted += piece.again ? 1U : 0U;
  }
  fabric_.send(port_for(connection), id);
}

void TcpNic::acknowledge(std::uint32_t number) {
  emit(number, {connections_[number].sender.end(), 0, false});
}

void TcpNic::acknowledge_if_due(std::uint32_t number) {
  Connection& connection = connections_[number];
  if (connection.receiver.owes_at_once()) return acknowledge(number);
  if (!connection.receiver.owes() || connection.acknowledge_set) return;
  connection.acknowledge_set = true;
  schedule(clockwork_.now() + kAcknowledgeWithin, What::kAcknowledge, number);
}

// The deadline may have moved since the event was scheduled; then it is scheduled again.
void TcpNic::set_retransmit(std::uint32_t number) {
  Connection& connection = connections_[number];
  if (connection.retransmit_set || !connection.sender.deadline()) return;
  connection.retransmit_set = true;
  schedule(*connection.sender.deadline(), What::kRetransmit, number);
}

void TcpNic::retransmit(std::uint32_t number) {
  Connection& connection = connections_[number];
  connection.retransmit_set = false;
  const auto due = connection.sender.deadline();
  if (due && *due <= clockwork_.now()) {
    ++counters_.timeouts;
    connection.sender.on_timeout(clockwork_.now());
    wake(number);
  }
  set_retransmit(number);
}

}  // namespace nerve::sim
