// Goal: a bill of materials has what the simulator builds.
#include <gtest/gtest.h>

#include <map>

#include "sim/host/checked_memory.h"
#include "sim/run_setup.h"
#include "tests/plan/worked.h"

namespace nerve::sim::plan {
namespace {

struct Counts {
  std::uint64_t nics{};
  std::uint64_t switches{};
  std::uint64_t cables{};
};

Counts counts_of(const Graph& graph) {
  Counts counts;
  for (const GraphNode& node : graph.nodes) {
    ++(node.kind == NodeKind::kNic ? counts.nics : counts.switches);
  }
  counts.cables = graph.cables.size();
  return counts;
}

std::map<PartKind, std::uint64_t> parts_of(const Study& study, const Option& option) {
  std::map<PartKind, std::uint64_t> counts;
  for (const BillLine& line : option.bill.lines) {
    counts[study.prices.parts[line.part].kind] += line.count;
  }
  return counts;
}

const char* const kEverything =
    "[plan]\ngpus = 128\n[vary]\nnics_per_server = [4, 8]\nnic_rate = [\"100 Gb/s\", \"400 "
    "Gb/s\"]\n"
    "cables = [\"by-length\", \"optics\"]\n[[job]]\nkind = \"all-reduce\"\nsize = \"1 MB\"\n";

// The same 128 GPUs in servers of 8 with 8 NICs of 400 Gb/s, on RoCE.
std::string plan_with(const std::string& topology, double ratio) {
  return "[plan]\ngpus = 128\n[vary]\nnetwork = \"roce\"\nswitch_ports = 64\ntopology = \"" +
         topology + "\"\noversubscription = " + std::to_string(ratio) +
         "\n[[job]]\nkind = \"all-reduce\"\nsize = \"1 MB\"\n";
}

}  // namespace

TEST(PlanBill, CountsWhatTheSimulatorBuilds) {
  const Study study = study_of(kEverything);
  std::size_t checked = 0;
  for (const Option& option : study.options) {
    if (option.state == State::kRefused) continue;
    CheckedMemory payload;
    const auto setup = lay_out(packet_scenario(study, option, 1), payload);
    ASSERT_TRUE(setup) << option.name << ": " << setup.error();
    const Counts built = counts_of(setup->graph);
    const auto parts = parts_of(study, option);
    EXPECT_EQ(parts.at(PartKind::kServer), option.candidate.servers) << option.name;
    EXPECT_EQ(parts.at(PartKind::kNic), built.nics) << option.name;
    EXPECT_EQ(parts.at(PartKind::kCable), built.cables) << option.name;
    EXPECT_EQ(option.bill.switches_in_graph, built.switches) << option.name;
    EXPECT_LE(parts.at(PartKind::kSwitch), built.switches) << option.name;
    // What is bought has a port for every end of a cable; a port can be split into eight.
    std::uint64_t ends = 0;
    for (const Cable& cable : setup->graph.cables) {
      for (const NodeId end : {cable.a, cable.b}) {
        ends += setup->graph.nodes[end.value()].kind == NodeKind::kSwitch ? 1U : 0U;
      }
    }
    EXPECT_EQ(option.bill.switch_ports, ends) << option.name;
    const Part& part = study.prices.parts[option.candidate.switch_part];
    EXPECT_GE(parts.at(PartKind::kSwitch) * part.ports * 8, ends) << option.name;
    // Two transceivers for each fibre.
    std::uint64_t fibres = 0;
    for (const BillLine& line : option.bill.lines) {
      const Part& one = study.prices.parts[line.part];
      if (one.kind == PartKind::kCable && one.medium == Medium::kFibre) fibres += line.count;
    }
    const auto optics = parts.find(PartKind::kTransceiver);
    EXPECT_EQ(optics == parts.end() ? 0 : optics->second, 2 * fibres) << option.name;
    if (option.candidate.cabling == Cabling::kOptics) {
      EXPECT_EQ(fibres, built.cables) << option.name;
    }
    ++checked;
  }
  EXPECT_GT(checked, 50U);
}

// Counts worked out by hand.
TEST(PlanBill, LeafSpine) {
  const Study study = study_of(plan_with("leaf-spine", 1));
  const Option& option = study.options.front();  // 64 ports at 400 Gb/s
  const auto parts = parts_of(study, option);
  // 32 NICs and 32 uplinks on each of 4 leaves. 32 spines with 4 ports each: 16 of them in a
  // switch.
  EXPECT_EQ(option.bill.switches_in_graph, 4 + 32U);
  EXPECT_EQ(parts.at(PartKind::kSwitch), 4 + 2U);
  EXPECT_EQ(parts.at(PartKind::kCable), 128 + 128U);
}

TEST(PlanBill, Oversubscribed) {
  const Study study = study_of(plan_with("leaf-spine", 3));
  const Option& option = study.options.front();
  const auto parts = parts_of(study, option);
  // Room for 48 NICs downwards, but 3 leaves are needed, with 6 servers at most: 48, 48 and 32.
  EXPECT_EQ(option.bill.switches_in_graph, 3 + 16U);
  EXPECT_EQ(parts.at(PartKind::kCable), 128 + 3 * 16U);
  EXPECT_EQ(parts.at(PartKind::kSwitch), 3 + 1U);
}

TEST(PlanBill, RailOnly) {
  const Study study = study_of(plan_with("rail-only", 1));
  const Option& option = study.options.front();
  const auto parts = parts_of(study, option);
  // Eight rails of 16 ports: four of them in a switch of 64.
  EXPECT_EQ(option.bill.switches_in_graph, 8U);
  EXPECT_EQ(parts.at(PartKind::kSwitch), 2U);
  EXPECT_EQ(parts.at(PartKind::kCable), 128U);
}

TEST(PlanBill, ASwitchHasNoMorePortsThanItHas) {
  const Study study = study_of(
      "[plan]\ngpus = 2048\n[vary]\nnetwork = \"roce\"\nswitch_ports = 32\n"
      "topology = [\"leaf-spine\", \"rail-only\", \"single-switch\"]\noversubscription = 1\n"
      "[[job]]\nkind = \"all-reduce\"\nsize = \"1 MB\"\n");
  for (const Option& option : study.options) {
    EXPECT_EQ(option.state, State::kRefused) << option.name;
    EXPECT_NE(option.reason.find("port"), std::string::npos) << option.reason;
  }
}

TEST(PlanBill, MoneyAddsUp) {
  const Study study = study_of(plan_with("rail-optimised", 1));
  const Option& option = study.options.front();
  Money sum;
  double watts = 0;
  for (const BillLine& line : option.bill.lines) {
    const Part& part = study.prices.parts[line.part];
    sum = sum + price_of(line, part);
    watts += part.watts * static_cast<double>(line.count);
  }
  EXPECT_EQ(sum, option.capital);
  EXPECT_LE(sum.low, sum.typical);
  EXPECT_LE(sum.typical, sum.high);
  EXPECT_DOUBLE_EQ(watts * study.prices.site.pue, option.watts);
  const Part* energy = study.prices.find("electricity");
  ASSERT_NE(energy, nullptr);
  EXPECT_NEAR(option.energy.typical,
              option.watts / 1000 * 8766 * study.spec.years * energy->price.typical, 1);
}

}  // namespace nerve::sim::plan
