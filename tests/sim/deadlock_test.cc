// Goal: flow control can deadlock, as in real fabrics: a cycle of full buffers, each waiting for
// the next. Method: five switches in a ring, flows that each cross two of its cables. With PFC and
// with credits nothing moves any more; without PFC all messages arrive.
#include <gtest/gtest.h>

#include "sim/topology/graph_file.h"
#include "tests/sim/traffic.h"

namespace nerve::sim {
namespace {

using test::Traffic;

constexpr std::uint32_t kSwitches = 5;
constexpr std::uint32_t kNics = 4;  // per switch

Graph ring() {
  std::string text;
  for (std::uint32_t i = 0; i < kSwitches; ++i) {
    text += "switch s" + std::to_string(i) + "\n";
    for (std::uint32_t k = 0; k < kNics; ++k) {
      const std::string name = "n" + std::to_string(i) + "." + std::to_string(k);
      text += "nic " + name + "\ncable " + name + " s" + std::to_string(i) + " 100G 100ns\n";
    }
  }
  for (std::uint32_t i = 0; i < kSwitches; ++i) {
    text += "cable s" + std::to_string(i) + " s" + std::to_string((i + 1) % kSwitches) +
            " 100G 100ns\n";
  }
  auto graph = parse_graph(text, "ring");
  EXPECT_TRUE(graph) << graph.error();
  return *std::move(graph);
}

void add_flows(Traffic& traffic) {
  for (std::uint32_t i = 0; i < kSwitches; ++i) {
    for (std::uint32_t k = 0; k < kNics; ++k) {
      const std::uint32_t there = (i + 2) % kSwitches * kNics + k;
      traffic.add(NodeId{i * kNics + k}, NodeId{there}, 2'000'000);
    }
  }
}

// Packets still in the fabric when no event is left.
std::size_t stuck(const FabricConfig& config) {
  Traffic traffic{ring(), config};
  traffic.may_fail();
  add_flows(traffic);
  traffic.world().run(Time{std::chrono::seconds{10}});
  EXPECT_TRUE(traffic.world().idle());
  return traffic.world().packets_in_use();
}

}  // namespace

TEST(Deadlock, RingOfPausedSwitchesDeadlocks) {
  FabricConfig config;
  config.buffer.bytes = 500'000;
  EXPECT_GT(stuck(config), 0U);
}

TEST(Deadlock, RingWithoutCreditsDeadlocks) {
  FabricConfig config;
  config.kind = LinkKind::kInfiniBand;
  EXPECT_GT(stuck(config), 0U);
}

TEST(Deadlock, RingWithoutPfcDropsPacketsAndCompletes) {
  FabricConfig config;
  config.buffer.bytes = 500'000;
  config.buffer.lossless = 0;
  Traffic traffic{ring(), config};
  add_flows(traffic);
  traffic.run();
  EXPECT_GT(traffic.totals().dropped, 0U);
}

}  // namespace nerve::sim
