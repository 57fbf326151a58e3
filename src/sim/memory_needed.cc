// Estimates the memory of a run from the numbers of its scenario. Permutations of 1 024 and 8 192
// NICs, a full mesh of 256 (with six congestion controls) and an all-to-all along the rails of
// 2 048 needed a sixth to two fifths less than the estimate.
#include <algorithm>

#include "sim/run.h"
#include "sim/run_setup.h"
#include "sim/workload/chakra/chakra_file.h"
#include "sim/workload/simai/simai_file.h"

namespace nerve::sim {
namespace {

constexpr std::uint64_t kProgram = 16U << 20U;
constexpr std::uint64_t kEngine = 20'000;     // a NIC without QPs
constexpr std::uint64_t kQp = 3'500;          // one end of a connection
constexpr std::uint64_t kTcpEnd = 3'000;      // one end of a TCP connection
constexpr std::uint64_t kFlowNic = 1'500;     // a NIC when messages are flows, with its GPU's jobs
constexpr std::uint64_t kStream = 1'200;      // one direction of a connection as a flow
constexpr std::uint64_t kFlowPort = 400;      // a port as a link, with its result
constexpr std::uint64_t kInFlight = 300'000;  // bytes in flight per NIC, roughly
constexpr std::uint64_t kSample = 8 * 1024;   // per port, over a run
constexpr std::uint64_t kRoute = 4;           // per switch and group of NICs

// The ranks that a rank of training exchanges tokens with, and itself.
std::uint32_t experts_of(const JobSpec& job) {
  if (const auto* const simai = std::get_if<SimaiSpec>(&job.work)) {
    const auto workload = read_simai(simai->file);
    return workload ? workload->expert : 1;
  }
  return std::get<TrainingSpec>(job.work).parallelism.expert;
}

// Whether the first trace has an all-to-all.
bool exchanges_all(const ChakraSpec& chakra, std::uint32_t ranks) {
  const auto trace = read_chakra(chakra.file + ".0.et", 0, ranks);
  return trace && std::ranges::any_of(trace->nodes, [](const ChakraNode& node) {
           return node.type == ChakraType::kCollective &&
                  node.collective == CollectiveKind::kAllToAll;
         });
}

// Pairs of ranks that communicate by an all-to-all. Along rails, those at the same position of two
// servers; within servers there are no connections.
std::uint64_t pairs_of_all_to_all(const CollectiveSpec& collective, Placement placement,
                                  std::uint64_t ranks, std::uint64_t gpus_per_server) {
  const bool even = placement != Placement::kRandom && ranks % gpus_per_server == 0;
  const bool by_rails = collective.algorithm == CollectiveAlgorithm::kHierarchical ||
                        (collective.algorithm == CollectiveAlgorithm::kAuto && even);
  const std::uint64_t peers = by_rails && gpus_per_server > 1 ? ranks / gpus_per_server : ranks;
  return ranks * (peers - std::min<std::uint64_t>(peers, 1)) / 2;
}

// Pairs of ranks that communicate.
std::uint64_t pairs_of(const JobSpec& job, std::uint64_t gpus, std::uint64_t gpus_per_server) {
  const std::uint64_t ranks = job.ranks == 0 ? gpus : job.ranks;
  const std::uint64_t all = ranks * (ranks - std::min<std::uint64_t>(ranks, 1)) / 2;
  if (const auto* const flows = std::get_if<FlowsSpec>(&job.work)) {
    switch (flows->pattern) {
      case FlowPattern::kAllToAll:
        return all;
      case FlowPattern::kRandom:
      case FlowPattern::kKvCache:
        return std::min<std::uint64_t>(all, flows->requests);
      default:
        return ranks;
    }
  }
  if (const auto* const collective = std::get_if<CollectiveSpec>(&job.work)) {
    if (collective->kind != CollectiveKind::kAllToAll) return 3 * ranks;
    return pairs_of_all_to_all(*collective, job.placement, ranks, gpus_per_server);
  }
  if (const auto* const chakra = std::get_if<ChakraSpec>(&job.work)) {
    return exchanges_all(*chakra, static_cast<std::uint32_t>(ranks)) ? all : 4 * ranks;
  }
  const std::uint32_t experts = experts_of(job);
  return 4 * ranks + ranks * (experts > 1 ? experts / 2 : 0);
}

// Switches with NICs; each is a group of NICs with the same routes.
std::uint64_t edges_of(const Graph& graph) {
  std::vector<bool> edge(graph.nodes.size());
  for (const Cable& cable : graph.cables) {
    if (graph.nodes[cable.a.value()].kind == NodeKind::kNic) edge[cable.b.value()] = true;
    if (graph.nodes[cable.b.value()].kind == NodeKind::kNic) edge[cable.a.value()] = true;
  }
  return static_cast<std::uint64_t>(std::ranges::count(edge, true));
}

}  // namespace

// Engines and packets are divided among ranks; the rest is needed by each.
std::uint64_t memory_needed(const Scenario& scenario, std::uint32_t ranks) {
  CheckedMemory payload;
  const auto setup = lay_out(scenario, payload);
  if (!setup) return 0;
  const Graph& graph = setup->graph;
  std::uint64_t nics = 0;
  for (const GraphNode& node : graph.nodes) nics += node.kind == NodeKind::kNic ? 1U : 0U;
  const std::uint64_t switches = graph.nodes.size() - nics;
  const std::uint64_t gpus = std::uint64_t{scenario.servers.count} * scenario.servers.gpus;
  std::uint64_t pairs = 0;
  for (const JobSpec& job : scenario.jobs) {
    pairs += pairs_of(job, gpus, scenario.servers.gpus);
  }
  const std::uint64_t qps = pairs * 2 * setup->cluster.back_end.lanes;
  const bool tcp = scenario.nics.transport == Transport::kTcp;
  const std::uint64_t packet = tcp ? scenario.tcp.mtu : nic::bytes(scenario.nics.mtu);
  const bool telemetry = setup->networks.front().fabric.telemetry;
  if (scenario.fidelity == Fidelity::kFlow) {
    return kProgram + nics * kFlowNic + qps * kStream + graph.ports() * (sizeof(Port) + kFlowPort) +
           switches * edges_of(graph) * kRoute;
  }
  const std::uint64_t packets = nics * (kInFlight / packet + 4);
  const std::uint64_t divided = nics * (tcp ? kTcpEnd : kEngine) + qps * (tcp ? kTcpEnd : kQp) +
                                packets * (sizeof(Packet) + (telemetry ? sizeof(Trail) : 0));
  return kProgram + divided / std::max(ranks, 1U) + graph.ports() * (sizeof(Port) + kSample) +
         switches * nics * kRoute;
}

}  // namespace nerve::sim
