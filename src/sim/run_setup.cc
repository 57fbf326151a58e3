#include "sim/run_setup.h"

#include <algorithm>

#include "sim/fabric/path_time.h"
#include "sim/policy_choice.h"
#include "sim/scenario/units.h"
#include "sim/topology/build_network.h"

namespace nerve::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kQueueDepth = 16;
constexpr std::uint32_t kAroundPayload = 128;
constexpr std::uint32_t kAroundIp = 18;
// In a lossless network, a QP without a response is usually just waiting. In a lossy one, the last
// packets of a message may be lost, which only the timeout detects.
constexpr Duration kLosslessTimeout = milliseconds{16};
constexpr Duration kLossyTimeout = milliseconds{4};

bool is_lossless(const FabricConfig& config) {
  return has_credits(config.kind) || (config.buffer.lossless >> kDataClass & 1U) != 0;
}

// Scales a default rate to the line rate; a rate set by the scenario stays.
Rate scaled(Rate given, Rate usual, Rate usual_line, Rate line) {
  if (given != usual) return given;
  __extension__ using Wide = unsigned __int128;
  return Rate::bits_per_second(static_cast<std::uint64_t>(
      Wide{usual.bits_per_second()} * line.bits_per_second() / usual_line.bits_per_second()));
}

Rate within(Rate pcie, Rate rate) { return pcie == Rate{} ? rate : std::min(pcie, rate); }

// PCIe limits the NICs, but not the cables between switches.
NetworkSpec within_pcie(NetworkSpec spec, Rate pcie) {
  if (pcie == Rate{} || spec.nic_rate <= pcie) return spec;
  if (spec.trunk_rate == Rate{} && spec.spines == 0) spec.trunk_rate = spec.nic_rate;
  spec.nic_rate = pcie;
  return spec;
}

SimulatedNetwork network_of(const NetworkSpec& spec, const NicSpec& nics, const TcpSpec& tcp,
                            CheckedMemory& payload) {
  SimulatedNetwork network;
  network.fabric = spec.switches;
  if (nics.transport == Transport::kTcp) {
    network.tcp = tcp;
    network.fabric.longest_packet = std::max(spec.switches.longest_packet, tcp.mtu + kAroundIp);
    network.fabric.buffer.lossless = 0;
    network.fabric.telemetry = false;
    return network;
  }
  network.fabric.longest_packet =
      std::max(spec.switches.longest_packet, nic::bytes(nics.mtu) + kAroundPayload);
  network.fabric.telemetry |= nics.flow_control.algorithm == nic::CcAlgorithm::kHpcc;
  network.nics.mtu = nics.mtu;
  network.nics.data_class = kDataClass;
  network.nics.queue_depth = kQueueDepth;
  network.nics.hash_by_qp = nics.hash_by_qp;
  network.nics.cnp_delay = nics.cnp_delay;
  network.nics.hardware = nics.hardware;
  const Duration wait = is_lossless(network.fabric) ? kLosslessTimeout : kLossyTimeout;
  network.nics.timeout = timeout_code(nics.timeout > Duration{} ? nics.timeout : wait);
  network.nics.payload = nics.check_payload ? &payload : nullptr;
  nic::NicConfig& engine = network.nics.engine;
  engine.selective_repeat.on = nics.recovery == Recovery::kSelectiveRepeat;
  engine.ultra_ethernet = {.entropies = nics.sprays ? nics.entropies : 0,
                           .trimming = network.fabric.trimming,
                           .receiver_credits = nics.receiver_credits};
  network.fabric.trimmed_class = network.nics.control_class;
  return network;
}

// The request and its ACK are sent and received; the payload is read.
Duration round_trip_in(const NicHardwareSpec& hardware) {
  return hardware.modelled ? 4 * hardware.per_packet + hardware.dma_read : Duration{};
}

// The bytes on the way at this rate.
std::uint64_t bytes_in(Rate line, Duration time) {
  constexpr std::uint64_t kBitsTimesPicoseconds = 8'000'000'000'000;
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{line.bits_per_second()} *
                                    static_cast<std::uint64_t>(time.count()) /
                                    kBitsTimesPicoseconds);
}

// As in IRN: a window of one bandwidth-delay product of the longest path, and a timeout longer than
// the longest queue. One ACK answers several packets, so the window has room for as many more. With
// several paths, a late packet does not count as lost.
void settle_repeat(SimulatedNetwork& network, Rate line, std::uint32_t packet,
                   Duration round_trip) {
  constexpr std::uint32_t kLeastWindow = 16;
  constexpr std::uint32_t kReordered = 32;
  constexpr Duration kLate = std::chrono::microseconds{200};
  nic::NicConfig& engine = network.nics.engine;
  const std::uint64_t held = bytes_in(line, round_trip);
  engine.max_outstanding_packets =
      std::max(kLeastWindow, static_cast<std::uint32_t>((held + packet - 1) / packet)) +
      engine.flow_control.ack_every;
  const Duration longest_queue = line.time_to_send(network.fabric.buffer.bytes / 2);
  engine.selective_repeat.timeout =
      std::max(engine.selective_repeat.timeout, 2 * round_trip + longest_queue);
  const PathChoice choice = network.fabric.path_choice;
  if (choice != PathChoice::kSpray && choice != PathChoice::kAdaptive) return;
  engine.selective_repeat.reorder_window = kReordered;
  engine.selective_repeat.reorder_timeout = kLate;
}

// As in the simulation model of the Ultra Ethernet specification (docs/ultra-ethernet.md): a queue
// is full at a bandwidth-delay product and marks from 20 to 80 % of that; a window may be one and a
// half. A trimmed packet is reported, so being overtaken does not mean that a packet is lost.
void settle_ultra_ethernet(SimulatedNetwork& network, Rate line, Duration round_trip,
                           const NicSpec& nics) {
  FabricConfig& fabric = network.fabric;
  nic::NicConfig& engine = network.nics.engine;
  const std::uint32_t packet = nic::bytes(nics.mtu);
  const std::uint64_t held = std::max<std::uint64_t>(bytes_in(line, round_trip), packet);
  if (fabric.trimming) {
    if (fabric.trim_at == 0) fabric.trim_at = std::max<std::uint64_t>(held, 4 * packet);
    if (fabric.marking.per_gigabit) {
      fabric.marking.low = fabric.trim_at / 5;
      fabric.marking.high = fabric.trim_at * 4 / 5;
      fabric.marking.per_gigabit = false;
      if (fabric.marking.per_million == MarkingConfig{}.per_million) {
        fabric.marking.per_million = 1'000'000;
      }
    }
  }
  nic::NsccParameters& nscc = engine.flow_control.nscc;
  const nic::NsccParameters usual;
  if (nscc.base_round_trip == usual.base_round_trip) nscc.base_round_trip = round_trip;
  if (nscc.target == usual.target) {
    nscc.target = fabric.trimming ? nscc.base_round_trip * 3 / 4 : nscc.base_round_trip;
  }
  const std::uint64_t window = held * 3 / 2;
  const std::uint64_t unsolicited = nics.unsolicited > 0 ? nics.unsolicited : window;
  engine.ultra_ethernet.unsolicited_packets =
      static_cast<std::uint32_t>(std::max<std::uint64_t>((unsolicited + packet - 1) / packet, 1));
  if (!engine.selective_repeat.on) return;
  const bool windowed =
      engine.flow_control.algorithm == nic::CcAlgorithm::kNscc || nics.receiver_credits;
  if (windowed) {  // it bounds what is in the network; more may have arrived out of order
    constexpr std::uint32_t kMost = 16'384;
    engine.max_outstanding_packets = std::min(4 * engine.max_outstanding_packets, kMost);
  }
  nic::SelectiveRepeatConfig& repeat = engine.selective_repeat;
  if (fabric.trimming) {
    constexpr std::int64_t kHops = 6;
    repeat.timeout =
        2 * round_trip + kHops * line.time_to_send(fabric.trim_at) + std::chrono::microseconds{15};
    repeat.timeout_of_few = repeat.timeout;
    repeat.reorder_window = 1U << 20U;
    repeat.reorder_timeout = {};
  } else if (nics.sprays) {
    constexpr std::uint32_t kReordered = 32;
    repeat.reorder_window = kReordered;
    repeat.reorder_timeout = std::chrono::microseconds{200};
  }
}

// Measures the round trip in the network that was built. The rates of DCQCN and TIMELY are those of
// the slowest NIC: steps that are too large for it would disturb it more than small ones slow down
// the others.
void settle_nics(RunSetup& setup, std::uint8_t number, Rate pcie, const NicSpec& nics) {
  SimulatedNetwork& network = setup.networks[number];
  if (network.tcp) return;
  std::vector<FabricConfig> fabrics;
  fabrics.reserve(setup.networks.size());
  for (const SimulatedNetwork& one : setup.networks) fabrics.push_back(one.fabric);
  Fabric fabric{0, setup.graph, fabrics};
  const Duration round_trip =
      longest_round_trip(fabric, number, nic::bytes(nics.mtu) + kAroundPayload) +
      round_trip_in(nics.hardware);
  const Rate line = within(pcie, setup.nic_rates[number].slowest);
  network.nics.engine.flow_control = settled(nics.flow_control, line, round_trip);
  network.nics.engine.flow_control.learned.policy = setup.policies[number].get();
  if (network.nics.engine.selective_repeat.on) {
    settle_repeat(network, line, nic::bytes(nics.mtu), round_trip);
  }
  settle_ultra_ethernet(network, line, round_trip, nics);
}

// Builds one network and notes the rates of its NICs.
Result<Graph, std::string> build(RunSetup& setup, const NetworkSpec& spec, Rate pcie,
                                 const NetworkHosts& hosts, const std::string& which) {
  auto graph = build_network(within_pcie(spec, pcie), hosts);
  if (!graph) return Unexpected{which + graph.error()};
  const auto rates = nic_rates_of(spec, *graph);
  if (!rates) return Unexpected{rates.error()};
  setup.nic_rates.push_back(*rates);
  if (spec.topology == TopologyKind::kFile && pcie != Rate{}) hold_nics_to(pcie, *graph);
  return graph;
}

std::string objection_to(const Scenario& scenario) {
  const ServerSpec& servers = scenario.servers;
  if (servers.count == 0) return "there are no servers";
  if (servers.gpus == 0) return "servers have no GPUs";
  if (servers.nics == 0) return "servers have no NICs";
  if (servers.interconnect == Rate{}) return "the interconnect has no rate";
  if (scenario.tcp.cores == 0) return "TCP hosts have no cores";
  if (scenario.tcp.copy == Rate{} || scenario.tcp.copy_out == Rate{}) {
    return "TCP hosts copy at no rate";
  }
  if (scenario.tcp.mtu < 576) return "a TCP MTU below 576";
  if (scenario.front_end) return "";
  if (scenario.storage && scenario.storage->on_front_end) {
    return "storage is on the front end, but there is none";
  }
  for (const JobSpec& job : scenario.jobs) {
    if (job.on_front_end) return "job " + job.name + " is on the front end, but there is none";
  }
  return "";
}

// How many QPs a pair has. Those of one NIC share a path if they are controlled and it is as fast.
std::uint32_t lanes_of(const NicSpec& nics, const NetworkSpec& network, const Graph& graph) {
  constexpr std::uint64_t kMost = 64;
  if (nics.qps_per_pair > 0) return nics.qps_per_pair;
  if (network.switches.path_choice != PathChoice::kControlled) return 1;
  return static_cast<std::uint32_t>(std::min(paths_to_fill_a_nic(graph), kMost));
}

ClusterConfig cluster_of(const Scenario& scenario) {
  ClusterConfig config;
  const ServerSpec& servers = scenario.servers;
  config.shape.servers = servers.count;
  config.shape.gpus = servers.gpus;
  config.shape.nics = servers.nics;
  config.shape.relay_across_rails =
      scenario.nics.relay_across_rails || scenario.back_end.topology == TopologyKind::kRailOnly;
  config.interconnect = servers.interconnect;
  config.interconnect_delay = servers.interconnect_delay;
  config.back_end = {.queue_depth = kQueueDepth, .admission = scenario.nics.admission};
  config.front_end = {.queue_depth = kQueueDepth, .admission = scenario.front_end_nics.admission};
  if (scenario.storage) {
    config.shape.storage = scenario.storage->servers;
    config.shape.storage_on_front_end = scenario.storage->on_front_end;
    config.disk = scenario.storage->rate;
  }
  return config;
}

// The interconnect of servers that a file describes. Returns what contradicts the file.
std::string adopt(const ServersOfFile& file, const Scenario& scenario, ClusterConfig& config) {
  using namespace scenario_file;
  const ServerSpec& servers = scenario.servers;
  const std::string& name = scenario.back_end.file;
  if (servers.gpus != file.gpus || servers.nics != file.gpus) {
    return name + " has servers of " + number(file.gpus) +
           " GPUs with a NIC each, the scenario has servers of " + number(servers.gpus) +
           " GPUs and " + number(servers.nics) + " NICs";
  }
  if (file.interconnect == Rate{}) return {};
  if (!servers.interconnect_at.empty() && servers.interconnect != file.interconnect) {
    return servers.interconnect_at + rate_text(servers.interconnect) + ", but the GPUs in " + name +
           " have links of " + rate_text(file.interconnect) +
           " to NVSwitches; leave interconnect out, or change the file";
  }
  if (!servers.interconnect_delay_at.empty() &&
      servers.interconnect_delay != file.interconnect_delay) {
    return servers.interconnect_delay_at + time_text(servers.interconnect_delay) +
           ", but two links to an NVSwitch in " + name + " take " +
           time_text(file.interconnect_delay) +
           "; leave interconnect_delay out, or change the file";
  }
  config.interconnect = file.interconnect;
  config.interconnect_delay = file.interconnect_delay;
  return {};
}

// The policies of all networks; returns what is wrong with a file.
std::string choose_policies(const Scenario& scenario, RunSetup& setup) {
  for (const NicSpec* const nics : {&scenario.nics, &scenario.front_end_nics}) {
    auto policy = policy_of(*nics);
    if (!policy) return policy.error();
    setup.policies.push_back(*std::move(policy));
  }
  return {};
}

}  // namespace

std::uint8_t timeout_code(Duration timeout) {
  std::uint8_t code = 1;
  while (code < 31 && Duration{std::int64_t{4'096'000} << code} < timeout) ++code;
  return code;
}

nic::FlowControlConfig settled(nic::FlowControlConfig flow_control, Rate line,
                               Duration round_trip) {
  // The defaults are for 40 Gb/s (the DCQCN paper) and 10 Gb/s (TIMELY).
  const nic::FlowControlConfig usual;
  constexpr Rate kDcqcnLine = Rate::gigabits(40);
  constexpr Rate kTimelyLine = Rate::gigabits(10);
  nic::DcqcnParameters& dcqcn = flow_control.dcqcn;
  dcqcn.additive_increase =
      scaled(dcqcn.additive_increase, usual.dcqcn.additive_increase, kDcqcnLine, line);
  dcqcn.hyper_increase = scaled(dcqcn.hyper_increase, usual.dcqcn.hyper_increase, kDcqcnLine, line);
  flow_control.timely.step = scaled(flow_control.timely.step, usual.timely.step, kTimelyLine, line);
  if (flow_control.hpcc.base_round_trip == usual.hpcc.base_round_trip && round_trip > Duration{}) {
    flow_control.hpcc.base_round_trip = round_trip;
  }
  flow_control.learned.base_round_trip = round_trip;
  return flow_control;
}

Result<RunSetup, std::string> lay_out(const Scenario& scenario, CheckedMemory& payload) {
  if (const std::string why = objection_to(scenario); !why.empty()) return Unexpected{why};
  RunSetup setup;
  setup.cluster = cluster_of(scenario);
  if (std::string why = choose_policies(scenario, setup); !why.empty()) return Unexpected{why};
  ClusterShape& shape = setup.cluster.shape;
  const std::uint32_t beside = shape.storage_on_front_end ? 0 : shape.storage;
  auto graph = build(setup, scenario.back_end, scenario.servers.pcie,
                     {shape.servers + beside, shape.nics}, "the back end: ");
  if (!graph) return Unexpected{graph.error()};
  if (graph->servers) {
    const std::string why = adopt(*graph->servers, scenario, setup.cluster);
    if (!why.empty()) return Unexpected{why};
  }
  setup.cluster.back_end.lanes = lanes_of(scenario.nics, scenario.back_end, *graph);
  setup.graph = std::move(*graph);
  setup.networks.push_back(network_of(scenario.back_end, scenario.nics, scenario.tcp, payload));
  setup.networks[0].nics_per_pcie = scenario.servers.nics_per_pcie;
  setup.networks[0].pcie = scenario.servers.pcie;
  if (scenario.front_end) {
    const NetworkSpec& front_end = *scenario.front_end;
    const std::uint32_t also = shape.storage_on_front_end ? shape.storage : 0;
    auto front = build(setup, front_end, scenario.servers.pcie, {shape.servers + also, 1},
                       "the front end: ");
    if (!front) return Unexpected{front.error()};
    if (front->servers) {
      return Unexpected{"the front end: " + front_end.file +
                        " describes servers with GPUs; it can only be the back end"};
    }
    setup.cluster.front_end.lanes = lanes_of(scenario.front_end_nics, front_end, *front);
    shape.front_end = static_cast<std::uint32_t>(setup.graph.nodes.size());
    setup.graph = merge(std::move(setup.graph), *front);
    setup.networks.push_back(network_of(front_end, scenario.front_end_nics, scenario.tcp, payload));
  }
  return setup;
}

Result<RunSetup, std::string> set_up(const Scenario& scenario, CheckedMemory& payload) {
  auto setup = lay_out(scenario, payload);
  if (!setup) return setup;
  const Rate pcie = scenario.servers.pcie;
  if (scenario.front_end) settle_nics(*setup, 1, pcie, scenario.front_end_nics);
  settle_nics(*setup, 0, pcie, scenario.nics);
  return setup;
}

}  // namespace nerve::sim
