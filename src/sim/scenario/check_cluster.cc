#include <algorithm>

#include "sim/scenario/tables.h"
#include "sim/scenario/units.h"

namespace nerve::sim::scenario_file {
namespace {

// Memory is the limit, not the width of the ids.
constexpr std::uint64_t kMostGpus = 1U << 20U;

TableAt table_of(const TableAt& document, std::string_view name) {
  const Node* node = document.node.find(name);
  const bool there = node != nullptr && node->type == NodeType::kTable;
  return {there ? *node : document.node, document.path_of(name), document.errors};
}

void check_pcie(const TableAt& table, const Scenario& scenario) {
  const ServerSpec& servers = scenario.servers;
  if (servers.nics_per_pcie == 1) return;
  if (servers.nics % servers.nics_per_pcie != 0) {
    table.wrong("nics_per_pcie", number(servers.nics) + " NICs cannot be divided into groups of " +
                                     number(servers.nics_per_pcie));
  } else if (servers.pcie == Rate{}) {
    table.wrong("nics_per_pcie", "NICs share a PCIe link, but pcie = 0 says that it has no limit");
  } else if (scenario.nics.transport == Transport::kTcp) {
    table.wrong("nics_per_pcie", "is for transport = \"rdma\"; leave it out");
  }
}

void check_servers(const TableAt& document, const Scenario& scenario) {
  const ServerSpec& servers = scenario.servers;
  const TableAt table = table_of(document, "servers");
  if (servers.gpus % servers.nics != 0 && servers.nics % servers.gpus != 0) {
    std::uint32_t fits = std::min(servers.nics, servers.gpus);
    while (servers.gpus % fits != 0) --fits;
    table.wrong("nics", number(servers.gpus) + " GPUs cannot share " + number(servers.nics) +
                            " NICs evenly; nics = " + number(fits) + " would do");
  }
  check_pcie(table, scenario);
  const std::uint64_t gpus = std::uint64_t{servers.count} * servers.gpus;
  if (gpus > kMostGpus) {
    table.wrong("count", number(servers.count) + " servers of " + number(servers.gpus) +
                             " GPUs are " + number(gpus) + " GPUs; the limit is " +
                             number(kMostGpus));
  }
  if (scenario.storage && scenario.storage->on_front_end && !scenario.front_end) {
    table_of(document, "storage")
        .wrong("network",
               "there is no front-end network; write [front_end], or network = "
               "\"back-end\"");
  }
}

void check_fat_tree(const TableAt& table, const NetworkSpec& network, std::uint64_t nics) {
  const auto room = [](std::uint64_t k) { return k * k * k / 4; };
  const std::uint64_t k = network.ports_per_switch;
  std::uint64_t fits = 2;
  while (room(fits) < nics) fits += 2;
  if (k % 2 != 0) {
    table.wrong("ports_per_switch", number(k) + " is odd; half of the ports go up, half down: " +
                                        number(std::max(k + 1, fits)) + " would do");
  } else if (k != 0 && room(k) < nics) {
    table.wrong("ports_per_switch", "a fat tree of " + number(k) + "-port switches has room for " +
                                        number(room(k)) + " NICs, and there are " + number(nics) +
                                        "; " + number(fits) + " would do");
  }
}

void check_dragonfly(const TableAt& table, const NetworkSpec& network, std::uint64_t nics) {
  const std::uint64_t a = network.routers_per_group;
  const std::uint64_t p = network.nics_per_router;
  const std::uint64_t h = network.cables_out_of_router;
  if (a == 0 && p == 0 && h == 0) return;
  if (a == 0 || p == 0 || h == 0) {
    table.wrong(
        "topology",
        "routers_per_group, nics_per_router and cables_out_of_router belong together; set all "
        "three or none");
    return;
  }
  const std::uint64_t room = a * p * (a * h + 1);
  if (room >= nics) return;
  table.wrong("nics_per_router", "groups of " + number(a) + " routers with " + number(p) +
                                     " NICs and " + number(h) + " cables out have room for " +
                                     number(room) + " NICs in all, and there are " + number(nics) +
                                     "; increase any of the three");
}

// The PFC headroom of a port, close to that of fabric.cc: a round trip of the cable and the packets
// begun.
std::uint64_t headroom_of(Rate rate, Duration delay, const FabricConfig& switches) {
  const auto bytes =
      static_cast<double>(2 * delay.count()) * static_cast<double>(rate.bits_per_second()) / 8e12;
  return static_cast<std::uint64_t>(bytes) + std::uint64_t{3} * switches.longest_packet;
}

void check_buffer(const TableAt& table, const NetworkSpec& network, std::uint64_t nics) {
  const FabricConfig& switches = network.switches;
  if (has_credits(switches.kind)) {
    if (switches.lane_buffer < switches.longest_packet) {
      table.wrong("lane_buffer", bytes_text(switches.lane_buffer) + " cannot hold one packet of " +
                                     bytes_text(switches.longest_packet) +
                                     ", so none could be sent");
    }
    return;
  }
  const TableAt buffer = table_of(table, "buffer");
  const BufferConfig& config = switches.buffer;
  if (config.bytes < std::uint64_t{4} * switches.longest_packet) {
    buffer.wrong("size", bytes_text(config.bytes) + " is less than four packets of " +
                             bytes_text(switches.longest_packet));
  }
  // The cables of a file are checked when it is read.
  if (config.lossless == 0 || network.topology == TopologyKind::kFile) return;
  const Rate trunk = network.trunk_rate == Rate{} ? network.nic_rate : network.trunk_rate;
  const std::uint64_t port =
      config.reserve + std::max(headroom_of(network.nic_rate, network.nic_delay, switches),
                                headroom_of(trunk, network.trunk_delay, switches));
  const std::uint64_t ports = network.topology == TopologyKind::kStar ? nics : 2;
  if (port * ports < config.bytes) return;
  buffer.wrong("size", bytes_text(config.bytes) + " for " + number(ports) +
                           " ports or more, each of which reserves " + number(port) +
                           " B for PFC (reserve and headroom), leaves nothing to share; use "
                           "more than " +
                           number(port * ports) + " B, shorter cables, or pfc = false");
}

void check_valiant(const TableAt& table, const NetworkSpec& network, const NicSpec& nic) {
  if (network.switches.path_choice != PathChoice::kValiant) return;
  if (network.topology != TopologyKind::kDragonfly) {
    table.wrong("routing",
                "\"valiant\" goes through a third group, and only topology = \"dragonfly\" has "
                "groups; use ecmp, spray, flowlet or adaptive");
  } else if (nic.transport == Transport::kTcp) {
    table.wrong("routing",
                "\"valiant\" is for transport = \"rdma\"; use ecmp, flowlet or adaptive");
  }
}

void check_controlled(const TableAt& table, const NetworkSpec& network, const NicSpec& nic) {
  if (network.switches.path_choice != PathChoice::kControlled) return;
  if (nic.transport == Transport::kTcp) {
    table.wrong("routing",
                "\"controlled\" is for transport = \"rdma\"; use ecmp, flowlet or adaptive");
  } else if (network.switches.kind == LinkKind::kInfiniBand) {
    table.wrong("routing",
                "\"controlled\" chooses UDP source ports, which InfiniBand does not have; use "
                "spray or adaptive");
  } else if (!nic.hash_by_qp) {
    table.wrong("routing",
                "\"controlled\" chooses UDP source ports, but hash_by_qp = false hashes addresses "
                "only; leave hash_by_qp out");
  }
}

void check_admission(const TableAt& table, const NicSpec& nic) {
  const AdmissionSpec& spec = nic.admission;
  if (spec.limit == 0) return;
  if (nic.transport == Transport::kTcp) {
    table.wrong("limit", "admission is for transport = \"rdma\"; leave it out");
  } else if (spec.limit < spec.chunk) {
    table.wrong("limit", bytes_text(spec.limit) + " is less than a chunk, " +
                             bytes_text(spec.chunk) + "; set chunk to " + bytes_text(spec.limit) +
                             " or less");
  }
}

void check_trimming(const TableAt& table, const NetworkSpec& network, const NicSpec& nic) {
  const FabricConfig& switches = network.switches;
  if (!switches.trimming) return;
  if (nic.transport == Transport::kTcp) {
    table.wrong("trimming", "TCP cannot answer for trimmed packets; use trimming = false");
  } else if (switches.kind != LinkKind::kEthernet) {
    table.wrong("trimming", "with credits no packet finds its queue full; use link = \"ethernet\"");
  } else if (switches.buffer.lossless != 0) {
    table.wrong("trimming", "with pfc = true no packet finds its queue full; leave pfc out");
  } else if (switches.trim_at != 0 && switches.trim_at < switches.longest_packet) {
    table.wrong("trim_at", bytes_text(switches.trim_at) + " is less than one packet of " +
                               bytes_text(switches.longest_packet) + ", so all would be trimmed");
  }
}

// `where` is the table of the NICs.
void check_ultra_ethernet(const TableAt& where, const NetworkSpec& network, const NicSpec& nic) {
  const bool credits = nic.receiver_credits;
  if (!nic.sprays && !credits) return;
  const std::string_view key = nic.sprays ? "spray" : "receiver_credits";
  const FabricConfig& switches = network.switches;
  if (nic.transport == Transport::kTcp) {
    where.wrong(key, "is for transport = \"rdma\"; leave it out");
  } else if (nic.recovery != Recovery::kSelectiveRepeat) {
    where.wrong(key, "needs recovery = \"selective-repeat\"; leave recovery out");
  } else if (nic.sprays && switches.kind == LinkKind::kInfiniBand) {
    where.wrong(key,
                "\"entropy\" chooses UDP source ports, which InfiniBand does not have; use routing "
                "= \"spray\" or \"adaptive\"");
  } else if (nic.sprays && switches.path_choice != PathChoice::kEcmp) {
    where.wrong(key, "\"entropy\" needs switches that hash UDP source ports: routing = \"ecmp\"");
  } else if (nic.sprays && !nic.hash_by_qp) {
    where.wrong(key,
                "\"entropy\" chooses UDP source ports, but hash_by_qp = false hashes addresses "
                "only; leave hash_by_qp out");
  }
}

void check_network(const TableAt& document, std::string_view name, const NetworkSpec& network,
                   const NicSpec& nic, std::uint64_t nics) {
  const TableAt table = table_of(document, name);
  check_valiant(table, network, nic);
  check_controlled(table, network, nic);
  check_trimming(table, network, nic);
  const TableAt nic_table = table_of(name == "fabric" ? document : table, "nic");
  check_admission(table_of(nic_table, "admission"), nic);
  check_ultra_ethernet(nic_table, network, nic);
  if (network.topology == TopologyKind::kFatTree) check_fat_tree(table, network, nics);
  if (network.topology == TopologyKind::kDragonfly) check_dragonfly(table, network, nics);
  if (network.topology == TopologyKind::kFile && network.file.empty()) {
    table.wrong("topology", "the topology needs a file; write file = \"cables.txt\"");
  }
  const MarkingConfig& marking = network.switches.marking;
  if (marking.low > marking.high) {
    table_of(table, "ecn")
        .wrong("low", bytes_text(marking.low) + " is above high, " + bytes_text(marking.high));
  }
  check_buffer(table, network, nics);
}

void check_faults(const TableAt& document, const Scenario& scenario) {
  const std::vector<const Node*> nodes = find_tables(document, "fault");
  for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
    const FaultSpec& fault = scenario.faults[i];
    const TableAt table{*nodes[i], "fault." + number(i), document.errors};
    if (fault.kind != FaultKind::kStorm && fault.from == fault.to) {
      table.wrong("to", "both ends of the cable are \"" + fault.from + "\"");
    }
  }
}

}  // namespace

void check_cluster(const TableAt& document, const Scenario& scenario) {
  check_servers(document, scenario);
  check_faults(document, scenario);
  if (!document.errors.none()) return;
  const std::uint64_t stores = scenario.storage ? scenario.storage->servers : 0;
  const bool in_front = scenario.storage && scenario.storage->on_front_end;
  const std::uint64_t servers = scenario.servers.count;
  check_network(document, "fabric", scenario.back_end, scenario.nics,
                (servers + (in_front ? 0 : stores)) * scenario.servers.nics);
  if (scenario.front_end) {
    check_network(document, "front_end", *scenario.front_end, scenario.front_end_nics,
                  servers + (in_front ? stores : 0));
  }
}

}  // namespace nerve::sim::scenario_file
