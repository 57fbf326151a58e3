// Goal: the CNP delay applies to CNPs only. Method: two senders overload a cable, with and without
// the delay. Both runs are identical until the first CNP, which arrives later by the delay; all
// messages arrive, and the queue is longer.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/topology/topologies.h"
#include "tests/sim/traffic.h"

namespace nerve::sim::cnp_delay_test {
namespace {

using std::chrono::microseconds;

constexpr std::uint32_t kMessage = 4'000'000;
constexpr NodeId kReceiver{2};

struct Seen {
  Time first_cnp{};
  Time first_mark_answered{};  // when the receiver's engine made the first CNP
  std::uint32_t most_queued{};
};

std::uint64_t received_by_senders(Simulation& world) {
  return world.nic(NodeId{0}).counters().cnps_received +
         world.nic(NodeId{1}).counters().cnps_received;
}

Seen two_to_one(Duration delay) {
  FabricConfig fabric;
  fabric.buffer.lossless = 1U << 1;
  fabric.marking = {.low = 20'000, .high = 80'000};
  SimNicConfig nics;
  nics.cnp_delay = delay;
  nics.engine.flow_control.algorithm = nic::CcAlgorithm::kDcqcn;
  test::Traffic traffic{star(3, {}), fabric, nics};
  for (std::uint32_t i = 0; i < 2; ++i) traffic.add(NodeId{i}, kReceiver, kMessage);
  Simulation& world = traffic.world();
  Seen seen;
  const Time limit{std::chrono::seconds{1}};
  while (received_by_senders(world) == 0 && world.run(limit, 1) > 0) {
    if (seen.first_mark_answered != Time{}) continue;
    if (world.nic(kReceiver).counters().cnps_sent == 0) continue;
    seen.first_mark_answered = world.now();
  }
  seen.first_cnp = world.now();
  traffic.run();
  for (const Port& port : world.fabric().ports()) {
    seen.most_queued = std::max(seen.most_queued, port.most_queued);
  }
  return seen;
}

}  // namespace

TEST(CnpDelay, OnlyCnpsAreDelayed) {
  constexpr Duration kDelay = microseconds{50};
  const Seen at_once = two_to_one({});
  const Seen late = two_to_one(kDelay);
  ASSERT_NE(at_once.first_mark_answered, Time{});
  EXPECT_EQ(late.first_mark_answered, at_once.first_mark_answered);
  // On its path it may wait behind an ACK that is being sent.
  EXPECT_GE(late.first_cnp - at_once.first_cnp, kDelay - microseconds{1});
  EXPECT_LE(late.first_cnp - at_once.first_cnp, kDelay + microseconds{1});
}

// For another 50 us two senders at line rate exceed the cable by one line rate: 625 KB at 100 Gb/s.
TEST(CnpDelay, QueueGrowsUntilDelayedCnpsArrive) {
  const Seen at_once = two_to_one({});
  const Seen late = two_to_one(microseconds{50});
  EXPECT_GT(late.most_queued, at_once.most_queued + 500'000);
  EXPECT_LT(late.most_queued, at_once.most_queued + 750'000);
}

}  // namespace nerve::sim::cnp_delay_test
