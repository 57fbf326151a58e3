// Goal: the benefit of selective repeat. Without PFC and with a small switch buffer it completes an
// incast sooner than go-back-N and retransmits less; reordered packets are not retransmitted.
// Method: the live engine on small fabrics.
#include <gtest/gtest.h>

#include "sim/topology/topologies.h"
#include "tests/sim/traffic.h"

namespace nerve::sim {
namespace {

using std::chrono::microseconds;
using test::Traffic;

struct Ran {
  Time finished{};
  nic::Counters counters{};
  std::uint64_t dropped{};
};

SimNicConfig nics(bool selective) {
  SimNicConfig config;
  config.engine.selective_repeat.on = selective;
  config.engine.max_outstanding_packets = 32;  // slightly more than the fabric holds
  return config;
}

Ran outcome(Traffic& traffic, std::uint32_t nodes) {
  traffic.run();
  Ran ran{.finished = traffic.last_received(), .dropped = traffic.totals().dropped};
  for (std::uint32_t i = 0; i < nodes; ++i) {
    ran.counters += traffic.world().nic(NodeId{i}).engine().counters();
  }
  return ran;
}

// Which packets are dropped is a matter of chance: the sum of several incasts.
Ran incasts(bool selective, std::uint32_t senders) {
  FabricConfig config;
  config.buffer = {.bytes = 300'000, .lossless = 0};
  Ran all;
  for (std::uint32_t packets = 240; packets < 250; ++packets) {
    Traffic traffic{star(senders + 1, {}), config, nics(selective)};
    for (std::uint32_t i = 0; i < senders; ++i) {
      traffic.add(NodeId{i}, NodeId{senders}, packets * 4096);
    }
    const Ran one = outcome(traffic, senders + 1);
    all.finished = all.finished + (one.finished - Time{});
    all.counters += one.counters;
    all.dropped += one.dropped;
  }
  return all;
}

TEST(SelectiveRepeat, FinishesAnIncastSoonerThanGoBackN) {
  for (const std::uint32_t senders : {4U, 16U}) {
    const Ran without = incasts(false, senders);
    const Ran with = incasts(true, senders);
    EXPECT_GT(with.dropped, 0U) << senders;
    EXPECT_GT(with.counters.selective_naks_sent, 0U);
    EXPECT_LT(with.finished, without.finished) << senders;
    EXPECT_LT(with.counters.retransmitted_frames, without.counters.retransmitted_frames) << senders;
    RecordProperty("go_back_n_us_" + std::to_string(senders),
                   std::to_string(without.finished.picoseconds() / 1'000'000));
    RecordProperty("selective_us_" + std::to_string(senders),
                   std::to_string(with.finished.picoseconds() / 1'000'000));
  }
}

// Four flows sprayed over eight paths, with cross traffic that makes the paths unequal.
Ran sprayed(const SimNicConfig& config) {
  FabricConfig fabric;
  fabric.path_choice = PathChoice::kSpray;
  fabric.buffer.lossless = 1U << 1U;
  Traffic traffic{leaf_spine({.leaves = 4, .spines = 4, .nics_per_leaf = 4}, {}), fabric, config};
  for (std::uint32_t i = 0; i < 16; ++i) traffic.add(NodeId{i}, NodeId{(i * 7 + 5) % 16}, 400'000);
  return outcome(traffic, 16);
}

TEST(SelectiveRepeat, DoesNotRetransmitReorderedPackets) {
  SimNicConfig tolerant = nics(true);
  tolerant.engine.selective_repeat.reorder_window = 32;
  tolerant.engine.selective_repeat.reorder_timeout = microseconds{200};
  const Ran with = sprayed(tolerant);
  EXPECT_EQ(with.dropped, 0U);
  EXPECT_GT(with.counters.out_of_order_received, 0U);
  EXPECT_EQ(with.counters.retransmitted_frames, 0U);
  const Ran without = sprayed(nics(false));
  EXPECT_GT(without.counters.retransmitted_frames, 0U);
  EXPECT_LT(with.finished, without.finished);
}

TEST(SelectiveRepeat, IsDeterministic) {
  const Ran first = incasts(true, 8);
  const Ran second = incasts(true, 8);
  EXPECT_EQ(first.finished, second.finished);
  EXPECT_EQ(first.counters.frames_sent, second.counters.frames_sent);
}

}  // namespace
}  // namespace nerve::sim
