#include "sim/flow_setup.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/packet.h"
#include "sim/fabric/path_time.h"

namespace nerve::sim {
namespace {

constexpr std::uint32_t kAroundRdma = kEthernetBytes + 20 + 8 + 12 + 4;  // IP, UDP, BTH, ICRC
constexpr std::uint32_t kAcknowledgement = kAroundRdma + 4;              // AETH
constexpr std::uint32_t kReth = 16;
constexpr std::uint32_t kImmediate = 4;
constexpr std::uint32_t kTelemetryBytes = 42;
constexpr std::uint32_t kTcpAcknowledgement = kEthernetBytes + kIpAndTcp;
constexpr std::uint32_t kMostSlices = 2;           // of a message within a server
constexpr std::uint32_t kMostPiece = 512U << 20U;  // of a message between servers

FlowTransport transport_of(const SimulatedNetwork& network, const NicSpec& nics) {
  FlowTransport transport;
  if (network.tcp) {
    transport.payload = network.tcp->mtu - kIpAndTcp;
    transport.around = kEthernetBytes + kIpAndTcp;
    transport.around_first = transport.around_last = 0;
    transport.acknowledgement = kTcpAcknowledgement;
    transport.retry_after = network.tcp->minimum_timeout;
    transport.tcp = network.tcp;
    return transport;
  }
  const std::uint32_t telemetry = network.fabric.telemetry ? kTelemetryBytes : 0;
  transport.payload = nic::bytes(nics.mtu);
  transport.around = kAroundRdma + telemetry;
  transport.around_first = kReth;
  transport.around_last = kImmediate;
  transport.acknowledgement = kAcknowledgement + telemetry;
  transport.hash_by_qp = nics.hash_by_qp;
  if (nics.flow_control.algorithm == nic::CcAlgorithm::kHpcc) {
    transport.share_used = nics.flow_control.hpcc.eta;
  }
  transport.retry_after = Duration{std::int64_t{4'096'000} << network.nics.timeout};
  transport.retries = network.nics.retries;
  return transport;
}

// How crowded the switch ports of a network were.
struct Crowd {
  std::uint64_t shared{};  // ports that were the bottleneck of several flows
  bool between_switches{};
  std::uint32_t most{};  // flows
  PortId where{kNoPort};
};

Crowd crowd_of(Simulation& simulation, std::uint8_t network) {
  Crowd crowd;
  const FlowNetwork& flows = *simulation.flows();
  const std::span<const Port> ports = simulation.fabric().ports();
  for (std::uint32_t i = 0; i < ports.size(); ++i) {
    if (ports[i].network != network || ports[i].switch_number == kNobody) continue;
    const FairRates::Number link = flows.paths().link_of(PortId{i});
    if (link == FairRates::kNone || !flows.rates().was_shared(link)) continue;
    ++crowd.shared;
    crowd.between_switches |= ports[i].to_switch;
    const std::uint32_t count =
        (flows.rates().most_flows(link) - 1) / flows.paths().ports_of(link) + 1;
    if (count > crowd.most) {
      crowd.most = count;
      crowd.where = PortId{i};
    }
  }
  return crowd;
}

std::string name_of(Simulation& simulation, PortId port) {
  const Graph& graph = simulation.fabric().graph();
  return graph.nodes[graph.node_at(port).value()].name + " to " +
         graph.nodes[graph.node_at(Graph::other_end(port)).value()].name;
}

// What the excess senders send until marks or delays have slowed them down: a round trip, and the
// time in which a queue at the middle of the marking range drains. At most a message each.
double burst_of(Simulation& simulation, const Crowd& crowd, std::uint8_t network,
                const NicSpec& nics) {
  const Port& port = simulation.fabric().port(crowd.where);
  const FabricConfig& config = simulation.fabric().config_of(port);
  const double message = simulation.flows()->largest_in(network);
  if (nics.transport == Transport::kRdma &&
      nics.flow_control.algorithm == nic::CcAlgorithm::kNone) {
    return (crowd.most - 1) * message;
  }
  const Duration react =
      longest_round_trip(simulation.fabric(), network, config.longest_packet) + nics.cnp_delay;
  const double per_ps = static_cast<double>(port.rate.bits_per_second()) / 8e12;
  const double marking =
      config.marking.on ? static_cast<double>(config.marking.low + config.marking.high) / 2 : 0;
  return (crowd.most - 1) *
         std::min(message, static_cast<double>(react.count()) * per_ps + marking);
}

// The bytes that so many senders may queue at one port before they are paused or lose packets.
double room_of(const FabricConfig& config, bool lossless, std::uint32_t senders) {
  const Share& share = lossless ? config.buffer.pause_at : config.buffer.drop_at;
  const double part = static_cast<double>(share.numerator) / share.denominator;
  const double of_all = lossless ? part * senders / (1 + part * senders) : part / (1 + part);
  return static_cast<double>(config.buffer.bytes) * of_all;
}

// DCQCN, TIMELY and HPCC cut rates far when flows meet, and raise them again in small steps.
bool converges_slowly(const NicSpec& nics) {
  const nic::CcAlgorithm algorithm = nics.flow_control.algorithm;
  return algorithm == nic::CcAlgorithm::kDcqcn || algorithm == nic::CcAlgorithm::kTimely ||
         algorithm == nic::CcAlgorithm::kHpcc;
}

std::string doubt_about(Simulation& simulation, std::uint8_t network, const NicSpec& nics) {
  if (nics.transport == Transport::kTcp && simulation.flows()->largest_in(network) > 0) {
    return "TCP's windows, delayed ACKs and the turns of its cores are not simulated";
  }
  const Crowd crowd = crowd_of(simulation, network);
  if (crowd.most < 2) return {};
  const FabricConfig& config = simulation.fabric().config_of(simulation.fabric().port(crowd.where));
  const std::string where =
      fmt::format("{} flows shared the link from {}", crowd.most, name_of(simulation, crowd.where));
  const double burst = burst_of(simulation, crowd, network, nics);
  if (has_credits(config.kind)) {
    if (!crowd.between_switches || burst <= config.lane_buffer) return {};
    return where + ": packets that wait for credits there block others, which flows ignore";
  }
  const bool lossless = (config.buffer.lossless >> kDataClass & 1U) != 0;
  const double room = room_of(config, lossless, crowd.most);
  if (burst > room) {
    return fmt::format(
        "{}: about {:.1f} MB arrive before senders slow down, and there is room for {:.1f}: expect "
        "{}, which flows ignore",
        where, burst / 1e6, room / 1e6, lossless ? "pauses" : "drops");
  }
  if (!converges_slowly(nics) || burst <= static_cast<double>(config.marking.low)) return {};
  return where +
         ": congestion control needs up to milliseconds to find the rates that flows get at once";
}

void add_faults(const Scenario& scenario, std::vector<std::string>& doubts) {
  const auto has = [&](FaultKind kind) {
    return std::ranges::any_of(scenario.faults,
                               [&](const FaultSpec& fault) { return fault.kind == kind; });
  };
  if (has(FaultKind::kStorm)) doubts.emplace_back("a storm has no effect on flows");
  if (has(FaultKind::kErrors)) doubts.emplace_back("bit errors have no effect on flows");
  if (has(FaultKind::kDown)) {
    doubts.emplace_back(
        "flows on a cable that fails wait for a retransmission timeout; what is sent again is "
        "ignored");
  }
}

}  // namespace

std::string objection_to_flows(const Scenario& scenario) {
  if (scenario.nics.check_payload) {
    return "nic.check_payload needs packets: set fidelity to \"packet\"";
  }
  return {};
}

void use_flows(const Scenario& scenario, RunSetup& setup) {
  for (std::size_t i = 0; i < setup.networks.size(); ++i) {
    SimulatedNetwork& network = setup.networks[i];
    const NicSpec& nics = i == 0 ? scenario.nics : scenario.front_end_nics;
    network.flow = transport_of(network, nics);
    if (nics.sprays) network.fabric.path_choice = PathChoice::kSpray;
  }
  setup.cluster.most_slices = kMostSlices;
  for (CarrierConfig* const one : {&setup.cluster.back_end, &setup.cluster.front_end}) {
    one->most_piece = kMostPiece;
    one->admission = {};  // shares are fair without it
  }
}

std::vector<std::string> doubts_about_flows(const Scenario& scenario, Simulation& simulation) {
  std::vector<std::string> doubts;
  add_faults(scenario, doubts);
  if (scenario.nics.hardware.modelled) {
    doubts.emplace_back("flows take no time in NICs, and their caches hold everything");
  }
  if (scenario.back_end.switches.path_choice == PathChoice::kControlled) {
    doubts.emplace_back("paths that a controller chooses count as perfectly even");
  }
  const FabricConfig& switches = scenario.back_end.switches;
  if (switches.trimming) doubts.emplace_back("flows are never trimmed");
  if (scenario.nics.sprays) {
    doubts.emplace_back("paths of sprayed packets count as perfectly even");
  }
  if (scenario.nics.receiver_credits) {
    doubts.emplace_back("flows need no receiver credits: they share links evenly at once");
  }
  if (scenario.servers.nics_per_pcie > 1) doubts.emplace_back("flows do not share PCIe links");
  if (scenario.nics.admission.limit > 0 || scenario.front_end_nics.admission.limit > 0) {
    doubts.emplace_back("flows do not wait for clear-to-send messages");
  }
  const auto add = [&](std::uint8_t network, const NicSpec& nics) {
    std::string doubt = doubt_about(simulation, network, nics);
    if (!doubt.empty()) doubts.push_back(std::move(doubt));
  };
  add(0, scenario.nics);
  if (scenario.front_end) add(1, scenario.front_end_nics);
  return doubts;
}

}  // namespace nerve::sim
