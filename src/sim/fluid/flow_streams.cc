// What a stream sends and by which path: bytes on the cable, latency, links, cores of TCP hosts.
#include <algorithm>

#include "nic/ethernet/port.h"
#include "sim/core/packet.h"
#include "sim/fluid/flow_network.h"

namespace nerve::sim {
namespace {

constexpr std::int64_t kPerByte = 8'000'000'000;  // kb/s times picoseconds
constexpr std::uint32_t kFirstQpn = 0x11;         // engines number their QPs from here
constexpr std::uint32_t kMostCables = 64;         // the longest path
constexpr std::uint32_t kBatch = 65'536;          // bytes that a TCP host's core handles at once
constexpr std::int64_t kCore = 100'000'000;       // the nominal capacity of a core, kb/s

Qpn qpn_of(QpNumber qp) { return Qpn{kFirstQpn + qp.value()}; }

// A packet on an empty path, and its time at the slowest cable.
struct Crossing {
  Duration time{};
  Duration slowest{};
};

Crossing crossing(Fabric& fabric, PortId by, NodeId to, std::uint32_t bytes) {
  Crossing all;
  for (std::uint32_t i = 0; i < kMostCables; ++i) {
    const Port& port = fabric.port(by);
    const FabricConfig& config = fabric.config_of(port);
    const bool head_alone = config.cut_through && port.to_switch;
    all.time +=
        port.line.time_of(head_alone ? std::min(bytes, kCutThroughHead) : bytes) + port.delay;
    all.slowest = std::max(all.slowest, port.line.time_of(bytes + Fabric::gap(port)));
    const NodeId next = fabric.port(port.peer).node;
    if (next == to || !port.to_switch) break;
    all.time += config.switch_latency;
    const auto ways = fabric.routes().ways(next, to);
    if (ways.empty()) break;
    by = ways[0];
  }
  return all;
}

TcpCost cost_of(Duration packet, Rate copy, std::uint32_t payload, std::uint32_t on_cable) {
  const Duration each = packet + copy.time_to_send(payload);
  const std::int64_t packets = std::max<std::int64_t>(1, kBatch / payload);
  return {std::int64_t{on_cable} * kPerByte / each.count(), each * packets};
}

}  // namespace

// Besides its segments, the sender's core handles an ACK for every second one.
TcpCost sending_cost(const TcpSpec& spec, std::uint32_t on_cable) {
  return cost_of(spec.per_packet * 3 / 2, spec.copy_out, spec.mtu - kIpAndTcp, on_cable);
}

TcpCost receiving_cost(const TcpSpec& spec, std::uint32_t on_cable) {
  return cost_of(spec.per_packet_received, spec.copy, spec.mtu - kIpAndTcp, on_cable);
}

const FlowTransport& FlowNetwork::transport_of(const Stream& stream) const {
  return transports_[fabric_.graph().nodes[stream.from.value()].network];
}

std::uint32_t FlowNetwork::gap_of(const Stream& stream) const {
  return Fabric::gap(fabric_.port(fabric_.first_port(stream.from)));
}

std::int64_t FlowNetwork::work_of(const Stream& stream, const Piece& piece) const {
  const FlowTransport& transport = transport_of(stream);
  const std::int64_t around =
      transport.packets_of(piece.bytes) * std::int64_t{transport.around + gap_of(stream)};
  return (transport.padded(piece.bytes) + around + transport.around_first + transport.around_last) *
         kPerByte;
}

// From the time at which the last byte has left at the stream's rate to its arrival. The rate is at
// most that of the slowest cable, where packets follow each other without a break; so what remains
// is the crossing of the first packet without its time there. A short packet does not overtake the
// packets of the message before it.
Duration FlowNetwork::tail_of(const Stream& stream, const Piece& piece) const {
  const FlowTransport& transport = transport_of(stream);
  Duration tail = stream.tail;
  if (piece.bytes <= transport.payload && !stream.follows) {
    const std::uint32_t packet = transport.padded(piece.bytes) + transport.around +
                                 transport.around_first + transport.around_last;
    const Crossing all = crossing(fabric_, port_of(stream), stream.to, packet);
    tail = all.time - all.slowest;
  }
  if (!transport.tcp) return tail;
  const std::uint32_t on_cable = transport.payload + transport.around + gap_of(stream);
  return tail + receiving_cost(*transport.tcp, on_cable).batch + transport.tcp->latency;
}

// As SimNic and TcpNic choose.
PortId FlowNetwork::port_of(const Stream& stream) const {
  const auto ports = fabric_.ports_of(stream.from);
  if (ports.size() == 1) return ports[0];
  const std::size_t first =
      transport_of(stream).tcp ? stream.peer.value() : qpn_of(stream.peer).value();
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const PortId one = ports[(first + i) % ports.size()];
    if (fabric_.leads_to(one, stream.to)) return one;
  }
  return ports[first % ports.size()];
}

std::uint32_t FlowNetwork::hash_of(const Stream& stream) const {
  const std::uint32_t hash = mix(stream.from.value(), stream.to.value());
  const FlowTransport& transport = transport_of(stream);
  if (transport.tcp) return mix(hash, stream.qp.value());
  if (!transport.hash_by_qp) return hash;
  const Qpn peer = qpn_of(stream.peer);
  return mix(mix(hash, nic::source_port(0, qpn_of(stream.qp), peer)), peer.value());
}

// Whether the path of a stream is up at this time.
bool FlowNetwork::is_up(const Stream& stream) {
  const auto path = paths_.find({port_of(stream), stream.to, hash_of(stream)});
  return !path.empty() && std::ranges::none_of(path, [&](const FairRates::Use& use) {
    return rates_.capacity(use.link) == 0;
  });
}

// Returns false when the path is down. Then the stream has none.
bool FlowNetwork::find_path(std::uint32_t number) {
  Stream& stream = streams_[number];
  if (stream.version == paths_.version()) return true;
  if (rates_.counted(number)) compute_rates();  // it has ended, and must leave its links first
  const PortId by = port_of(stream);
  std::span<const FairRates::Use> path = paths_.find({by, stream.to, hash_of(stream)});
  const auto down = [&](const FairRates::Use& use) { return rates_.capacity(use.link) == 0; };
  stream.version = kNone;
  if (path.empty() || std::ranges::any_of(path, down)) return false;
  const FlowTransport& transport = transport_of(stream);
  if (transport.tcp) {
    with_cores_.assign(path.begin(), path.end());
    add_cores(stream, with_cores_);
    path = with_cores_;
  }
  rates_.set_path(number, path);
  const Crossing full = crossing(fabric_, by, stream.to,
                                 transport.payload + transport.around + transport.around_first);
  stream.tail = full.time - full.slowest;
  stream.acknowledgement =
      crossing(fabric_, fabric_.first_port(stream.to), stream.from, transport.acknowledgement).time;
  stream.version = paths_.version();
  return true;
}

// A core is a link: a connection that uses it more per byte weighs more.
FairRates::Use FlowNetwork::core_of(NodeId node, QpNumber connection, NodeId peer,
                                    std::int64_t fastest) {
  const FlowTransport& transport = transports_[fabric_.graph().nodes[node.value()].network];
  const std::uint32_t hash = mix(mix(node.value(), peer.value()), connection.value());
  std::vector<FairRates::Number>& cores = cores_[node.value()];
  cores.resize(transport.tcp->cores, FairRates::kNone);
  FairRates::Number& core = cores[hash % transport.tcp->cores];
  if (core == FairRates::kNone) core = rates_.add_link(kCore);
  return {core, static_cast<std::uint32_t>(kCore * FairRates::kWhole / fastest)};
}

void FlowNetwork::add_cores(const Stream& stream, std::vector<FairRates::Use>& path) {
  const FlowTransport& transport = transport_of(stream);
  const std::uint32_t on_cable = transport.payload + transport.around + gap_of(stream);
  path.push_back(
      core_of(stream.from, stream.qp, stream.to, sending_cost(*transport.tcp, on_cable).fastest));
  path.push_back(core_of(stream.to, stream.peer, stream.from,
                         receiving_cost(*transport.tcp, on_cable).fastest));
}

void FlowNetwork::count_ports() {
  divide_carried();
  for (FairRates::Number link = 0; link < carried_.size(); ++link) carry(link, rates_.load(link));
  for (std::uint32_t i = 0; i < fabric_.ports().size(); ++i) {
    const FairRates::Number link = paths_.link_of(PortId{i});
    if (link == FairRates::kNone) continue;
    Port& port = fabric_.port(PortId{i});
    const FlowTransport& transport = transports_[port.network];
    const double bytes = carried_[link].kilobits_ps / static_cast<double>(kPerByte) /
                         static_cast<double>(paths_.ports_of(link));
    const std::uint32_t gap = Fabric::gap(port);
    const auto on_cable = static_cast<std::uint64_t>(bytes);
    port.sent_packets = on_cable / (transport.payload + transport.around + gap);
    port.sent_bytes = on_cable - port.sent_packets * gap;
  }
}

}  // namespace nerve::sim
