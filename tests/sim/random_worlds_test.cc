// Goal: with any fabric, traffic and faults, a simulation does not hang, loses no message without
// an error, and accounts for every byte. Method: a world is drawn from a seed (topology, link kind,
// routing, congestion control, messages, faults) and run to its end; traffic.h checks the sums of
// every switch.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "sim/topology/build_network.h"
#include "tests/seeds.h"
#include "tests/sim/traffic.h"

namespace nerve::sim {
namespace {

using std::chrono::microseconds;
using test::Traffic;

struct World {
  NetworkSpec spec;
  NetworkHosts hosts;
  Graph graph;
  SimNicConfig nics;
  std::vector<FaultSpec> faults;
};

template <class T, std::size_t N>
T one_of(Prng& prng, const T (&choices)[N]) {
  return choices[prng.below(N)];
}

NetworkSpec draw_network(Prng& prng) {
  NetworkSpec spec;
  spec.topology =
      one_of(prng, {TopologyKind::kStar, TopologyKind::kDumbbell, TopologyKind::kLeafSpine,
                    TopologyKind::kFatTree, TopologyKind::kRailOptimised, TopologyKind::kRailOnly,
                    TopologyKind::kDualPlane, TopologyKind::kDragonfly});
  spec.nic_rate = Rate::gigabits(one_of(prng, {25ULL, 100ULL, 400ULL}));
  spec.nic_delay = Duration{static_cast<std::int64_t>(prng.between(1'000, 1'000'000))};
  spec.trunk_delay = Duration{static_cast<std::int64_t>(prng.between(1'000, 1'000'000))};
  spec.trunks = static_cast<std::uint32_t>(prng.between(1, 3));
  spec.nics_per_leaf = static_cast<std::uint32_t>(prng.between(2, 4));
  if (spec.topology == TopologyKind::kRailOnly) spec.nics_per_leaf = 0;
  spec.oversubscription = static_cast<double>(prng.between(1, 3));
  FabricConfig& switches = spec.switches;
  switches.kind = one_of(prng, {LinkKind::kEthernet, LinkKind::kInfiniBand});
  switches.path_choice = one_of(
      prng, {PathChoice::kEcmp, PathChoice::kSpray, PathChoice::kFlowlet, PathChoice::kAdaptive});
  switches.flowlet_gap = microseconds{prng.between(1, 50)};
  switches.cut_through = prng.chance(300);
  switches.switch_latency = Duration{static_cast<std::int64_t>(prng.below(600'000))};
  switches.buffer.bytes = prng.between(3'000'000, 8'000'000);
  if (prng.chance(300)) switches.buffer = {.bytes = 300'000, .lossless = 0};
  switches.lane_buffer = static_cast<std::uint32_t>(prng.between(16'000, 256'000));
  switches.marking = {.low = prng.between(5'000, 100'000), .high = 400'000};
  if (spec.topology == TopologyKind::kDragonfly && prng.chance(500)) {
    switches.path_choice = PathChoice::kValiant;
  }
  return spec;
}

SimNicConfig draw_nics(Prng& prng, NetworkSpec& spec) {
  SimNicConfig nics;
  nics.engine.flow_control.algorithm =
      one_of(prng, {nic::CcAlgorithm::kNone, nic::CcAlgorithm::kDcqcn, nic::CcAlgorithm::kTimely,
                    nic::CcAlgorithm::kSwift, nic::CcAlgorithm::kHpcc, nic::CcAlgorithm::kLearned});
  spec.switches.telemetry = nics.engine.flow_control.algorithm == nic::CcAlgorithm::kHpcc;
  nics.mtu = one_of(prng, {nic::Mtu::k1024, nic::Mtu::k4096});
  nics.hash_by_qp = prng.chance(500);
  return nics;
}

// Parts of Ultra Ethernet, from a generator of their own: the other draws stay the same.
void draw_ultra_ethernet(std::uint64_t seed, NetworkSpec& spec, SimNicConfig& nics) {
  Prng prng{seed ^ 0x0e7e'0000U};
  FabricConfig& switches = spec.switches;
  if (prng.chance(150)) switches.link_retry = true;
  if (switches.kind == LinkKind::kInfiniBand && prng.chance(300)) {
    switches.kind = LinkKind::kEthernetCredits;
  }
  if (!prng.chance(300)) return;
  nic::NicConfig& engine = nics.engine;
  engine.selective_repeat.on = true;
  engine.max_outstanding_packets = static_cast<std::uint32_t>(prng.between(8, 200));
  engine.selective_repeat.reorder_window = static_cast<std::uint32_t>(prng.below(64));
  engine.ultra_ethernet.entropies = prng.chance(700) ? 1U << prng.between(1, 8) : 0;
  engine.ultra_ethernet.receiver_credits = prng.chance(400);
  engine.ultra_ethernet.unsolicited_packets = static_cast<std::uint32_t>(prng.between(1, 64));
  if (prng.chance(500)) {
    engine.flow_control.algorithm = nic::CcAlgorithm::kNscc;
    engine.flow_control.ack_every = 1;
    switches.telemetry = false;
  }
  if (switches.kind != LinkKind::kEthernet || !prng.chance(700)) return;
  switches.buffer.lossless = 0;
  switches.trimming = engine.ultra_ethernet.trimming = true;
  switches.trim_at = prng.between(10'000, 200'000);
}

// Outages are shorter than the retry limit of an engine, even if several follow each other.
std::vector<FaultSpec> draw_faults(Prng& prng, const Graph& graph) {
  std::vector<FaultSpec> faults;
  for (std::uint64_t left = prng.below(4); left > 0; --left) {
    const Cable& cable = graph.cables[prng.below(graph.cables.size())];
    FaultSpec fault;
    fault.at = Duration{static_cast<std::int64_t>(prng.below(400'000'000))};
    fault.kind = one_of(prng, {FaultKind::kDown, FaultKind::kDown, FaultKind::kRate,
                               FaultKind::kErrors, FaultKind::kStorm});
    fault.from = graph.nodes[cable.a.value()].name;
    fault.to = graph.nodes[cable.b.value()].name;
    fault.rate = Rate::gigabits(10);
    fault.bit_error_rate = 1e-8;
    fault.reroute = microseconds{prng.below(300)};
    fault.lasts = microseconds{prng.between(1, 500)};
    if (fault.kind == FaultKind::kStorm) {
      fault.from = "nic0";
    }
    faults.push_back(fault);
    if (fault.kind == FaultKind::kDown && prng.chance(700)) {
      fault.at += microseconds{prng.below(600)};
      fault.kind = FaultKind::kUp;
      faults.push_back(fault);
    }
  }
  return faults;
}

World draw(Prng& prng, std::uint64_t seed) {
  World world;
  world.spec = draw_network(prng);
  world.hosts = {static_cast<std::uint32_t>(prng.between(2, 8)),
                 static_cast<std::uint32_t>(prng.between(1, 4))};
  world.nics = draw_nics(prng, world.spec);
  draw_ultra_ethernet(seed, world.spec, world.nics);
  auto graph = build_network(world.spec, world.hosts);
  if (!graph) {  // PFC would reserve more than the small buffer has
    world.spec.switches.buffer.bytes = BufferConfig{}.bytes;
    graph = build_network(world.spec, world.hosts);
  }
  EXPECT_TRUE(graph) << graph.error();
  if (!graph) return world;
  world.graph = *std::move(graph);
  world.faults = draw_faults(prng, world.graph);
  return world;
}

// Cables that fail and do not come back.
std::vector<bool> gone(const World& world) {
  std::vector<bool> down(world.graph.cables.size());
  std::vector<FaultSpec> in_order = world.faults;
  std::ranges::stable_sort(in_order, {}, &FaultSpec::at);
  for (const FaultSpec& fault : in_order) {
    if (fault.kind != FaultKind::kDown && fault.kind != FaultKind::kUp) continue;
    for (std::size_t i = 0; i < down.size(); ++i) {
      const Cable& cable = world.graph.cables[i];
      if (world.graph.nodes[cable.a.value()].name == fault.from &&
          world.graph.nodes[cable.b.value()].name == fault.to) {
        down[i] = fault.kind == FaultKind::kDown;
      }
    }
  }
  return down;
}

void add_messages(Prng& prng, const World& world, const Routes& routes, Traffic& traffic) {
  const std::uint64_t nics = world.hosts.servers * world.hosts.nics_per_server;
  for (std::uint64_t left = prng.between(1, 40); left > 0; --left) {
    const NodeId from{static_cast<std::uint32_t>(prng.below(nics))};
    const NodeId to{static_cast<std::uint32_t>(prng.below(prng.chance(300) ? 1 : nics))};
    if (from == to || routes.distance(from, to) == 0) continue;  // on another rail
    const std::uint64_t most = one_of(prng, {10ULL, 5'000ULL, 100'000ULL, 1'000'000ULL});
    traffic.add(from, to, static_cast<std::uint32_t>(prng.between(1, most)));
  }
}

// Shown with a failure.
std::string description(const World& world) {
  const FabricConfig& switches = world.spec.switches;
  std::ostringstream text;
  text << "topology " << static_cast<int>(world.spec.topology) << ", " << world.hosts.servers
       << " servers of " << world.hosts.nics_per_server << ", "
       << (is_ethernet(switches.kind) ? "Ethernet" : "InfiniBand")
       << (has_credits(switches.kind) ? " with credits" : "") << ", lossless "
       << int{switches.buffer.lossless} << ", buffer " << switches.buffer.bytes << ", choice "
       << static_cast<int>(switches.path_choice) << ", congestion control "
       << static_cast<int>(world.nics.engine.flow_control.algorithm) << ", entropies "
       << world.nics.engine.ultra_ethernet.entropies << ", trimming " << switches.trimming
       << ", receiver credits " << world.nics.engine.ultra_ethernet.receiver_credits;
  for (const FaultSpec& fault : world.faults) {
    text << "\nat " << fault.at.count() / 1'000'000 << " us: " << static_cast<int>(fault.kind)
         << " " << fault.from << " " << fault.to;
  }
  return text.str();
}

void live(std::uint64_t seed) {
  Prng prng{seed};
  const World world = draw(prng, seed);
  if (testing::Test::HasFailure()) return;
  SCOPED_TRACE(description(world));
  Traffic traffic{world.graph, world.spec.switches, world.nics, seed};
  add_messages(prng, world, Routes{world.graph}, traffic);
  traffic.schedule(world.faults);
  traffic.may_fail();
  traffic.run();

  // A message may fail only if its NICs were disconnected from each other.
  const Routes left{world.graph, gone(world)};
  for (const test::SentMessage& message : traffic.messages()) {
    if (!message.failed) continue;
    EXPECT_EQ(left.distance(message.from, message.to), 0U)
        << message.from.value() << " to " << message.to.value() << " was given up";
  }
  const bool fails = std::ranges::count(world.faults, FaultKind::kDown, &FaultSpec::kind) > 0;
  const FabricConfig& switches = world.spec.switches;
  if (!fails && (has_credits(switches.kind) || switches.buffer.lossless != 0)) {
    EXPECT_EQ(traffic.totals().dropped, 0U);
  }
  for (const Port& port : traffic.world().fabric().ports()) {
    EXPECT_EQ(port.paused, 0U);
    if (!has_credits(port.kind) || !port.up) continue;
    for (const std::uint32_t credits : port.credits) EXPECT_EQ(credits, switches.lane_buffer);
  }
}

}  // namespace

TEST(RandomWorlds, NoWorldHangsOrMiscountsBytes) {
  nerve::test::for_each_seed_in_parallel(200, live);
}

}  // namespace nerve::sim
