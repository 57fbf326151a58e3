// Goal: each port marks by thresholds for its own rate. Method: a trunk of 400 Gb/s and NICs of
// 100, with queues between the thresholds of the two.
#include "sim/fabric/marking.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/topology/topologies.h"
#include "tests/sim/traffic.h"

namespace nerve::sim {
namespace {

constexpr std::uint32_t kSide = 8;  // NICs on each side
constexpr std::uint32_t kKilobyte = 1000;

Graph two_speeds() {
  Links links;
  links.rate = Rate::gigabits(100);
  links.trunk = Rate::gigabits(400);
  return dumbbell(2 * kSide, 1, links);
}

FabricConfig marks_by(bool per_gigabit) {
  FabricConfig config;
  config.marking = {.low = 400 * kKilobyte, .high = 1600 * kKilobyte};
  if (per_gigabit) config.marking = {.low = 4000, .high = 16'000, .per_gigabit = true};
  return config;
}

struct Marked {
  std::uint64_t by_trunks{};
  std::uint64_t by_others{};
  std::uint32_t longest_trunk_queue{};
};

// All NICs on the left send, each to its own receiver or all to one.
Marked run(bool per_gigabit, bool to_one, std::uint32_t bytes) {
  test::Traffic traffic{two_speeds(), marks_by(per_gigabit), {}};
  for (std::uint32_t i = 0; i < kSide; ++i) {
    traffic.add(NodeId{i}, NodeId{to_one ? kSide : kSide + i}, bytes);
  }
  traffic.run();
  Marked marked;
  for (const Port& port : traffic.world().fabric().ports()) {
    if (port.rate != Rate::gigabits(400)) {
      marked.by_others += port.counters.marked_packets;
      continue;
    }
    marked.by_trunks += port.counters.marked_packets;
    marked.longest_trunk_queue = std::max(marked.longest_trunk_queue, port.most_queued);
  }
  return marked;
}

}  // namespace

TEST(Marking, ThresholdsFollowTheRateOfThePort) {
  constexpr MarkingConfig kPerGigabit{.low = 4000, .high = 16'000, .per_gigabit = true};
  const auto at = [&](Rate rate) { return thresholds_of(kPerGigabit, rate); };
  EXPECT_EQ(at(Rate::gigabits(100)), (MarkingThresholds{400'000, 1'600'000}));
  EXPECT_EQ(at(Rate::gigabits(400)), (MarkingThresholds{1'600'000, 6'400'000}));
  EXPECT_EQ(at(Rate::gigabits(25)), (MarkingThresholds{100'000, 400'000}));
  EXPECT_EQ(at(Rate::megabits(10)), (MarkingThresholds{4000, 16'000})) << "at least a packet";
  EXPECT_EQ(thresholds_of({}, Rate::gigabits(25)), (MarkingThresholds{400'000, 1'600'000}));
}

TEST(Marking, FastTrunkToleratesALongerQueueThanANic) {
  const Marked own = run(true, false, 200 * kKilobyte);
  EXPECT_GT(own.longest_trunk_queue, 600 * kKilobyte);
  EXPECT_LT(own.longest_trunk_queue, 1600 * kKilobyte);
  EXPECT_EQ(own.by_trunks, 0U);
  EXPECT_GT(run(false, false, 200 * kKilobyte).by_trunks, 0U) << "the thresholds of 100 Gb/s";
  EXPECT_GT(run(true, false, 1000 * kKilobyte).by_trunks, 0U);
  EXPECT_GT(run(true, true, 200 * kKilobyte).by_others, 0U);
}

}  // namespace nerve::sim
