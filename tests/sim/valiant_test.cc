// Goal: with Valiant routing, traffic between two groups of a dragonfly is spread over all of them,
// and nothing deadlocks. Method: a dragonfly of nine groups; the worst case for minimal routes,
// uniform traffic, traffic within groups, small buffers.
#include <gtest/gtest.h>

#include "sim/topology/topologies.h"
#include "tests/sim/times.h"
#include "tests/sim/traffic.h"

namespace nerve::sim {
namespace {

using test::microseconds_of;
using test::Traffic;

constexpr std::uint32_t kGroup = 8;  // NICs
constexpr std::uint32_t kNics = 72;
constexpr std::uint32_t kFlows = 32;  // per NIC
constexpr std::uint32_t kBytes = 100'000;

Graph nine_groups() {
  return dragonfly({.groups = 9, .routers = 4, .nics_per_router = 2, .cables_out = 2}, {});
}

FabricConfig fabric(LinkKind kind, PathChoice choice) {
  FabricConfig config;
  config.kind = kind;
  config.path_choice = choice;
  return config;
}

SimNicConfig nics() {
  SimNicConfig config;
  config.hash_by_qp = true;
  config.timeout = 14;  // 67 ms: nothing is lost, packets only wait
  return config;
}

// The time of all flows. NIC n sends to n + shift(k), k from 0 to kFlows - 1.
template <class Shift>
double microseconds_for(const FabricConfig& config, Shift shift) {
  Traffic traffic{nine_groups(), config, nics()};
  for (std::uint32_t i = 0; i < kNics; ++i) {
    for (std::uint32_t k = 0; k < kFlows; ++k) {
      traffic.add(NodeId{i}, NodeId{(i + shift(k)) % kNics}, kBytes);
    }
  }
  traffic.run();
  EXPECT_EQ(traffic.totals().dropped, 0U);
  return microseconds_of(traffic.last_received());
}

std::uint64_t bytes_between_groups(Traffic& traffic) {
  std::uint64_t bytes = 0;
  for (const Port& port : traffic.world().fabric().ports()) {
    if (port.lifts) bytes += port.sent_bytes;
  }
  return bytes;
}

}  // namespace

class Valiant : public testing::TestWithParam<LinkKind> {};

TEST_P(Valiant, SpreadsTrafficBetweenNeighbouringGroups) {
  const auto next_group = [](std::uint32_t) { return kGroup; };
  const double minimal = microseconds_for(fabric(GetParam(), PathChoice::kEcmp), next_group);
  const double valiant = microseconds_for(fabric(GetParam(), PathChoice::kValiant), next_group);
  // One cable carries what eight NICs send: at best an eighth of their rate. With Valiant routing
  // at best half.
  EXPECT_GT(minimal, 8 * kFlows * kBytes * 8 / 100e3);
  EXPECT_LT(valiant, minimal / 2.2);
}

TEST_P(Valiant, HalvesTheThroughputOfUniformTraffic) {
  const auto everywhere = [](std::uint32_t k) { return kGroup * (k % 8 + 1) + k % 2; };
  const double minimal = microseconds_for(fabric(GetParam(), PathChoice::kEcmp), everywhere);
  const double valiant = microseconds_for(fabric(GetParam(), PathChoice::kValiant), everywhere);
  EXPECT_GT(valiant, minimal * 1.3);
  EXPECT_LT(valiant, minimal * 3);
}

TEST_P(Valiant, DoesNotDeadlockWithSmallBuffers) {
  FabricConfig config = fabric(GetParam(), PathChoice::kValiant);
  config.lane_buffer = 9000;
  config.buffer.bytes = 1'200'000;
  microseconds_for(config, [](std::uint32_t k) { return kGroup + k * 5; });
}

INSTANTIATE_TEST_SUITE_P(Kinds, Valiant,
                         testing::Values(LinkKind::kEthernet, LinkKind::kInfiniBand),
                         [](const auto& which) {
                           return which.param == LinkKind::kEthernet ? "Ethernet" : "InfiniBand";
                         });

TEST(ValiantRoutes, CrossTwoCablesBetweenGroups) {
  constexpr std::uint32_t kPayload = 1'024'000;  // 250 packets, of 4 158 bytes each
  for (const bool within : {true, false}) {
    Traffic traffic{nine_groups(), fabric(LinkKind::kEthernet, PathChoice::kValiant), nics()};
    for (std::uint32_t i = 0; i < kGroup; ++i) {
      traffic.add(NodeId{i}, NodeId{within ? (i + 3) % kGroup : i + kGroup}, kPayload);
    }
    traffic.run();
    const auto crossed = static_cast<double>(bytes_between_groups(traffic));
    const double sent = kGroup * 250.0 * 4158;
    EXPECT_NEAR(crossed, within ? 0 : 2 * sent, 0.01 * sent);
  }
}

TEST(ValiantRoutes, AreMinimalBetweenTwoGroups) {
  const Graph two =
      dragonfly({.groups = 2, .routers = 2, .nics_per_router = 2, .cables_out = 1}, {});
  Traffic traffic{two, fabric(LinkKind::kEthernet, PathChoice::kValiant), nics()};
  for (std::uint32_t i = 0; i < 4; ++i) traffic.add(NodeId{i}, NodeId{i + 4}, 409'600);
  traffic.run();
  EXPECT_NEAR(static_cast<double>(bytes_between_groups(traffic)), 4 * 100 * 4158.0, 8000);
}

}  // namespace nerve::sim
