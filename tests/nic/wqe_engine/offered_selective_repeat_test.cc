// Goal: two ends that offer selective repeat detect each other and use it; with every other peer
// nothing changes. Method: two engines, one or both of which offer it, and chosen losses.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <vector>

#include "base/prng.h"
#include "tests/nic/pair.h"
#include "tests/nic/probe.h"
#include "wire/selective_nak.h"

namespace nerve::nic::offered_selective_repeat_test {
namespace {

using std::chrono::milliseconds;
using test::EndSetup;
using test::Pair;
using test::Probe;
using test::Seen;

constexpr std::uint32_t kPackets = 60;

EndSetup offering(bool offer = true, QpType type = QpType::kRc) {
  EndSetup setup;
  setup.type = type;
  setup.config.selective_repeat.offer = offer;
  return setup;
}

Status write(Pair& pair, std::uint32_t packets) {
  return pair.a.post({.op = SendOp::kWrite,
                      .flags = SendFlags::kSignaled,
                      .remote_address = pair.b.at(0),
                      .rkey = pair.b.keys.rkey},
                     0, packets * 1024);
}

// Loses the first transmission of these packets of `a`.
void lose(Pair& pair, const std::set<std::uint32_t>& which) {
  pair.lose = [left = which](const Seen& frame) mutable {
    return frame.from_a && left.erase(frame.headers.bth.psn.value()) > 0;
  };
}

bool any_capable(const Pair& pair, bool from_a) {
  return std::ranges::any_of(pair.seen, [&](const Seen& frame) {
    return frame.from_a == from_a && wire::is_selective_capable(frame.headers.bth);
  });
}

TEST(OfferedSelectiveRepeat, IsUsedBetweenTwoThatOfferIt) {
  Pair pair{offering()};
  pair.connect();
  pair.a.fill(0, kPackets * 1024, 9);
  lose(pair, {0, 5, 6, 20, 41});
  ASSERT_TRUE(write(pair, kPackets));
  pair.exchange();
  EXPECT_EQ(pair.a.nic.counters().retransmitted_frames, 5U);
  EXPECT_EQ(pair.b.nic.counters().sequence_naks_sent, 0U);
  ASSERT_EQ(pair.a.completions().size(), 1U);
  EXPECT_EQ(pair.b.bytes(0, kPackets * 1024), pair.a.bytes(0, kPackets * 1024));
}

struct OneSided : ::testing::TestWithParam<bool> {};

// The packets are those of two ends without the option, except for the bit.
TEST_P(OneSided, OfferChangesNothing) {
  const auto conversation = [](const EndSetup& of_a, const EndSetup& of_b) {
    Pair pair{of_a, of_b};
    pair.connect();
    lose(pair, {0, 5, 6, 20, 41});
    EXPECT_TRUE(write(pair, kPackets));
    pair.exchange();
    pair.wait(milliseconds{40});
    EXPECT_EQ(pair.a.completions().size(), 1U);
    EXPECT_EQ(pair.b.nic.counters().selective_naks_sent, 0U);
    EXPECT_EQ(any_capable(pair, true), of_a.config.selective_repeat.offer);
    EXPECT_EQ(any_capable(pair, false), of_b.config.selective_repeat.offer);
    std::vector<wire::Headers> all;
    for (const Seen& frame : pair.seen) {
      all.push_back(frame.headers);
      all.back().reth.address = 0;  // differs between runs
      all.back().bth.reserved7 = 0;
    }
    return all;
  };
  EXPECT_EQ(conversation(offering(GetParam()), offering(!GetParam())),
            conversation(offering(false), offering(false)));
}
INSTANTIATE_TEST_SUITE_P(OfferedSelectiveRepeat, OneSided, ::testing::Bool());

TEST(OfferedSelectiveRepeat, IsNotAnnouncedByOtherTransports) {
  for (const QpType type : {QpType::kUc, QpType::kUd}) {
    Probe probe{offering(true, type)};
    probe.end.bring_to(QpState::kRts);
    const auto ah = probe.end.nic.create_ah(probe.end.pd, {.destination = probe.peer});
    ASSERT_TRUE(ah);
    ASSERT_TRUE(probe.end.post({.op = SendOp::kSend, .ah = *ah, .remote_qpn = Qpn{7}}, 0, 100));
    const auto frames = probe.listen();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].headers.bth.reserved7, 0U);
  }
}

// A QP that is reconnected may have another peer.
TEST(OfferedSelectiveRepeat, EndsWithTheQpsLife) {
  Probe probe{offering()};
  const auto out_of_order = [&](bool capable) {
    wire::Frame frame = probe.frame_at(wire::Operation::kWriteOnly, 2, 0, 16, 16);
    if (capable) frame.headers.bth.reserved7 = wire::kSelectiveCapable;
    const auto answers = probe.hear(frame);
    EXPECT_EQ(answers.size(), 1U);
    return answers.at(0).headers.aeth.syndrome;
  };
  probe.end.bring_to(QpState::kRts);
  EXPECT_EQ(out_of_order(true), wire::syndrome(wire::NakCode::kSelectiveRun));
  probe.end.bring_to(QpState::kRts);
  EXPECT_EQ(out_of_order(false), test::kNakSequence);
}

// A burst behind a gap is reported with one NAK, which names the whole run.
TEST(OfferedSelectiveRepeat, ReportsRunsOfPackets) {
  Probe probe{offering()};
  probe.end.bring_to(QpState::kRts);
  const auto hear = [&](const std::vector<std::uint32_t>& psns) {
    std::vector<wire::Frame> frames;
    for (const std::uint32_t psn : psns) {
      frames.push_back(probe.frame_at(wire::Operation::kWriteOnly, psn, psn * 16, 16, 16));
      frames.back().headers.bth.reserved7 = wire::kSelectiveCapable;
    }
    std::vector<wire::PsnRun> runs;
    for (const Seen& answer : probe.hear(frames)) {
      const auto run = wire::arrived_out_of_order(answer.headers.bth.psn, answer.headers.aeth);
      if (run) runs.push_back(*run);
    }
    return runs;
  };
  using Runs = std::vector<wire::PsnRun>;
  EXPECT_EQ(hear({1, 2, 3}), (Runs{{Psn{1}, 3}}));
  EXPECT_EQ(hear({4, 5, 8, 9}), (Runs{{Psn{1}, 5}, {Psn{8}, 2}}));
  EXPECT_EQ(hear({2}), (Runs{{Psn{1}, 5}})) << "a duplicate is reported again";
  EXPECT_EQ(hear({0}), Runs{});
  EXPECT_EQ(probe.end.nic.counters().selective_naks_sent, 4U);
}

// Whatever the runs claim, nothing is sent that was not sent before, and nothing completes.
TEST(OfferedSelectiveRepeat, HostileRunsDoNoHarm) {
  Prng prng{11};
  for (int round = 0; round < 200; ++round) {
    Probe probe{offering()};
    probe.end.bring_to(QpState::kRts);
    ASSERT_TRUE(
        probe.end.post({.op = SendOp::kWrite, .flags = SendFlags::kSignaled}, 0, 20 * 1024));
    ASSERT_EQ(probe.listen().size(), 20U);
    for (int i = 0; i < 30; ++i) {
      wire::Frame nak =
          probe.frame(wire::Operation::kAcknowledge, static_cast<std::uint32_t>(prng.below(22)));
      nak.headers.bth.reserved7 = wire::kSelectiveCapable;
      nak.headers.aeth = {.syndrome = wire::syndrome(wire::NakCode::kSelectiveRun),
                          .msn = static_cast<std::uint32_t>(prng.next() & 0xff'ffffU)};
      if (prng.chance(500)) nak.headers.aeth.msn &= 0x00'f00fU;
      for (const Seen& frame : probe.hear(nak)) EXPECT_LT(frame.headers.bth.psn.value(), 20U);
    }
    EXPECT_TRUE(probe.end.completions().empty());
    EXPECT_EQ(probe.end.state(), QpState::kRts);
  }
}

// The result of READs, atomics, SENDs and immediate data when any packet is lost once.
TEST(OfferedSelectiveRepeat, EveryOperationSurvivesTheLossOfEachPacket) {
  for (std::uint32_t lost = 0; lost < 24; ++lost) {
    SCOPED_TRACE(lost);
    EndSetup both = offering();
    both.config.tail_probe.on = true;
    Pair pair{both};
    pair.connect();
    pair.a.fill(0, 4096, 3);
    for (std::uint64_t id = 1; id <= 3; ++id) {
      ASSERT_TRUE(pair.b.post_receive(id, 20'000 + id * 4096, 4096));
    }
    std::uint32_t count = 0;
    pair.lose = [&count, lost](const Seen&) { return count++ == lost; };
    const auto post = [&](SendOp op, std::uint32_t length, std::size_t from) {
      EXPECT_TRUE(pair.a.post({.op = op,
                               .flags = SendFlags::kSignaled,
                               .remote_address = pair.b.at(op == SendOp::kRead ? 8192 : 0),
                               .rkey = pair.b.keys.rkey,
                               .compare_or_add = 5},
                              from, length));
    };
    pair.b.fill(8192, 4096, 77);
    post(SendOp::kSend, 3000, 0);
    post(SendOp::kWriteImm, 2500, 0);
    post(SendOp::kRead, 3000, 40'000);
    post(SendOp::kFetchAdd, 8, 50'000);
    post(SendOp::kSendImm, 1500, 0);
    post(SendOp::kRead, 1000, 60'000);
    pair.exchange();
    pair.wait(milliseconds{8});
    const auto done = pair.a.completions();
    ASSERT_EQ(done.size(), 6U);
    for (const Completion& completion : done) EXPECT_EQ(completion.status, WcStatus::kSuccess);
    const auto received = pair.b.completions();
    ASSERT_EQ(received.size(), 3U);
    for (std::uint64_t id = 1; id <= 3; ++id) EXPECT_EQ(received[id - 1].wr_id, id);
    EXPECT_EQ(pair.b.bytes(24'096, 3000), pair.a.bytes(0, 3000));
    EXPECT_EQ(pair.a.bytes(40'000, 3000), pair.b.bytes(8192, 3000));
    EXPECT_EQ(pair.b.word(0), pair.a.word(0) + 5) << "added once";
    EXPECT_EQ(pair.a.nic.counters().timeouts, 0U);
  }
}

}  // namespace
}  // namespace nerve::nic::offered_selective_repeat_test
