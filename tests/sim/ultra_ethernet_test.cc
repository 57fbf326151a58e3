// Goal: the parts of Ultra Ethernet do what they are for: sprayed packets use all paths and avoid
// bad ones, trimmed packets are retransmitted exactly once and without a timeout, receiver credits
// keep the queue before a receiver short, cables repeat damaged frames, credits replace pauses.
// Method: the live engine on small fabrics, with each part alone where that is possible.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/topology/topologies.h"
#include "tests/sim/traffic.h"

namespace nerve::sim {
namespace {

using std::chrono::microseconds;
using test::Traffic;

constexpr std::uint32_t kFlowBytes = 400'000;
constexpr std::uint32_t kLongFlow = 4'000'000;

SimNicConfig ultra_nics(std::uint32_t entropies, bool trimming = false) {
  SimNicConfig config;
  nic::NicConfig& engine = config.engine;
  engine.flow_control.ack_every = 1;
  engine.max_outstanding_packets = 128;
  engine.selective_repeat.on = true;
  engine.selective_repeat.reorder_window = trimming ? 1U << 20U : 64;
  engine.selective_repeat.timeout = engine.selective_repeat.timeout_of_few = microseconds{400};
  engine.ultra_ethernet = {.entropies = entropies, .trimming = trimming};
  config.hash_by_qp = true;
  return config;
}

FabricConfig trimming_fabric() {
  FabricConfig fabric;
  fabric.buffer.lossless = 0;
  fabric.trimming = true;
  fabric.trim_at = 100'000;
  fabric.marking = {.low = 20'000, .high = 80'000, .per_million = 1'000'000};
  return fabric;
}

struct UltraRan {
  Time finished{};
  nic::Counters counters{};
  std::uint64_t trimmed{};
  std::uint64_t link_retries{};
  std::uint64_t most_queued{};  // at one port of a switch
  test::Totals totals{};
};

UltraRan ultra_outcome(Traffic& traffic, std::uint32_t nodes) {
  traffic.run();
  UltraRan ran{.finished = traffic.last_received(), .totals = traffic.totals()};
  for (std::uint32_t i = 0; i < nodes; ++i) {
    ran.counters += traffic.world().nic(NodeId{i}).engine().counters();
  }
  for (const Port& port : traffic.world().fabric().ports()) {
    ran.trimmed += port.counters.trimmed_packets;
    ran.link_retries += port.counters.link_retries;
    if (port.switch_number == kNobody) continue;
    ran.most_queued = std::max<std::uint64_t>(ran.most_queued, port.most_queued);
  }
  return ran;
}

// Each NIC of a leaf sends to one of the next leaf. All paths have the same length.
UltraRan ultra_shift(const FabricConfig& fabric, const SimNicConfig& config, std::uint64_t seed = 1,
                     const std::vector<FaultSpec>& faults = {}, std::uint32_t bytes = kFlowBytes) {
  Traffic traffic{leaf_spine({.leaves = 4, .spines = 4, .nics_per_leaf = 4}, {}), fabric, config,
                  seed};
  traffic.schedule(faults);
  for (std::uint32_t i = 0; i < 16; ++i) {
    for (int n = 0; n < 4; ++n) traffic.add(NodeId{i}, NodeId{(i + 4) % 16}, bytes);
  }
  return ultra_outcome(traffic, 16);
}

UltraRan ultra_incast(const FabricConfig& fabric, const SimNicConfig& config,
                      std::uint32_t senders) {
  Traffic traffic{star(senders + 1, {}), fabric, config};
  for (std::uint32_t i = 0; i < senders; ++i) {
    traffic.add(NodeId{i}, NodeId{senders}, kFlowBytes);
  }
  return ultra_outcome(traffic, senders + 1);
}

TEST(EntropySpraying, UsesAllPathsOfAnEcmpFabric) {
  FabricConfig fabric;
  fabric.buffer.lossless = 1U << 1U;
  const UltraRan hashed = ultra_shift(fabric, ultra_nics(0));
  const UltraRan sprayed = ultra_shift(fabric, ultra_nics(64));
  EXPECT_EQ(hashed.counters.out_of_order_received, 0U);
  EXPECT_GT(sprayed.counters.out_of_order_received, 0U);
  EXPECT_EQ(sprayed.counters.retransmitted_frames, 0U);
  EXPECT_EQ(sprayed.totals.dropped, 0U);
  const Duration with = sprayed.finished - Time{}, without = hashed.finished - Time{};
  EXPECT_LT(with * 10, without * 9);
}

// One of four spines has slow cables. Spraying that does not learn sends it a quarter of all
// packets.
TEST(EntropySpraying, AvoidsASlowPath) {
  FabricConfig fabric = trimming_fabric();
  std::vector<FaultSpec> slow;
  for (int leaf = 0; leaf < 4; ++leaf) {
    FaultSpec fault;
    fault.kind = FaultKind::kRate;
    fault.from = "leaf" + std::to_string(leaf);
    fault.to = "spine0";
    fault.rate = Rate::gigabits(20);
    slow.push_back(fault);
  }
  SimNicConfig config = ultra_nics(64, true);
  config.engine.flow_control.algorithm = nic::CcAlgorithm::kNscc;
  const UltraRan learned = ultra_shift(fabric, config, 1, slow, kLongFlow);
  config.engine.ultra_ethernet.entropies = 0;
  fabric.path_choice = PathChoice::kSpray;
  const UltraRan oblivious = ultra_shift(fabric, config, 1, slow, kLongFlow);
  RecordProperty("learned_us", std::to_string(learned.finished.picoseconds() / 1'000'000));
  RecordProperty("oblivious_us", std::to_string(oblivious.finished.picoseconds() / 1'000'000));
  EXPECT_LT(learned.finished, oblivious.finished);
  EXPECT_LT(learned.trimmed, oblivious.trimmed);
}

TEST(EntropySpraying, IsDeterministic) {
  const UltraRan first = ultra_shift(trimming_fabric(), ultra_nics(64, true));
  const UltraRan second = ultra_shift(trimming_fabric(), ultra_nics(64, true));
  EXPECT_EQ(first.finished, second.finished);
  EXPECT_EQ(first.counters.frames_sent, second.counters.frames_sent);
}

TEST(Trimming, RetransmitsEachTrimmedPacketOnceAndWithoutATimeout) {
  for (const std::uint32_t senders : {4U, 16U}) {
    const UltraRan ran = ultra_incast(trimming_fabric(), ultra_nics(0, true), senders);
    EXPECT_GT(ran.trimmed, 100U);
    EXPECT_EQ(ran.counters.retransmitted_frames, ran.trimmed) << senders;
    EXPECT_EQ(ran.counters.timeouts, 0U) << senders;
    EXPECT_EQ(ran.totals.dropped, 0U) << senders;
    EXPECT_LE(ran.most_queued, 300'000U);
  }
}

// The header goes on in a class that waits for nobody: the loss is known long before a timeout.
TEST(Trimming, FinishesAnIncastSoonerThanDropping) {
  FabricConfig dropping;
  dropping.buffer = {.bytes = 100'000, .lossless = 0};
  SimNicConfig irn = ultra_nics(0);
  irn.engine.ultra_ethernet = {};
  const UltraRan dropped = ultra_incast(dropping, irn, 16);
  const UltraRan trimmed = ultra_incast(trimming_fabric(), ultra_nics(0, true), 16);
  EXPECT_GT(dropped.totals.dropped, 0U);
  EXPECT_LT(trimmed.finished, dropped.finished);
}

// A receiver without selective repeat NAKs a trimmed packet as it does a gap.
TEST(Trimming, GoBackNTreatsATrimmedPacketAsLost) {
  SimNicConfig config;
  const UltraRan ran = ultra_incast(trimming_fabric(), config, 4);
  EXPECT_GT(ran.trimmed, 0U);
  EXPECT_GT(ran.counters.sequence_naks_sent, 0U);
}

TEST(Nscc, TrimsLessThanAFixedWindow) {
  SimNicConfig config = ultra_nics(64, true);
  const UltraRan fixed = ultra_incast(trimming_fabric(), config, 16);
  config.engine.flow_control.algorithm = nic::CcAlgorithm::kNscc;
  const UltraRan controlled = ultra_incast(trimming_fabric(), config, 16);
  EXPECT_LT(controlled.trimmed * 2, fixed.trimmed);
  EXPECT_EQ(controlled.counters.timeouts, 0U);
  // 16 * 400 KB at 100 Gb/s are 512 us, with headers 523.
  EXPECT_LT(controlled.finished, Time{microseconds{600}});
}

TEST(ReceiverCredits, KeepTheQueueShort) {
  SimNicConfig config = ultra_nics(0, true);
  config.engine.ultra_ethernet.receiver_credits = true;
  config.engine.ultra_ethernet.unsolicited_packets = 2;
  const UltraRan ran = ultra_incast(trimming_fabric(), config, 8);
  EXPECT_EQ(ran.counters.timeouts, 0U);
  EXPECT_EQ(ran.trimmed, 0U);
  EXPECT_LE(ran.most_queued, 8U * 2 * 4'300);
  // 8 * 400 KB at 100 Gb/s are 256 us, with headers 262, at 99 % of the line rate 264.
  EXPECT_LT(ran.finished, Time{microseconds{275}});
}

// With a first window that is too large, credits still repair what was trimmed.
TEST(ReceiverCredits, GrantAnotherCopyOfEachTrimmedPacket) {
  SimNicConfig config = ultra_nics(0, true);
  config.engine.ultra_ethernet.receiver_credits = true;
  config.engine.ultra_ethernet.unsolicited_packets = 40;
  const UltraRan ran = ultra_incast(trimming_fabric(), config, 16);
  EXPECT_GT(ran.trimmed, 0U);
  EXPECT_EQ(ran.counters.retransmitted_frames, ran.trimmed);
  EXPECT_EQ(ran.counters.timeouts, 0U);
}

// Many short messages on one QP, posted while others are under way and after pauses.
TEST(ReceiverCredits, ServeMessagesOfAllSizesOnOneQp) {
  SimNicConfig config = ultra_nics(16, true);
  config.engine.ultra_ethernet.receiver_credits = true;
  config.engine.ultra_ethernet.unsolicited_packets = 1;
  Traffic traffic{star(3, {}), trimming_fabric(), config};
  const QpNumber qp = traffic.world().join(NodeId{0}, NodeId{2}).mine;
  for (const std::uint32_t bytes : {1U, 4096U, 4097U, 100'000U, 1U, 500'000U, 12U}) {
    traffic.add_on(NodeId{0}, qp, NodeId{2}, bytes);
  }
  traffic.add(NodeId{1}, NodeId{2}, 500'000);
  const UltraRan ran = ultra_outcome(traffic, 3);
  EXPECT_EQ(ran.counters.timeouts, 0U);
}

FaultSpec bit_errors(double rate) {
  FaultSpec fault;
  fault.kind = FaultKind::kErrors;
  fault.from = "leaf0";
  fault.to = "spine1";
  fault.bit_error_rate = rate;
  return fault;
}

TEST(LinkRetry, RepeatsDamagedFramesInOrder) {
  FabricConfig fabric;
  const std::vector<FaultSpec> faults{bit_errors(1e-6)};
  const UltraRan without = ultra_shift(fabric, ultra_nics(0), 1, faults);
  fabric.link_retry = true;
  const UltraRan with = ultra_shift(fabric, ultra_nics(0), 1, faults);
  EXPECT_GT(without.totals.lost, 0U);
  EXPECT_GT(with.link_retries, 0U);
  EXPECT_EQ(with.totals.lost, 0U);
  EXPECT_EQ(with.counters.retransmitted_frames, 0U);
  EXPECT_EQ(with.counters.out_of_order_received, 0U);
}

// 1000 packets of 4178 bytes with a chance of 3.3 % each: a repeat takes the frame (335.8 ns), the
// request (6.7 ns) and two cable delays.
TEST(LinkRetry, TakesARoundTripOfTheCablePerRepeat) {
  const auto run = [](bool retry) {
    FabricConfig fabric;
    fabric.link_retry = retry;
    Links links;
    links.rate = Rate::gigabits(100);
    links.delay = microseconds{1};
    Traffic traffic{star(2, links), fabric, {}};
    FaultSpec fault = bit_errors(retry ? 1e-6 : 0);
    fault.from = "nic0";
    fault.to = "switch";
    if (retry) traffic.schedule({fault});
    traffic.add(NodeId{0}, NodeId{1}, 1000 * 4096);
    return ultra_outcome(traffic, 2);
  };
  const UltraRan clean = run(false);
  const UltraRan noisy = run(true);
  EXPECT_GT(noisy.link_retries, 15U);
  EXPECT_LT(noisy.link_retries, 60U);
  const Duration longer = noisy.finished - clean.finished;
  const auto each = longer / static_cast<std::int64_t>(noisy.link_retries);
  EXPECT_NEAR(static_cast<double>(each.count()), 2'342'500, 60'000);
}

// A cable on which every frame is damaged cannot be repaired.
TEST(LinkRetry, GivesUpWhereEveryFrameIsDamaged) {
  FabricConfig fabric;
  fabric.link_retry = true;
  Traffic traffic{star(2, {}), fabric, {}};
  FaultSpec fault = bit_errors(1);
  fault.from = "nic0";
  fault.to = "switch";
  traffic.schedule({fault});
  traffic.add(NodeId{0}, NodeId{1}, 10'000);
  traffic.may_fail();
  const UltraRan ran = ultra_outcome(traffic, 2);
  EXPECT_GT(ran.totals.lost, 0U);
  EXPECT_EQ(ran.link_retries, 0U);
}

TEST(EthernetCredits, NothingIsDroppedOrPausedAndPacketsAreMarked) {
  FabricConfig fabric;
  fabric.kind = LinkKind::kEthernetCredits;
  fabric.lane_buffer = 128 << 10;
  fabric.marking = {.low = 20'000, .high = 80'000};
  const UltraRan ran = ultra_incast(fabric, ultra_nics(0), 8);
  EXPECT_EQ(ran.totals.dropped, 0U);
  EXPECT_EQ(ran.totals.pauses, 0U);
  EXPECT_GT(ran.totals.marked, 0U);
  // Ethernet's frames have a preamble and a gap: as long as with pauses.
  FabricConfig pauses;
  const UltraRan paused = ultra_incast(pauses, ultra_nics(0), 8);
  const Duration longer = ran.finished - paused.finished;
  EXPECT_LT(std::abs(longer.count()), 5'000'000);
}

TEST(EthernetCredits, AllCreditsReturn) {
  FabricConfig fabric;
  fabric.kind = LinkKind::kEthernetCredits;
  fabric.lane_buffer = 20'000;
  fabric.link_retry = true;
  Traffic traffic{leaf_spine({.leaves = 4, .spines = 4, .nics_per_leaf = 4}, {}), fabric,
                  ultra_nics(64)};
  traffic.schedule({bit_errors(1e-6)});
  for (std::uint32_t i = 0; i < 16; ++i)
    traffic.add(NodeId{i}, NodeId{(i * 7 + 5) % 16}, kFlowBytes);
  const UltraRan ran = ultra_outcome(traffic, 16);
  EXPECT_EQ(ran.totals.dropped + ran.totals.lost, 0U);
  for (const Port& port : traffic.world().fabric().ports()) {
    for (const std::uint32_t credits : port.credits) EXPECT_EQ(credits, 20'000U);
  }
}

}  // namespace
}  // namespace nerve::sim
