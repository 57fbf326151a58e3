// Goal: a request that the peer cannot have sent costs next to nothing and has no effect: no NAK,
// no ACK, no event, no CNP. Method: one engine, and requests built by hand.
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "base/prng.h"
#include "nic/nic.h"
#include "tests/nic/probe.h"
#include "wire/selective_nak.h"

namespace nerve::nic {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::EndSetup;
using test::Probe;
using enum wire::Operation;

constexpr std::uint32_t kWindow = 1U << 16U;
constexpr std::uint32_t kRing = 1U << 24U;

struct ForgedRequests : ::testing::Test {
  Probe probe;
  void start(std::uint32_t psn = 0, QpState state = QpState::kRts) {
    probe.end.attributes.rq_psn = Psn{psn};
    probe.end.bring_to(state);
  }
  wire::Frame write(std::uint32_t psn) { return probe.frame_at(kWriteOnly, psn, 4096, 8, 8); }
  void expect_dropped(const wire::Frame& frame) {
    const Counters before = counters();
    EXPECT_TRUE(probe.hear(frame).empty());
    EXPECT_EQ(counters().dropped_bad_psn, before.dropped_bad_psn + 1);
    EXPECT_EQ(counters().out_of_order_received, before.out_of_order_received);
    EXPECT_EQ(counters().duplicates_received, before.duplicates_received);
    EXPECT_TRUE(probe.end.events().empty());
  }
  [[nodiscard]] const Counters& counters() const { return probe.end.nic.counters(); }
};

TEST_F(ForgedRequests, FarFromTheExpectedPsnAreDropped) {
  constexpr std::uint32_t kStart = 0xff'ff00;
  start(kStart);
  for (const std::uint32_t away :
       {kWindow + 1, kRing / 4, kRing / 2 - 1, kRing / 2, 3 * (kRing / 4), kRing - kWindow - 1}) {
    expect_dropped(write((kStart + away) % kRing));
    expect_dropped(probe.frame(kSendOnly, (kStart + away) % kRing, 8));
  }
  EXPECT_EQ(probe.hear(write(kStart)).size(), 1U) << "the expected one is executed";
  EXPECT_EQ(counters().sequence_naks_sent, 0U);
}

TEST_F(ForgedRequests, WithinTheWindowAreGenuine) {
  start(5);
  const auto answers = probe.hear(write(5 + kWindow));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].headers.aeth.syndrome, test::kNakSequence);
  EXPECT_EQ(probe.hear(write(5)).size(), 1U);
  EXPECT_EQ(probe.hear(write((6 + kRing - kWindow) % kRing)).size(), 1U) << "a duplicate";
  EXPECT_EQ(counters().dropped_bad_psn, 0U);
}

// The response to a READ may have more packets than the window, and be wanted again.
TEST_F(ForgedRequests, ADuplicateReadMayBeFarBehind) {
  std::vector<std::byte> large((kWindow + 10) * 256);
  EndSetup setup{.mtu = Mtu::k256};
  Probe reader{setup};
  reader.end.bring_to(QpState::kRts);
  const MrHandle mr =
      *reader.end.nic.register_mr({.pd = reader.end.pd,
                                   .address = std::bit_cast<std::uint64_t>(large.data()),
                                   .length = large.size(),
                                   .iova = 0,
                                   .access = Access::kRemoteRead});
  const auto read = [&](std::uint32_t psn, std::size_t offset) {
    wire::Frame frame = reader.frame(kReadRequest, psn);
    frame.headers.reth = {.address = offset,
                          .rkey = reader.end.nic.keys_of(mr)->rkey,
                          .length = static_cast<std::uint32_t>(large.size() - offset)};
    return frame;
  };
  EXPECT_EQ(reader.hear(read(0, 0)).size(), kWindow + 10);
  EXPECT_EQ(reader.hear(read(1, 256)).size(), kWindow + 9) << "from its second packet on";
}

TEST_F(ForgedRequests, AtRandomAreAnsweredOncePerWindow) {
  start(0x12'3456);
  Prng prng{7};
  std::size_t answers = 0;
  for (int i = 0; i < 100'000; ++i) {
    answers += probe.hear(write(static_cast<std::uint32_t>(prng.next()) % kRing)).size();
  }
  // One in 256 is within the window behind the expected PSN, where each is acknowledged.
  EXPECT_LT(answers, 2U * 100'000 / 256);
  EXPECT_GT(counters().dropped_bad_psn, 98'000U);
}

TEST_F(ForgedRequests, DoNotEstablishAConnection) {
  start(0, QpState::kRtr);
  expect_dropped(write(kRing / 2 + 77));
  EXPECT_EQ(probe.hear(write(0)).size(), 1U);
  EXPECT_EQ(probe.end.events(), std::vector{EventKind::kCommEstablished});
}

// A CNP in answer to a forged mark would slow down the peer.
TEST_F(ForgedRequests, WithACongestionMarkDrawNoCnp) {
  start();
  for (const wire::Operation operation : {kWriteOnly, kAcknowledge}) {
    wire::Frame frame = probe.frame_at(operation, kRing / 2 + 5, 0, 8, 8);
    frame.flow.set_ecn(wire::Ecn::kCongestion);
    EXPECT_TRUE(probe.hear(frame).empty());
  }
  const auto answers = probe.hear(write(0));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_FALSE(answers[0].headers.bth.becn);
}

// Selective repeat with a peer that does not support it would not recover from losses.
TEST_F(ForgedRequests, DoNotAnnounceSelectiveRepeat) {
  EndSetup setup;
  setup.config.selective_repeat.offer = true;
  Probe offering{setup};
  offering.end.bring_to(QpState::kRts);
  for (const wire::Operation operation : {kWriteOnly, kAcknowledge}) {
    for (const std::uint32_t psn : {4096U, kWindow, kRing / 2, kRing - 2}) {
      wire::Frame frame = offering.frame_at(operation, psn, 0, 8, 8);
      frame.headers.bth.reserved7 = wire::kSelectiveCapable;
      (void)offering.hear(frame);
    }
  }
  (void)offering.hear(offering.frame_at(kWriteOnly, 0, 0, 8, 8));
  const auto answers = offering.hear(offering.frame_at(kWriteOnly, 2, 0, 8, 8));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].headers.aeth.syndrome, test::kNakSequence);
}

// --- Keys over UC.

struct WrongKeys : ::testing::Test {
  Probe probe{QpType::kUc};
  std::uint32_t psn{};
  void SetUp() override { probe.end.bring_to(QpState::kRts); }
  bool write(std::uint32_t key, std::byte value) {
    probe.payload[0] = value;
    wire::Frame frame = probe.frame_at(kWriteOnly, psn++, 0, 8, 8);
    frame.headers.reth.rkey = RKey{key};
    EXPECT_TRUE(probe.hear(frame).empty());
    return probe.end.memory[0] == value;
  }
  [[nodiscard]] std::uint32_t key() const { return probe.end.keys.rkey.value(); }
  [[nodiscard]] std::uint64_t barred() const { return probe.end.nic.counters().dropped_barred; }
};

// A stranger that tries keys would find one after 2^31 attempts on average: 6 hours at 100 000
// packets a second, 4 years at 16.
TEST_F(WrongKeys, BarWritesForAMoment) {
  for (std::uint32_t i = 1; i <= 16; ++i) EXPECT_FALSE(write(key() + i, std::byte{1}));
  EXPECT_EQ(barred(), 0U);
  EXPECT_FALSE(write(key(), std::byte{2})) << "the right key, after too many wrong ones";
  EXPECT_EQ(barred(), 1U);
  probe.now += milliseconds{63};
  EXPECT_TRUE(write(key(), std::byte{3}));
  probe.now += seconds{2};
  for (std::uint32_t i = 1; i <= 15; ++i) EXPECT_FALSE(write(key() + i, std::byte{1}));
  EXPECT_TRUE(write(key(), std::byte{4}));
}

TEST_F(WrongKeys, AreTriedAtALimitedRate) {
  std::uint64_t tried = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t before = barred();
    (void)write(key() + 1, std::byte{1});
    tried += barred() == before ? 1 : 0;
    probe.now += milliseconds{1} / 10;
  }
  EXPECT_LE(tried, 16U + 161U) << "in ten seconds";
}

TEST_F(WrongKeys, DoNotBarSends) {
  ASSERT_TRUE(probe.end.post_receive(1, 8192, 64));
  for (std::uint32_t i = 1; i <= 20; ++i) EXPECT_FALSE(write(key() + i, std::byte{9}));
  EXPECT_EQ(barred(), 4U);
  (void)probe.hear(probe.frame(kSendOnly, psn++, 8));
  EXPECT_EQ(probe.end.completions().size(), 1U);
}

TEST_F(WrongKeys, ABarredMessageIsSkippedWhole) {
  for (std::uint32_t i = 1; i <= 16; ++i) EXPECT_FALSE(write(key() + i, std::byte{1}));
  const auto memory = probe.end.memory;
  (void)probe.hear(probe.frame_at(kWriteFirst, psn++, 0, 2056, 1024));
  (void)probe.hear(probe.frame(kWriteMiddle, psn++, 1024));
  (void)probe.hear(probe.frame(kWriteLast, psn++, 8));
  EXPECT_EQ(probe.end.memory, memory);
  EXPECT_EQ(barred(), 1U);
  probe.now += seconds{1};
  EXPECT_TRUE(write(key(), std::byte{5})) << "the next message is whole";
}

}  // namespace
}  // namespace nerve::nic
