#include <algorithm>

#include "sim/scenario/tables.h"

namespace nerve::sim::scenario_file {
namespace {

constexpr std::uint32_t kAroundPayload = 128;  // RDMA headers and CRCs, with room to spare
constexpr std::uint32_t kAroundIp = 18;        // Ethernet header and CRC

// Whether the file sets this key, as in fabric.ecn.low.
bool has_key(const TableAt& document, std::initializer_list<std::string_view> path) {
  const Node* node = &document.node;
  for (const std::string_view word : path) {
    if (node != nullptr) node = node->find(word);
  }
  return node != nullptr;
}

// "x.toml:4: fabric.nic_rate: ", as errors begin; empty if the file does not set the key.
std::string position_of(const TableAt& document, std::string_view name, std::string_view key) {
  const Node* table = document.node.find(name);
  const Node* value = table == nullptr ? nullptr : table->find(key);
  if (value == nullptr) return {};
  Errors position{document.errors.file()};
  position.add(*value, std::string{name} + "." + std::string{key}, "");
  return text_of(position.take().front());
}

// ECN thresholds grow with the rate of a port: 400 and 1600 KB at 100 Gb/s, as in the HPCC artifact
// and adapter vendors' guides. DCTCP marks from a single threshold, 300 KB at 100 Gb/s. What the
// file sets is the same at all ports.
void settle_marking(const TableAt& document, std::string_view name, bool dctcp,
                    NetworkSpec& network) {
  MarkingConfig& marking = network.switches.marking;
  const bool low = has_key(document, {name, "ecn", "low"});
  const bool high = has_key(document, {name, "ecn", "high"});
  const std::uint64_t steep = dctcp ? 1 : 4;
  marking.per_gigabit = !low && !high;
  if (!low) marking.low = high ? marking.high / steep : (dctcp ? 3'000 : 4'000);
  if (!high) marking.high = std::max<std::uint64_t>(marking.low * steep, 1);
  // InfiniBand uses credits instead.
  if (!has_key(document, {name, "ecn", "enabled"})) {
    marking.on = is_ethernet(network.switches.kind);
  }
}

void settle_network(const TableAt& document, std::string_view name, const NicSpec& nic,
                    const TcpSpec& tcp, NetworkSpec& network) {
  const bool is_tcp = nic.transport == Transport::kTcp;
  network.nic_rate_at = position_of(document, name, "nic_rate");
  settle_marking(document, name, is_tcp && tcp.algorithm == TcpAlgorithm::kDctcp, network);
  FabricConfig& switches = network.switches;
  if (switches.trimming && !has_key(document, {name, "pfc"})) switches.buffer.lossless = 0;
  if (is_tcp && !has_key(document, {name, "pfc"})) switches.buffer.lossless = 0;
  if (!is_tcp && nic.flow_control.algorithm == nic::CcAlgorithm::kHpcc &&
      !has_key(document, {name, "telemetry"})) {
    switches.telemetry = true;
  }
  switches.longest_packet = is_tcp ? tcp.mtu + kAroundIp : nic::bytes(nic.mtu) + kAroundPayload;
}

void settle_nic(const TableAt& document, bool front_end, const NetworkSpec& network, NicSpec& nic) {
  const auto said = [&](std::string_view key) {
    return front_end ? has_key(document, {"front_end", "nic", key})
                     : has_key(document, {"nic", key});
  };
  using enum nic::CcAlgorithm;
  nic::FlowControlConfig& flow_control = nic.flow_control;
  if (!said("congestion")) {
    flow_control.algorithm = is_ethernet(network.switches.kind) ? kDcqcn : kNone;
  }
  const bool by_round_trip = flow_control.algorithm != kNone && flow_control.algorithm != kDcqcn;
  const bool per_packet = by_round_trip || nic.sprays || nic.receiver_credits;
  const bool selective = flow_control.algorithm == kNscc || nic.sprays || nic.receiver_credits ||
                         network.switches.trimming;
  if (!said("recovery") && selective) nic.recovery = Recovery::kSelectiveRepeat;
  if (!said("ack_every")) {
    if (per_packet) {
      flow_control.ack_every = 1;
    } else if (nic.recovery == Recovery::kSelectiveRepeat) {
      flow_control.ack_every = 4;  // its window is small
    }
  }
  if (!said("relay_across_rails")) {  // rail-only has no other path
    nic.relay_across_rails = network.topology == TopologyKind::kRailOnly;
  }
}

void settle_job(const TableAt& document, std::size_t number, const Scenario& scenario,
                JobSpec& job) {
  const Node* list = document.node.find("job");
  const Node* node = list->type == NodeType::kList ? &list->children[number] : list;
  const std::uint64_t gpus = std::uint64_t{scenario.servers.count} * scenario.servers.gpus;
  if (job.ranks == 0 && job.first_gpu < gpus) {
    job.ranks = static_cast<std::uint32_t>(gpus - job.first_gpu);
  }
  const auto* flows = std::get_if<FlowsSpec>(&job.work);
  if (flows != nullptr && flows->pattern == FlowPattern::kCheckpoint && scenario.storage &&
      node->find("network") == nullptr) {
    job.on_front_end = scenario.storage->on_front_end;
  }
  if (auto* training = std::get_if<TrainingSpec>(&job.work)) {
    ParallelismSpec& split = training->parallelism;
    const Node* said = node->find("parallelism");
    const std::uint64_t others = std::uint64_t{split.tensor} * split.pipeline;
    if ((said == nullptr || said->find("data") == nullptr) && job.ranks % others == 0) {
      split.data = static_cast<std::uint32_t>(job.ranks / others);
    }
  }
}

}  // namespace

void settle(const TableAt& document, Scenario& scenario) {
  ServerSpec& servers = scenario.servers;
  if (!has_key(document, {"servers", "nics"})) servers.nics = servers.gpus;
  servers.interconnect_at = position_of(document, "servers", "interconnect");
  servers.interconnect_delay_at = position_of(document, "servers", "interconnect_delay");
  settle_nic(document, false, scenario.back_end, scenario.nics);
  settle_network(document, "fabric", scenario.nics, scenario.tcp, scenario.back_end);
  if (scenario.front_end) {
    settle_nic(document, true, *scenario.front_end, scenario.front_end_nics);
    settle_network(document, "front_end", scenario.front_end_nics, scenario.tcp,
                   *scenario.front_end);
  }
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    settle_job(document, i, scenario, scenario.jobs[i]);
  }
}

}  // namespace nerve::sim::scenario_file
