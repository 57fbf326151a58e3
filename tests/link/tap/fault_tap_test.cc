// Goal: each fault has its effect, and the same seed gives the same faults. Method: frames of
// several QPs through a tap onto a recorder, with a clock of the test's own.
#include "link/tap/fault_tap.h"

#include <gtest/gtest.h>

#include <map>

#include "base/prng.h"
#include "tests/link/tap/frames.h"

namespace nerve::link {
namespace {

using std::chrono::microseconds;
using Psns = std::vector<std::uint32_t>;

FaultSpec spec(std::string_view text) {
  const auto parsed = parse_fault_spec(text);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error());
  return parsed ? *parsed : FaultSpec{};
}

struct Bench {
  explicit Bench(std::string_view text) : tap{out, spec(text)} {}

  void send(std::uint32_t qpn, std::uint32_t psn, Time now = {},
            const char* opcode = "RC_SEND_ONLY") {
    TestFrame made{opcode, qpn, psn, opcode == std::string{"RC_ACKNOWLEDGE"} ? 0U : 16U};
    const wire::Frame frame = made.frame();
    tap.send({&frame, 1}, now);
  }
  void send_many(std::uint32_t qpn, std::uint32_t count) {
    for (std::uint32_t psn = 0; psn < count; ++psn) send(qpn, psn);
  }
  void settle() {
    while (const auto deadline = tap.next_deadline()) tap.expire(*deadline);
  }
  // In order of arrival.
  [[nodiscard]] Psns psns_of(std::uint32_t qpn) const {
    Psns psns;
    for (const Sent& one : out.sent) {
      if (one.qpn == qpn) psns.push_back(one.psn);
    }
    return psns;
  }

  Recorder out;
  FaultTap tap;
};

}  // namespace

TEST(FaultTap, WithoutRulesBurstsPassWhole) {
  Bench bench{"seed=3"};
  TestFrame made{"RC_SEND_MIDDLE", 1, 0};
  std::vector<wire::Frame> frames(5, made.frame());
  for (std::size_t i = 1; i < frames.size(); ++i) frames[i].continues_train = true;
  bench.tap.send(frames, {});
  EXPECT_EQ(bench.out.bursts, 1U);
  ASSERT_EQ(bench.out.sent.size(), 5U);
  EXPECT_FALSE(bench.out.sent[0].continues_train);
  EXPECT_TRUE(bench.out.sent[4].continues_train);
}

TEST(FaultTap, LosesTheRequestedShare) {
  Bench bench{"loss=1%,seed=7"};
  bench.send_many(1, 100'000);
  const std::uint64_t lost = bench.tap.counters().lost;
  EXPECT_EQ(bench.out.sent.size(), 100'000 - lost);
  EXPECT_GT(lost, 900U);
  EXPECT_LT(lost, 1100U);
}

TEST(FaultTap, DropsTheNthOfEachOrOfOneQp) {
  Bench bench{"drop=3,drop=0x12:1"};
  for (std::uint32_t psn = 1; psn <= 4; ++psn) {
    bench.send(0x11, psn);
    bench.send(0x12, psn);
  }
  EXPECT_EQ(bench.psns_of(0x11), (Psns{1, 2, 4}));
  EXPECT_EQ(bench.psns_of(0x12), (Psns{2, 4}));
}

TEST(FaultTap, CountsOnlySelectedPackets) {
  Bench bench{"drop=2,op=ACK"};
  for (std::uint32_t psn = 1; psn <= 3; ++psn) {
    bench.send(0x11, psn);
    bench.send(0x11, 100 + psn, {}, "RC_ACKNOWLEDGE");
  }
  EXPECT_EQ(bench.psns_of(0x11), (Psns{1, 101, 2, 3, 103}));
}

TEST(FaultTap, CorruptionIsDetectedByTheIcrc) {
  Bench bench{"corrupt=100%,seed=11"};
  bench.send_many(1, 3000);
  EXPECT_EQ(bench.out.sent.size(), 3000U);
  EXPECT_EQ(bench.tap.counters().corrupted, 3000U);
  EXPECT_EQ(std::ranges::count(bench.out.sent, true, &Sent::good), 0);
}

TEST(FaultTap, EcnChangesOnlyTheMark) {
  Bench bench{"ecn=100%"};
  bench.send_many(1, 3);
  for (const Sent& one : bench.out.sent) {
    EXPECT_EQ(one.flow.ecn(), wire::Ecn::kCongestion);
    EXPECT_TRUE(one.good);
    EXPECT_FALSE(one.as_bytes);
  }
  EXPECT_EQ(bench.psns_of(1), (Psns{0, 1, 2}));
}

TEST(FaultTap, DelaysUntilTheDeadline) {
  Bench bench{"delay=20us,qp=1"};
  const Time start{std::chrono::seconds{1}};
  bench.send(1, 1, start);
  bench.send(1, 2, start + microseconds{5});
  bench.send(2, 3, start + microseconds{6});
  EXPECT_EQ(bench.out.psns(), (Psns{3}));
  EXPECT_EQ(bench.tap.next_deadline(), start + microseconds{20});
  bench.tap.expire(start + microseconds{19});
  EXPECT_EQ(bench.out.psns(), (Psns{3}));
  bench.send(2, 4, start + microseconds{22});  // sending advances time, too
  EXPECT_EQ(bench.out.psns(), (Psns{3, 1, 4}));
  bench.tap.expire(start + microseconds{25});
  EXPECT_EQ(bench.out.psns(), (Psns{3, 1, 4, 2}));
  EXPECT_EQ(bench.tap.next_deadline(), std::nullopt);
  EXPECT_EQ(bench.tap.held_bytes(), 0U);
  for (const Sent& one : bench.out.sent) EXPECT_TRUE(one.good);
}

TEST(FaultTap, ADelayWithinARangeReorders) {
  Bench bench{"delay=10us..200us,seed=2"};
  bench.send_many(1, 100);
  const auto first = bench.tap.next_deadline();
  ASSERT_TRUE(first);
  EXPECT_GE(*first, Time{microseconds{10}});
  bench.tap.expire(Time{microseconds{200}});
  Psns psns = bench.psns_of(1);
  EXPECT_FALSE(std::ranges::is_sorted(psns));
  std::ranges::sort(psns);
  EXPECT_EQ(psns.size(), 100U);
  EXPECT_EQ(std::ranges::unique(psns).size(), 0U);
}

TEST(FaultTap, ReorderedPacketsAreOvertakenByAFew) {
  Bench bench{"reorder=10%,seed=5"};
  bench.send_many(1, 1000);
  bench.settle();
  const Psns psns = bench.psns_of(1);
  ASSERT_EQ(psns.size(), 1000U);
  EXPECT_GT(bench.tap.counters().reordered, 50U);
  for (std::size_t i = 0; i < psns.size(); ++i) {
    const auto late = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(psns[i]);
    EXPECT_LE(std::abs(late), 9) << "psn " << psns[i];
  }
  EXPECT_FALSE(std::ranges::is_sorted(psns));
}

TEST(FaultTap, AReorderedPacketWithoutSuccessorLeavesAnyway) {
  Bench bench{"reorder=100%"};
  bench.send(1, 9);
  EXPECT_TRUE(bench.out.sent.empty());
  EXPECT_EQ(bench.tap.next_deadline(), Time{} + FaultTap::kPatience);
  bench.settle();
  EXPECT_EQ(bench.out.psns(), (Psns{9}));
}

TEST(FaultTap, DuplicatesArriveTwice) {
  Bench bench{"dup=20%,seed=4"};
  bench.send_many(1, 500);
  bench.settle();
  std::map<std::uint32_t, int> times;
  for (const std::uint32_t psn : bench.psns_of(1)) ++times[psn];
  EXPECT_EQ(times.size(), 500U);
  const auto twice = std::ranges::count_if(times, [](const auto& one) { return one.second == 2; });
  EXPECT_EQ(static_cast<std::uint64_t>(twice), bench.tap.counters().duplicated);
  EXPECT_EQ(bench.out.sent.size(), 500 + bench.tap.counters().duplicated);
  EXPECT_GT(twice, 60);
}

TEST(FaultTap, ATrainContinuesAfterAGap) {
  Bench bench{"drop=1,op=SEND_FIRST;drop=2,op=SEND_MIDDLE"};
  TestFrame first{"RC_SEND_FIRST", 1, 0};
  TestFrame middle{"RC_SEND_MIDDLE", 1, 1};
  std::vector<wire::Frame> frames{first.frame(), middle.frame(), middle.frame(), middle.frame(),
                                  middle.frame()};
  for (std::size_t i = 1; i < frames.size(); ++i) frames[i].continues_train = true;
  bench.tap.send(frames, {});
  ASSERT_EQ(bench.out.sent.size(), 3U);
  EXPECT_FALSE(bench.out.sent[0].continues_train);  // its head was lost
  EXPECT_FALSE(bench.out.sent[1].continues_train);
  EXPECT_TRUE(bench.out.sent[2].continues_train);
}

TEST(FaultTap, TheSameSeedGivesTheSameFaultsPerQp) {
  constexpr std::string_view kText =
      "loss=5%,dup=5%,corrupt=5%;reorder=5%;ecn=10%,op=SEND*;seed=99";
  constexpr std::uint32_t kQps = 4;
  constexpr std::uint32_t kPackets = 300;
  // Every QP appears once in a fixed order; then they interleave randomly, in bursts of any size
  // and at any time.
  const auto run = [&](std::uint64_t interleaving) {
    Bench bench{kText};
    Prng prng{interleaving};
    std::vector<std::uint32_t> next(kQps, 1);
    for (std::uint32_t qp = 0; qp < kQps; ++qp) bench.send(qp, 0);
    Time now{};
    while (std::ranges::any_of(next, [](std::uint32_t n) { return n < kPackets; })) {
      const auto qp = static_cast<std::uint32_t>(prng.below(kQps));
      if (next[qp] == kPackets) continue;
      now += microseconds{prng.below(3)};
      bench.send(qp, next[qp]++, now);
    }
    bench.settle();
    // What happened to each packet, except when: how often it arrived, intact or not, marked or
    // not.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::array<int, 3>> fate;
    for (const Sent& one : bench.out.sent) {
      if (!one.good) continue;  // its identity cannot be trusted
      auto& [times, marked, bytes] = fate[{one.qpn, one.psn}];
      ++times;
      marked += one.flow.ecn() == wire::Ecn::kCongestion ? 1 : 0;
      bytes += one.as_bytes ? 1 : 0;
    }
    return std::pair{fate, bench.tap.counters()};
  };
  const auto expected = run(1);
  for (std::uint64_t interleaving = 2; interleaving < 12; ++interleaving) {
    EXPECT_EQ(run(interleaving), expected) << interleaving;
  }
}

TEST(FaultTap, SeedsGiveDifferentFaults) {
  Bench one{"loss=50%,seed=1"};
  Bench two{"loss=50%,seed=2"};
  one.send_many(1, 200);
  two.send_many(1, 200);
  EXPECT_NE(one.psns_of(1), two.psns_of(1));
}

TEST(FaultTap, QpsGetDifferentFaults) {
  Bench bench{"loss=50%,seed=1"};
  bench.send_many(1, 200);
  bench.send_many(2, 200);
  EXPECT_NE(bench.psns_of(1), bench.psns_of(2));
}

TEST(FaultTap, HoldsNoMoreThanItsLimit) {
  Bench bench{"delay=1s"};
  TestFrame made{"RC_SEND_MIDDLE", 1, 0, 60'000};
  const wire::Frame frame = made.frame();
  for (int i = 0; i < 1500; ++i) bench.tap.send({&frame, 1}, {});
  EXPECT_LE(bench.tap.held_bytes(), FaultTap::kMaxHeldBytes);
  EXPECT_GT(bench.tap.counters().overflowed, 0U);
  EXPECT_EQ(bench.tap.counters().overflowed + bench.tap.counters().delayed, 1500U);
  EXPECT_TRUE(bench.out.sent.empty());
}

TEST(FaultTap, BytesPassUntouched) {
  Bench bench{"loss=100%"};
  TestFrame made{"RC_SEND_ONLY", 1, 5};
  const wire::Frame frame = made.frame();
  std::vector<std::byte> bytes(wire::udp_payload_size(frame));
  wire::encode_udp_payload(frame, {}, bytes);
  bench.tap.send_bytes(frame.flow, bytes, {});
  EXPECT_EQ(bench.out.psns(), (Psns{5}));
}

}  // namespace nerve::link
