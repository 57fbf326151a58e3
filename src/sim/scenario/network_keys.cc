#include <cmath>

#include "sim/scenario/keys.h"
#include "sim/scenario/words.h"

namespace nerve::sim::scenario_file {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kMostSwitches = 65'536;
constexpr std::string_view kLeaves = "leaf-spine, rail-optimised, dual-plane";

// A share of the memory that is free, kept as a fraction.
void read_share(Value& v, Share& share) {
  constexpr std::uint32_t kParts = 65'536;
  constexpr double kMost = 64;
  double value = static_cast<double>(share.numerator) / share.denominator;
  const double before = value;
  v.number(value, 1.0 / 1024, kMost);
  if (value == before) return;
  share = {static_cast<std::uint32_t>(std::llround(value * kParts)), kParts};
}

// Which classes are lossless: that of data, or none.
void read_pfc(Value& v, NetworkSpec& n) {
  constexpr std::uint8_t kData = BufferConfig{}.lossless;
  bool on = n.switches.buffer.lossless != 0;
  v.on_off(on);
  n.switches.buffer.lossless = on ? kData : std::uint8_t{0};
}

// clang-format off
constexpr Key<NetworkSpec> kNetwork[] = {
    {"topology", "the shape of the network",
     [](Value& v, NetworkSpec& n) { v.word(n.topology, kTopologies); }},
    {"link", "how neighbours keep each other from being overrun: pauses and drops, or credits",
     [](Value& v, NetworkSpec& n) { v.word(n.switches.kind, kLinks); }},
    {"nic_rate", "of the cable of a NIC, each way; with dual-plane of its two cables together",
     [](Value& v, NetworkSpec& n) { v.rate(n.nic_rate); }},
    {"trunk_rate", "of a cable between switches, each way",
     [](Value& v, NetworkSpec& n) { v.rate(n.trunk_rate); },
     "as nic_rate; as fast as `spines` need it, where they are given"},
    {"nic_delay", "along the cable of a NIC",
     [](Value& v, NetworkSpec& n) { v.time(n.nic_delay, Duration{}, milliseconds{100}); }},
    {"trunk_delay", "along a cable between switches",
     [](Value& v, NetworkSpec& n) { v.time(n.trunk_delay, Duration{}, milliseconds{100}); }},
    {"trunks", "cables between the two switches",
     [](Value& v, NetworkSpec& n) { v.count(n.trunks, 1, kMostSwitches); }, "", "dumbbell"},
    {"nics_per_leaf", "NICs at a leaf switch",
     [](Value& v, NetworkSpec& n) { v.count(n.nics_per_leaf, 1, kMostSwitches); }, "chosen", kLeaves},
    {"spines", "spine switches",
     [](Value& v, NetworkSpec& n) { v.count(n.spines, 1, kMostSwitches); }, "chosen", kLeaves},
    {"oversubscription", "what a leaf has downwards to what it has upwards: 2 is 2:1",
     [](Value& v, NetworkSpec& n) { v.number(n.oversubscription, 0.125, 64); }, "", kLeaves},
    {"ports_per_switch", "k: an even number; k^3/4 NICs have room",
     [](Value& v, NetworkSpec& n) { v.count(n.ports_per_switch, 2, 128); }, "chosen", "fat-tree"},
    {"routers_per_group", "a",
     [](Value& v, NetworkSpec& n) { v.count(n.routers_per_group, 1, 1024); }, "chosen", "dragonfly"},
    {"nics_per_router", "p",
     [](Value& v, NetworkSpec& n) { v.count(n.nics_per_router, 1, 1024); }, "chosen", "dragonfly"},
    {"cables_out_of_router", "h: cables of a router to other groups",
     [](Value& v, NetworkSpec& n) { v.count(n.cables_out_of_router, 1, 1024); }, "chosen", "dragonfly"},
    {"file", "nodes and cables, as docs/topologies.md tells",
     [](Value& v, NetworkSpec& n) { v.file(n.file); }, "none", "file"},
    {"routing", "how a switch chooses among equally short ways: by a hash of the flow, another for each "
     "packet, the emptiest after a silence, the emptiest for each packet",
     [](Value& v, NetworkSpec& n) { v.word(n.switches.path_choice, kRoutings); }},
    {"hash_alike", "all switches have one hash, so that what meets at one meets at the next (polarisation)",
     [](Value& v, NetworkSpec& n) { v.on_off(n.switches.hash_alike); }, "", "routing ecmp"},
    {"flowlet_gap", "the silence after which a flow may take another way",
     [](Value& v, NetworkSpec& n) { v.time(n.switches.flowlet_gap, Duration{1000}, seconds{1}); },
     "", "routing flowlet"},
    {"cut_through", "switches hand on a packet before its end has come",
     [](Value& v, NetworkSpec& n) { v.on_off(n.switches.cut_through); }},
    {"switch_latency", "from the port in to the queue out",
     [](Value& v, NetworkSpec& n) { v.time(n.switches.switch_latency, Duration{}, milliseconds{10}); }},
    {"pfc", "switches stop their neighbours instead of dropping data",
     read_pfc, "true; false with TCP", "link ethernet"},
    {"lane_buffer", "room of each port and virtual lane",
     [](Value& v, NetworkSpec& n) { v.bytes(n.switches.lane_buffer, 1024, 1U << 30U); },
     "", "link infiniband"},
    {"telemetry", "switches write their queue and load into packets that ask",
     [](Value& v, NetworkSpec& n) { v.on_off(n.switches.telemetry); }, "true with hpcc, always"},
};

constexpr Key<BufferConfig> kBuffer[] = {
    {"size", "the packet memory of a switch, which all its ports share",
     [](Value& v, BufferConfig& b) { v.bytes(b.bytes, 64'000, std::uint64_t{16} << 30U); }},
    {"reserve", "of it, for each port and lossless class alone",
     [](Value& v, BufferConfig& b) { v.bytes(b.reserve, 0, 1U << 30U); }},
    {"pause_at", "a port is paused when it holds this share of the free memory",
     [](Value& v, BufferConfig& b) { read_share(v, b.pause_at); }},
    {"resume_below", "so far under that before it may go on",
     [](Value& v, BufferConfig& b) { v.bytes(b.resume_below, 0, 1U << 30U); }},
    {"drop_at", "without PFC: a queue drops what would be more than this share of the free memory",
     [](Value& v, BufferConfig& b) { read_share(v, b.drop_at); }},
};

constexpr Key<MarkingConfig> kEcn[] = {
    {"enabled", "switches mark packets that pass a long queue",
     [](Value& v, MarkingConfig& m) { v.on_off(m.on); }},
    {"low", "no packet is marked while the queue is shorter",
     [](Value& v, MarkingConfig& m) { v.bytes(m.low, 0, std::uint64_t{1} << 34U); },
     "4 KB for each Gb/s of nic_rate; 3 KB with DCTCP"},
    {"high", "every packet is marked while it is longer",
     [](Value& v, MarkingConfig& m) { v.bytes(m.high, 1, std::uint64_t{1} << 34U); },
     "16 KB for each Gb/s of nic_rate; as low with DCTCP"},
    {"chance", "of a packet, just below high; it grows from nothing at low",
     [](Value& v, MarkingConfig& m) { v.parts(m.per_million, 1'000'000, 0, 1); }},
};
// clang-format on

}  // namespace

std::span<const Key<NetworkSpec>> network_keys() { return kNetwork; }
std::span<const Key<BufferConfig>> buffer_keys() { return kBuffer; }
std::span<const Key<MarkingConfig>> ecn_keys() { return kEcn; }

}  // namespace nerve::sim::scenario_file
