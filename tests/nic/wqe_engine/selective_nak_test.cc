// Goal: whatever a peer claims in selective NAKs, the requester sends only what is missing and
// completes only what arrived. Method: one engine, and answers built by hand.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/prng.h"
#include "tests/nic/probe.h"
#include "wire/selective_nak.h"

namespace nerve::nic::selective_nak_test {
namespace {

using std::chrono::milliseconds;
using test::EndSetup;
using test::Probe;

constexpr std::uint32_t kPackets = 20;

struct SelectiveNaks : ::testing::Test {
  static EndSetup setup(bool on) {
    EndSetup setup;
    setup.config.selective_repeat.on = on;
    return setup;
  }
  static std::unique_ptr<Probe> sent(bool on) {
    auto probe = std::make_unique<Probe>(setup(on));
    probe->end.bring_to(QpState::kRts);
    EXPECT_TRUE(
        probe->end.post({.op = SendOp::kWrite, .flags = SendFlags::kSignaled}, 0, kPackets * 1024));
    EXPECT_EQ(probe->listen().size(), kPackets);
    return probe;
  }
  static wire::Frame nak(Probe& probe, std::uint32_t expected, std::uint32_t arrived) {
    wire::Frame frame = probe.frame(wire::Operation::kAcknowledge, expected);
    frame.headers.aeth = wire::selective_nak(Psn{arrived});
    return frame;
  }
  static std::vector<std::uint32_t> psns(const std::vector<test::Seen>& frames) {
    std::vector<std::uint32_t> all;
    for (const test::Seen& frame : frames) all.push_back(frame.headers.bth.psn.value());
    return all;
  }
  using Psns = std::vector<std::uint32_t>;
};

TEST_F(SelectiveNaks, AskForWhatIsMissing) {
  const auto probe = sent(true);
  EXPECT_EQ(psns(probe->hear(nak(*probe, 2, 4))), (Psns{2, 3}));
  EXPECT_EQ(psns(probe->hear(nak(*probe, 2, 5))), Psns{}) << "both are on their way";
  EXPECT_EQ(psns(probe->hear(nak(*probe, 2, 9))), (Psns{6, 7, 8}));
  EXPECT_EQ(psns(probe->hear(nak(*probe, 7, 9))), Psns{});
  EXPECT_EQ(psns(probe->hear(nak(*probe, 7, 11))), Psns{10});
  EXPECT_EQ(probe->end.nic.counters().selective_naks_received, 5U);
}

TEST_F(SelectiveNaks, WithoutNewInformationAreIgnored) {
  const auto probe = sent(true);
  for (const std::uint32_t arrived : {0U, kPackets, 0xff'ffffU, 0x80'0000U}) {
    EXPECT_EQ(psns(probe->hear(nak(*probe, 0, arrived))), Psns{}) << arrived;
  }
  EXPECT_TRUE(probe->end.completions().empty());
}

TEST_F(SelectiveNaks, ToAQpThatHasNotAgreedAreAReservedCode) {
  const auto probe = sent(false);
  EXPECT_EQ(psns(probe->hear(nak(*probe, 2, 4))), Psns{});
  EXPECT_EQ(probe->end.nic.counters().selective_naks_received, 0U);
  EXPECT_EQ(probe->end.state(), QpState::kRts);
}

TEST_F(SelectiveNaks, AtRandomDoNoHarm) {
  Prng prng{3};
  for (int round = 0; round < 200; ++round) {
    const auto probe = sent(true);
    for (int i = 0; i < 30; ++i) {
      const auto draw = [&] {
        return prng.chance(100) ? static_cast<std::uint32_t>(prng.next() & 0xff'ffffU)
                                : static_cast<std::uint32_t>(prng.below(kPackets + 2));
      };
      for (const test::Seen& frame : probe->hear(nak(*probe, draw(), draw()))) {
        EXPECT_LT(frame.headers.bth.psn.value(), kPackets);
      }
      if (prng.chance(100)) {
        probe->now += milliseconds{1};
        probe->end.nic.expire(probe->now);
        (void)probe->listen();
      }
    }
    if (probe->end.state() != QpState::kRts) continue;  // retries exhausted
    // Selective NAKs alone cannot complete everything: each names a missing packet.
    EXPECT_TRUE(probe->end.completions().empty());
    wire::Frame ack = probe->frame(wire::Operation::kAcknowledge, kPackets - 1);
    ack.headers.aeth = {.syndrome = wire::kCreditsUnknown, .msn = 1};
    (void)probe->hear(ack);
    EXPECT_EQ(probe->end.completions().size(), 1U);
  }
}

// The responder reports each packet out of order immediately, and again when it is received again.
TEST_F(SelectiveNaks, AreSentForEachPacketOutOfOrder) {
  Probe probe{setup(true)};
  probe.end.bring_to(QpState::kRts);
  const auto only = [&](std::uint32_t psn) {
    return probe.frame_at(wire::Operation::kWriteOnly, psn, psn * 16, 16, 16);
  };
  for (const std::uint32_t psn : {2U, 4U, 2U}) {
    const auto answers = probe.hear(only(psn));
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].headers.bth.psn, Psn{0});
    EXPECT_EQ(wire::arrived_out_of_order(answers[0].headers.bth.psn, answers[0].headers.aeth),
              wire::PsnRun{Psn{psn}});
  }
  EXPECT_EQ(probe.end.bytes(32, 16), std::vector<std::byte>(16)) << "not before its turn";
  EXPECT_EQ(probe.hear(only(0)).at(0).headers.bth.psn, Psn{0});
  const auto answers = probe.hear(only(1));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].headers.bth.psn, Psn{2}) << "with what was held";
  EXPECT_EQ(probe.end.bytes(32, 16),
            std::vector<std::byte>(probe.payload.begin(), probe.payload.begin() + 16));
  EXPECT_EQ(probe.end.nic.counters().selective_naks_sent, 3U);
}

}  // namespace
}  // namespace nerve::nic::selective_nak_test
