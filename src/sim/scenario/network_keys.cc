#include <cmath>

#include "sim/scenario/keys.h"
#include "sim/scenario/words.h"

namespace nerve::sim::scenario_file {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kMostSwitches = 65'536;
constexpr std::string_view kLeaves = "leaf-spine, rail-optimised, dual-plane";

// A share of the free memory, stored as a fraction.
void read_share(Value& v, Share& share) {
  constexpr std::uint32_t kParts = 65'536;
  constexpr double kMost = 64;
  double value = static_cast<double>(share.numerator) / share.denominator;
  const double before = value;
  v.number(value, 1.0 / 1024, kMost);
  if (value == before) return;
  share = {static_cast<std::uint32_t>(std::llround(value * kParts)), kParts};
}

// Makes the data class lossless, or none.
void read_pfc(Value& v, NetworkSpec& n) {
  constexpr std::uint8_t kData = BufferConfig{}.lossless;
  bool on = n.switches.buffer.lossless != 0;
  v.on_off(on);
  n.switches.buffer.lossless = on ? kData : std::uint8_t{0};
}

// clang-format off
constexpr Key<NetworkSpec> kNetwork[] = {
    {"topology", "shape of the network",
     [](Value& v, NetworkSpec& n) { v.word(n.topology, kTopologies); }},
    {"link", "flow control between neighbouring nodes: pauses and drops, or credits; ethernet-credits: Ethernet with "
     "credits per class (CBFC)",
     [](Value& v, NetworkSpec& n) { v.word(n.switches.kind, kLinks); }},
    {"nic_rate", "rate of a NIC's cable, per direction; with dual-plane the sum of its two cables",
     [](Value& v, NetworkSpec& n) { v.rate(n.nic_rate); },
     "400 Gb/s; with file, the rate of the NICs' cables"},
    {"trunk_rate", "rate of a cable between switches, per direction",
     [](Value& v, NetworkSpec& n) { v.rate(n.trunk_rate); },
     "nic_rate; with `spines`, as fast as oversubscription requires"},
    {"nic_delay", "propagation delay of a NIC's cable",
     [](Value& v, NetworkSpec& n) { v.time(n.nic_delay, Duration{}, milliseconds{100}); }},
    {"trunk_delay", "propagation delay of a cable between switches",
     [](Value& v, NetworkSpec& n) { v.time(n.trunk_delay, Duration{}, milliseconds{100}); }},
    {"trunks", "cables between the two switches",
     [](Value& v, NetworkSpec& n) { v.count(n.trunks, 1, kMostSwitches); }, "", "dumbbell"},
    {"nics_per_leaf", "NICs per leaf switch",
     [](Value& v, NetworkSpec& n) { v.count(n.nics_per_leaf, 1, kMostSwitches); }, "chosen", kLeaves},
    {"spines", "spine switches",
     [](Value& v, NetworkSpec& n) { v.count(n.spines, 1, kMostSwitches); }, "chosen", kLeaves},
    {"oversubscription", "capacity of a leaf towards NICs over capacity towards spines: 2 means 2:1",
     [](Value& v, NetworkSpec& n) { v.number(n.oversubscription, 0.125, 64); }, "", kLeaves},
    {"ports_per_switch", "k, an even number; the tree has room for k^3/4 NICs",
     [](Value& v, NetworkSpec& n) { v.count(n.ports_per_switch, 2, 128); }, "chosen", "fat-tree"},
    {"routers_per_group", "a: routers per group",
     [](Value& v, NetworkSpec& n) { v.count(n.routers_per_group, 1, 1024); }, "chosen", "dragonfly"},
    {"nics_per_router", "p: NICs per router",
     [](Value& v, NetworkSpec& n) { v.count(n.nics_per_router, 1, 1024); }, "chosen", "dragonfly"},
    {"cables_out_of_router", "h: cables from a router to other groups",
     [](Value& v, NetworkSpec& n) { v.count(n.cables_out_of_router, 1, 1024); }, "chosen", "dragonfly"},
    {"file", "file of nodes and cables; the format is in docs/topologies.md",
     [](Value& v, NetworkSpec& n) { v.file(n.file); }, "none", "file"},
    {"routing", "how a switch chooses among equal-cost paths: by a hash of the flow, a different one for "
     "each packet, the shortest queue after an idle gap, the shortest queue for each packet; valiant: by a "
     "hash of the flow, through a third group (dragonfly); controlled: by a hash of the flow, which a "
     "controller chooses for each QP",
     [](Value& v, NetworkSpec& n) { v.word(n.switches.path_choice, kRoutings); }},
    {"hash_alike", "all switches use the same hash, so flows that collide at one switch collide at the next (polarisation)",
     [](Value& v, NetworkSpec& n) { v.on_off(n.switches.hash_alike); }, "", "routing ecmp"},
    {"flowlet_gap", "idle time after which a flow may change its path",
     [](Value& v, NetworkSpec& n) { v.time(n.switches.flowlet_gap, Duration{1000}, seconds{1}); },
     "", "routing flowlet"},
    {"control_delay", "from the failure of a cable until the controller has moved the QPs on it",
     [](Value& v, NetworkSpec& n) { v.time(n.switches.control_delay, Duration{}, seconds{1}); }, "",
     "routing controlled"},
    {"cut_through", "switches forward a packet before all of it has arrived",
     [](Value& v, NetworkSpec& n) { v.on_off(n.switches.cut_through); }},
    {"switch_latency", "delay from the ingress port to the egress queue",
     [](Value& v, NetworkSpec& n) { v.time(n.switches.switch_latency, Duration{}, milliseconds{10}); }},
    {"pfc", "switches pause their neighbours instead of dropping data",
     read_pfc, "true; false with TCP and with trimming", "link ethernet"},
    {"pfc_watchdog", "a switch's queue that has been paused for this long drops its packets until it is resumed; \"0 s\": it waits",
     [](Value& v, NetworkSpec& n) { v.time(n.switches.pfc_watchdog, Duration{}, seconds{10}); },
     "", "link ethernet"},
    {"lane_buffer", "buffer per port and class (virtual lane)",
     [](Value& v, NetworkSpec& n) { v.bytes(n.switches.lane_buffer, 1024, 1U << 30U); },
     "", "links with credits"},
    {"trimming", "a data packet that finds its queue full loses its payload, and its header goes on in a higher class",
     [](Value& v, NetworkSpec& n) { v.on_off(n.switches.trimming); }, "", "link ethernet"},
    {"trim_at", "with trimming: the length from which a queue is full",
     [](Value& v, NetworkSpec& n) { v.bytes(n.switches.trim_at, 5000, std::uint64_t{1} << 34U); },
     "a bandwidth-delay product of the longest path", "link ethernet"},
    {"link_retry", "cables repeat damaged frames, in order, instead of losing them (LLR)",
     [](Value& v, NetworkSpec& n) { v.on_off(n.switches.link_retry); }},
    {"telemetry", "switches write queue length and load into packets that request it",
     [](Value& v, NetworkSpec& n) { v.on_off(n.switches.telemetry); }, "false; always true with hpcc"},
};

constexpr Key<BufferConfig> kBuffer[] = {
    {"size", "packet memory of a switch, shared by its ports",
     [](Value& v, BufferConfig& b) { v.bytes(b.bytes, 64'000, std::uint64_t{16} << 30U); }},
    {"reserve", "part of it reserved for each port and lossless class",
     [](Value& v, BufferConfig& b) { v.bytes(b.reserve, 0, 1U << 30U); }},
    {"pause_at", "a port is paused when its packets take more than this share of the free memory",
     [](Value& v, BufferConfig& b) { read_share(v, b.pause_at); }},
    {"resume_below", "how far below that a port must fall to be resumed",
     [](Value& v, BufferConfig& b) { v.bytes(b.resume_below, 0, 1U << 30U); }},
    {"drop_at", "without PFC: a queue drops packets above this share of the free memory",
     [](Value& v, BufferConfig& b) { read_share(v, b.drop_at); }},
};

constexpr Key<MarkingConfig> kEcn[] = {
    {"enabled", "switches mark packets when the queue is long",
     [](Value& v, MarkingConfig& m) { v.on_off(m.on); }},
    {"low", "queue length below which no packet is marked",
     [](Value& v, MarkingConfig& m) { v.bytes(m.low, 0, std::uint64_t{1} << 34U); },
     "4 KB per Gb/s of the port; 3 KB with DCTCP; a fifth of trim_at with trimming"},
    {"high", "queue length above which every packet is marked",
     [](Value& v, MarkingConfig& m) { v.bytes(m.high, 1, std::uint64_t{1} << 34U); },
     "16 KB per Gb/s of the port; same as low with DCTCP; four fifths of trim_at with trimming"},
    {"chance", "probability of a mark just below high; it grows linearly from 0 at low",
     [](Value& v, MarkingConfig& m) { v.parts(m.per_million, 1'000'000, 0, 1); },
     "0.2; 1 with trimming"},
};
// clang-format on

}  // namespace

std::span<const Key<NetworkSpec>> network_keys() { return kNetwork; }
std::span<const Key<BufferConfig>> buffer_keys() { return kBuffer; }
std::span<const Key<MarkingConfig>> ecn_keys() { return kEcn; }

}  // namespace nerve::sim::scenario_file
