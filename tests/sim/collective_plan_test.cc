// Goal: a plan computes the result of its collective and moves no more bytes than necessary.
// Method: every plan is executed in memory in random order, for groups of all sizes and buffers
// that do not divide evenly; the results are compared value by value.
#include <gtest/gtest.h>

#include "sim/workload/collective/shares.h"
#include "sim/workload/words.h"
#include "tests/sim/plan_contents.h"

namespace nerve::sim {
namespace {

using Kind = CollectiveKind;
using Algorithm = CollectiveAlgorithm;

std::vector<std::uint32_t> packed(std::uint32_t members, std::uint32_t per_server) {
  std::vector<std::uint32_t> servers(members);
  for (std::uint32_t i = 0; i < members; ++i) servers[i] = i / per_server;
  return servers;
}

std::vector<std::uint32_t> striped(std::uint32_t members, std::uint32_t servers) {
  std::vector<std::uint32_t> of(members);
  for (std::uint32_t i = 0; i < members; ++i) of[i] = servers - 1 - i % servers;
  return of;
}

std::string name_of(const Operation& operation, std::uint32_t members) {
  return std::string{words_of(operation.algorithm)} + " " + std::string{words_of(operation.kind)} +
         " of " + std::to_string(operation.bytes) + ", " + std::to_string(members) + " members, " +
         std::to_string(operation.chunks) + " chunks";
}

void expect_kept(const Operation& operation, const GroupLayout& layout, std::uint64_t seed) {
  SCOPED_TRACE(name_of(operation, layout.members));
  ASSERT_EQ(objection(operation, layout), std::nullopt);
  const auto plan = make_plan(operation, layout);
  ASSERT_EQ(plan->items() % plan->lanes(), 0U);
  const test::Carried carried =
      test::carry_out(*plan, test::memory_before(operation, layout.members), seed);
  ASSERT_EQ(carried.trouble, "");
  const test::Memory promised = test::memory_after(operation, layout.members);
  for (std::uint32_t m = 0; m < layout.members; ++m) {
    for (std::size_t i = 0; i < promised[m].size(); ++i) {
      if (promised[m][i] == 0) continue;
      ASSERT_EQ(carried.memory[m][i], promised[m][i]) << "member " << m << ", byte " << i;
    }
    // The loads used for bounds must equal the bytes sent.
    std::uint64_t load = 0;
    std::vector<PeerLoad> loads;
    for (std::uint32_t phase = 0; phase < plan->phases(); ++phase) plan->load(m, phase, loads);
    for (const PeerLoad& one : loads) load += one.bytes;
    ASSERT_EQ(load, carried.sent[m]) << "member " << m;
  }
}

void expect_kept_for_all_sizes(Operation operation) {
  for (std::uint32_t members = 1; members <= 33; ++members) {
    const GroupLayout layout = layout_of(packed(members, 1));
    for (const std::uint64_t bytes : {1U, 7U, 33U, 100U}) {
      operation.bytes = bytes;
      expect_kept(operation, layout, members * 1000 + bytes);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// The minimum bytes of one member, summed.
std::uint64_t sum_of_sent(const Operation& operation, const GroupLayout& layout) {
  const auto plan = make_plan(operation, layout);
  std::uint64_t sum = 0;
  const auto carried = test::carry_out(*plan, test::memory_before(operation, layout.members), 1);
  for (const std::uint64_t bytes : carried.sent) sum += bytes;
  return sum;
}

}  // namespace

TEST(CollectivePlan, RingIsCorrect) {
  for (const Kind kind :
       {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather, Kind::kAllToAll}) {
    expect_kept_for_all_sizes({.kind = kind, .algorithm = Algorithm::kRing});
  }
}

TEST(CollectivePlan, HalvingAndDoublingAreCorrect) {
  for (const Kind kind : {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather}) {
    expect_kept_for_all_sizes({.kind = kind, .algorithm = Algorithm::kHalvingDoubling});
  }
}

TEST(CollectivePlan, TreesAndChainsAreCorrect) {
  for (const std::uint32_t chunks : {1U, 2U, 5U, 16U}) {
    expect_kept_for_all_sizes(
        {.kind = Kind::kAllReduce, .algorithm = Algorithm::kTree, .chunks = chunks});
    expect_kept_for_all_sizes(
        {.kind = Kind::kBroadcast, .algorithm = Algorithm::kTree, .chunks = chunks});
    expect_kept_for_all_sizes(
        {.kind = Kind::kBroadcast, .algorithm = Algorithm::kRing, .chunks = chunks});
  }
}

TEST(CollectivePlan, DirectAllToAllIsCorrect) {
  expect_kept_for_all_sizes({.kind = Kind::kAllToAll, .algorithm = Algorithm::kDirect});
}

TEST(CollectivePlan, HierarchicalPlansAreCorrect) {
  for (const Kind kind :
       {Kind::kAllReduce, Kind::kReduceScatter, Kind::kAllGather, Kind::kAllToAll}) {
    for (std::uint32_t rows = 1; rows <= 6; ++rows) {
      for (std::uint32_t columns = 1; columns <= 5; ++columns) {
        for (const std::uint64_t bytes : {1U, 8U, 61U, 102U}) {
          const Operation operation{.kind = kind,
                                    .algorithm = Algorithm::kHierarchical,
                                    .bytes = bytes,
                                    .chunks = 1 + static_cast<std::uint32_t>(bytes) % 4};
          const std::uint32_t members = rows * columns;
          expect_kept(operation, layout_of(packed(members, columns)), bytes + members);
          expect_kept(operation, layout_of(striped(members, rows)), bytes + members);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(CollectivePlan, NoPlanMovesMoreThanTheMinimum) {
  for (std::uint32_t members = 1; members <= 33; ++members) {
    const GroupLayout layout = layout_of(packed(members, 1));
    for (const std::uint64_t bytes : {5U, 64U, 101U}) {
      const std::uint64_t least = bytes * (members - 1);  // over all members
      const auto sent = [&](Kind kind, Algorithm algorithm) {
        return sum_of_sent({.kind = kind, .algorithm = algorithm, .bytes = bytes}, layout);
      };
      EXPECT_EQ(sent(Kind::kAllReduce, Algorithm::kRing), 2 * least);
      EXPECT_EQ(sent(Kind::kReduceScatter, Algorithm::kRing), least);
      EXPECT_EQ(sent(Kind::kAllGather, Algorithm::kRing), least);
      EXPECT_EQ(sent(Kind::kAllToAll, Algorithm::kRing), least);
      EXPECT_EQ(sent(Kind::kAllToAll, Algorithm::kDirect), least);
      EXPECT_EQ(sent(Kind::kAllReduce, Algorithm::kTree), 2 * least);
      EXPECT_EQ(sent(Kind::kBroadcast, Algorithm::kTree), least);
      EXPECT_EQ(sent(Kind::kBroadcast, Algorithm::kRing), least);
      EXPECT_EQ(sent(Kind::kAllReduce, Algorithm::kHierarchical), 2 * least);
      EXPECT_EQ(sent(Kind::kAllGather, Algorithm::kHalvingDoubling), least);
      const bool power_of_two = (members & (members - 1)) == 0;
      if (!power_of_two) continue;
      EXPECT_EQ(sent(Kind::kAllReduce, Algorithm::kHalvingDoubling), 2 * least);
    }
  }
}

TEST(CollectivePlan, NicCarriesTheShareOfItsOwnColumn) {
  // 4 servers of 8: of 3200 bytes, along each rail 2 x 400 x 3/4.
  const GroupLayout layout = layout_of(packed(32, 8));
  const auto plan = make_plan(
      {.kind = Kind::kAllReduce, .algorithm = Algorithm::kHierarchical, .bytes = 3200}, layout);
  std::vector<PeerLoad> loads;
  plan->load(5, 1, loads);
  ASSERT_EQ(loads.size(), 1U);
  EXPECT_EQ(loads[0].bytes, 600U);
  EXPECT_EQ(loads[0].to, 13U);
}

TEST(CollectivePlan, ChunksOfAHierarchyEnterOneAfterTheOther) {
  constexpr std::uint32_t kChunks = 8;
  constexpr std::uint64_t kBytes = std::uint64_t{32} * kChunks << 20U;  // messages of 1 MiB
  const GroupLayout layout = layout_of(packed(32, 8));
  const auto plan = make_plan({.kind = Kind::kAllReduce,
                               .algorithm = Algorithm::kHierarchical,
                               .bytes = kBytes,
                               .chunks = kChunks},
                              layout);
  Outgoing out;
  std::uint32_t waiting = 0;
  for (std::uint32_t item = 0; item < plan->items(); ++item) {
    const std::uint32_t before = plan->waits_for(item);
    if (before == kNoItem) continue;
    ++waiting;
    EXPECT_LT(before % kChunks, item % kChunks) << item;  // a lower lane: no circles
    out.clear();
    plan->sends(0, item, out);
    EXPECT_FALSE(out.transfers().empty()) << item;
  }
  EXPECT_EQ(waiting, 2 * (kChunks - 2));  // all but two wait to be scattered, and for the rail
}

TEST(CollectivePlan, SharesAddUp) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1000003},
                                    std::uint64_t{0xffff'ffff'ffff'ffff}}) {
    for (std::uint32_t parts = 1; parts <= 40; ++parts) {
      const Shares shares{bytes, parts};
      std::uint64_t sum = 0;
      for (std::uint32_t i = 0; i < parts; ++i) {
        EXPECT_EQ(shares.offset(i), sum);
        sum += shares.bytes(i);
      }
      EXPECT_EQ(sum, bytes);
      EXPECT_EQ(shares.offset(parts), bytes);
    }
  }
}

TEST(CollectivePlan, AutoChoosesByTheServersOfTheGroup) {
  const auto chosen = [](Kind kind, const std::vector<std::uint32_t>& servers) {
    return resolve({.kind = kind, .algorithm = Algorithm::kAuto, .bytes = 1 << 30},
                   layout_of(servers));
  };
  EXPECT_EQ(chosen(Kind::kAllReduce, packed(8, 1)).algorithm, Algorithm::kRing);
  EXPECT_EQ(chosen(Kind::kAllReduce, packed(32, 8)).algorithm, Algorithm::kHierarchical);
  EXPECT_EQ(chosen(Kind::kAllReduce, packed(31, 8)).algorithm, Algorithm::kRing);
  EXPECT_EQ(chosen(Kind::kAllToAll, packed(32, 8)).algorithm, Algorithm::kHierarchical);
  EXPECT_EQ(chosen(Kind::kAllToAll, packed(8, 8)).algorithm, Algorithm::kDirect);
  EXPECT_EQ(chosen(Kind::kAllToAll, packed(8, 1)).algorithm, Algorithm::kDirect);
  EXPECT_EQ(chosen(Kind::kBroadcast, packed(32, 8)).algorithm, Algorithm::kRing);
  EXPECT_EQ(chosen(Kind::kBroadcast, packed(32, 8)).chunks, 256U);
}

}  // namespace nerve::sim
