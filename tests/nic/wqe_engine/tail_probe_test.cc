// Goal: the loss of the last packets is detected before the QP's timeout, whatever the peer
// supports, and costs no retry. Method: two engines, chosen losses, and time that passes in small
// steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "tests/nic/pair.h"
#include "tests/nic/probe.h"

namespace nerve::nic::tail_probe_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::EndSetup;
using test::Pair;
using test::Probe;
using test::Seen;
using wire::Operation;

constexpr std::uint32_t kPackets = 10;
constexpr microseconds kFirst{1000};  // TailProbeConfig::first_interval; the QP's timeout is 4.2 ms

EndSetup probing(bool selective = false) {
  EndSetup setup;
  setup.config.tail_probe.on = true;
  setup.config.selective_repeat.offer = selective;
  return setup;
}

struct TailProbes : ::testing::TestWithParam<bool> {
  Pair pair{probing(GetParam())};
  void SetUp() override { pair.connect(); }

  void post(SendOp op, std::uint32_t packets) {
    ASSERT_TRUE(pair.a.post({.op = op,
                             .flags = SendFlags::kSignaled,
                             .remote_address = pair.b.at(0),
                             .rkey = pair.b.keys.rkey,
                             .compare_or_add = 1},
                            32'768, op == SendOp::kFetchAdd ? 8 : packets * 1024));
  }
  // Loses the first `times` frames that `which` selects.
  void lose(int times, std::function<bool(const Seen&)> which) {
    pair.lose = [times, which = std::move(which)](const Seen& frame) mutable {
      return times > 0 && which(frame) && times-- > 0;
    };
  }
  [[nodiscard]] std::vector<std::uint32_t> sent_again(std::size_t from) const {
    std::vector<std::uint32_t> all;
    for (std::size_t i = from; i < pair.seen.size(); ++i) {
      if (pair.seen[i].from_a) all.push_back(pair.seen[i].headers.bth.psn.value());
    }
    return all;
  }
  void expect_done() {
    const auto done = pair.a.completions();
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(done[0].status, WcStatus::kSuccess);
    EXPECT_EQ(pair.a.nic.counters().timeouts, 0U);
  }
};
INSTANTIATE_TEST_SUITE_P(GoBackNAndSelective, TailProbes, ::testing::Bool());

constexpr auto is_psn = [](std::uint32_t psn) {
  return [psn](const Seen& frame) { return frame.from_a && frame.headers.bth.psn.value() == psn; };
};
constexpr auto from_b = [](const Seen& frame) { return !frame.from_a; };

TEST_P(TailProbes, FindALastPacketThatWasLost) {
  lose(1, is_psn(kPackets - 1));
  post(SendOp::kWrite, kPackets);
  pair.exchange();
  const std::size_t before = pair.seen.size();
  pair.wait(kFirst - microseconds{10});
  EXPECT_EQ(pair.seen.size(), before);
  pair.wait(microseconds{20});
  EXPECT_EQ(sent_again(before), std::vector<std::uint32_t>{kPackets - 1});
  EXPECT_EQ(pair.a.nic.counters().tail_probes_sent, 1U);
  expect_done();
}

TEST_P(TailProbes, FindALostAck) {
  lose(1, from_b);
  post(SendOp::kWrite, kPackets);
  pair.exchange();
  const std::size_t before = pair.seen.size();
  pair.wait(kFirst + microseconds{20});
  EXPECT_EQ(sent_again(before), std::vector<std::uint32_t>{kPackets - 1});
  expect_done();
}

// The last three are lost: the probe draws a NAK, and recovery is as after any loss.
TEST_P(TailProbes, FindALongerTail) {
  lose(3, [](const Seen& frame) { return frame.from_a && frame.headers.bth.psn.value() >= 7; });
  post(SendOp::kWrite, kPackets);
  pair.exchange();
  const std::size_t before = pair.seen.size();
  pair.wait(kFirst + microseconds{20});
  const std::vector<std::uint32_t> selective{9, 7, 8};
  const std::vector<std::uint32_t> go_back_n{9, 7, 8, 9};
  EXPECT_EQ(sent_again(before), GetParam() ? selective : go_back_n);
  expect_done();
}

// A peer reports a gap once. When that NAK is lost, the second probe closes the gap with the oldest
// packet, and the last packet draws a NAK for the next gap.
TEST_P(TailProbes, FindALostNak) {
  lose(2, [](const Seen& frame) { return !frame.from_a || frame.headers.bth.psn.value() == 4; });
  post(SendOp::kWrite, kPackets);
  pair.exchange();
  pair.wait(4 * kFirst);
  expect_done();
}

TEST_P(TailProbes, AskForTheMissingRestOfARead) {
  lose(2, [](const Seen& frame) {
    return !frame.from_a && frame.headers.bth.psn.value() >= kPackets - 2;
  });
  post(SendOp::kRead, kPackets);
  pair.exchange();
  const std::size_t before = pair.seen.size();
  pair.wait(kFirst + microseconds{20});
  ASSERT_EQ(sent_again(before), std::vector<std::uint32_t>{kPackets - 2});
  EXPECT_EQ(pair.seen[before].headers.reth.length, 2 * 1024U);
  EXPECT_EQ(pair.seen.size() - before, 3U) << "the request and two packets of data";
  expect_done();
}

TEST_P(TailProbes, DoNotExecuteAnAtomicAgain) {
  lose(1, from_b);
  post(SendOp::kFetchAdd, 1);
  pair.exchange();
  pair.wait(kFirst + microseconds{20});
  expect_done();
  EXPECT_EQ(pair.b.word(0), 1U);
}

TEST_P(TailProbes, UseNoRetriesAndStopBeforeTheTimeout) {
  pair.lose = [](const Seen& frame) { return frame.from_a; };
  post(SendOp::kWrite, 1);
  pair.exchange();
  pair.wait(microseconds{4100});
  // After 1 ms and 2 ms more; the third would come after the timeout.
  EXPECT_EQ(pair.a.nic.counters().tail_probes_sent, 2U);
  EXPECT_EQ(pair.a.nic.counters().timeouts, 0U);
  for (int i = 0; i < 6; ++i) pair.wait(microseconds{4300});
  EXPECT_EQ(pair.a.nic.counters().timeouts, 7U);
  EXPECT_TRUE(pair.a.completions().empty()) << "seven retries are due, probes or not";
  pair.wait(microseconds{4300});
  const auto done = pair.a.completions();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, WcStatus::kRetryExceeded);
}

// A NAK would end the QP.
TEST_P(TailProbes, AreNotSentWithoutARetry) {
  pair.a.attributes.retry_count = 0;
  pair.a.bring_to(QpState::kRts);
  pair.lose = [](const Seen& frame) { return frame.from_a; };
  post(SendOp::kWrite, 1);
  pair.exchange();
  pair.wait(milliseconds{4});
  EXPECT_EQ(pair.a.nic.counters().frames_sent, 1U);
}

TEST_P(TailProbes, AreNotSentWithoutATimeout) {
  pair.a.attributes.timeout = 0;
  pair.a.bring_to(QpState::kRts);
  pair.lose = [](const Seen& frame) { return frame.from_a; };
  post(SendOp::kWrite, 1);
  pair.exchange();
  pair.wait(milliseconds{100});
  EXPECT_EQ(pair.a.nic.counters().frames_sent, 1U);
}

TEST_P(TailProbes, AreNotSentWhileThePeerHasNoReceive) {
  pair.b.attributes.min_rnr_timer = 18;  // 5.12 ms
  pair.connect();
  post(SendOp::kSend, 1);
  pair.exchange();
  const std::size_t before = pair.seen.size();
  pair.wait(microseconds{5100});
  EXPECT_EQ(pair.seen.size(), before);
  EXPECT_EQ(pair.a.nic.counters().tail_probes_sent, 0U);
}

TEST_P(TailProbes, AreNotSentWhenAllIsAcknowledged) {
  post(SendOp::kWrite, kPackets);
  pair.exchange();
  EXPECT_FALSE(pair.a.nic.next_deadline());
  pair.wait(milliseconds{10});
  EXPECT_EQ(pair.a.nic.counters().tail_probes_sent, 0U);
  expect_done();
}

// With round trips of 20 us the minimum interval decides, with 1 ms the round trip.
TEST(TailProbe, FollowsTheRoundTrip) {
  const auto waits = [](Duration round_trip) {
    Probe probe{probing()};
    probe.end.bring_to(QpState::kRts);
    for (std::uint32_t psn = 0; psn < 20; ++psn) {
      EXPECT_TRUE(probe.end.post({.op = SendOp::kWrite}, 0, 64));
      EXPECT_EQ(probe.listen().size(), 1U);
      probe.now += round_trip;
      wire::Frame ack = probe.frame(Operation::kAcknowledge, psn);
      ack.headers.aeth = {.syndrome = wire::kCreditsUnknown, .msn = psn + 1};
      (void)probe.hear(ack);
    }
    EXPECT_TRUE(probe.end.post({.op = SendOp::kWrite}, 0, 64));
    EXPECT_EQ(probe.listen().size(), 1U);
    const Time sent = probe.now;
    while (probe.end.nic.counters().tail_probes_sent == 0 && probe.now - sent < milliseconds{5}) {
      probe.now += microseconds{10};
      probe.end.nic.expire(probe.now);
      (void)probe.listen();
    }
    return std::chrono::duration_cast<microseconds>(probe.now - sent).count();
  };
  EXPECT_EQ(waits(microseconds{20}), 250);
  EXPECT_NEAR(static_cast<double>(waits(microseconds{1000})), 2000, 20);
}

// Shared memory is lossless: a silent peer is slow. Injected faults change that.
TEST(TailProbe, IsNotSentOnAPathThatLosesNothing) {
  struct Ring final : EgressGate {
    std::uint32_t grant(const Request& request) override { return request.frames; }
    bool grant_acknowledge(const wire::Flow&, Qpn) override { return true; }
    void give_back(std::uint32_t) override {}
    [[nodiscard]] bool may_lose(const wire::Flow&, Qpn) const override { return false; }
  };
  for (const bool every_path : {false, true}) {
    Ring ring;
    EndSetup setup = probing();
    setup.hooks.gate = &ring;
    setup.config.tail_probe.every_path = every_path;
    Probe probe{setup};
    probe.end.bring_to(QpState::kRts);
    ASSERT_TRUE(probe.end.post({.op = SendOp::kWrite}, 0, 64));
    EXPECT_EQ(probe.listen().size(), 1U);
    probe.now += milliseconds{2};
    probe.end.nic.expire(probe.now);
    EXPECT_EQ(probe.listen().size(), every_path ? 1U : 0U);
  }
}

// Soft-RoCE in a busy guest took 3 ms for every 32 packets, far more than the round trip of single
// ones. Each ACK triggered another probe, among them the READ at the end, which was then answered
// over and over.
TEST(TailProbe, DoesNotFloodASlowPeer) {
  constexpr std::uint32_t kLong = 16;
  Probe probe{probing()};
  probe.end.bring_to(QpState::kRts);
  ASSERT_TRUE(probe.end.post({.op = SendOp::kWrite}, 0, kLong * 1024));
  ASSERT_TRUE(probe.end.post({.op = SendOp::kRead}, 0, 1024));
  std::uint32_t reads = 0;
  const auto listen = [&] {
    for (const Seen& frame : probe.listen()) {
      const auto request = wire::opcode(wire::Transport::kRc, Operation::kReadRequest);
      reads += frame.headers.bth.opcode == request ? 1 : 0;
    }
  };
  listen();
  for (std::uint32_t psn = 0; psn < kLong; ++psn) {
    for (int step = 0; step < 20; ++step) {
      probe.now += microseconds{100};
      probe.end.nic.expire(probe.now);
      listen();
    }
    wire::Frame ack = probe.frame(Operation::kAcknowledge, psn);
    ack.headers.aeth = {.syndrome = wire::kCreditsUnknown, .msn = psn + 1 == kLong ? 1U : 0U};
    (void)probe.hear(ack);
    listen();
  }
  EXPECT_EQ(reads, 1U);
  EXPECT_LE(probe.end.nic.counters().tail_probes_sent, 6U);
  EXPECT_EQ(probe.end.nic.counters().timeouts, 0U);
}

// A packet whose memory is gone cannot be sent again; the requests end as they would without
// probes.
TEST(TailProbe, SkipsDeregisteredMemory) {
  Probe probe{probing()};
  probe.end.bring_to(QpState::kRts);
  ASSERT_TRUE(probe.end.post({.op = SendOp::kWrite}, 0, 64));
  EXPECT_EQ(probe.listen().size(), 1U);
  ASSERT_TRUE(probe.end.nic.deregister_mr(probe.end.mr));
  probe.now += milliseconds{2};
  probe.end.nic.expire(probe.now);
  EXPECT_TRUE(probe.listen().empty());
  EXPECT_EQ(probe.end.nic.counters().tail_probes_sent, 0U);
  EXPECT_EQ(probe.end.state(), QpState::kRts);
}

}  // namespace
}  // namespace nerve::nic::tail_probe_test
