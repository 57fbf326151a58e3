// A QP that waits for the pacer expects to send another packet, so its last packet does not request
// an ACK. If something else then blocks the next packet, no ACK is requested at all. The peer
// stayed silent until the retry timer expired: a stall of a whole timeout, or "retry exceeded" with
// a retry count of zero, although the network had lost nothing.
#include <gtest/gtest.h>

#include "tests/dst/pair.h"

namespace nerve::dst {
namespace {

using nic::QpAttrs;
using nic::QpState;
using nic::WcStatus;
using std::chrono::microseconds;

constexpr std::uint32_t kPacket = 1024;

struct PacedPair : Pair {
  // At 400 Mb/s a full packet takes 22 us, far less than the timeout of 4.2 ms.
  PacedPair() : Pair{PairSetup{.faults = {.delay = microseconds{1}}}} {
    nic::QpAttributes a = attributes(0);
    a.timeout = 10;
    a.retry_count = 0;
    connect(0, a);
    connect(1, attributes(1));
    nic::QpAttributes limit;
    limit.rate_limit = Rate::megabits(400);
    EXPECT_TRUE(nic(0).modify_qp(end(0).qp, QpState::kRts, QpAttrs::kRateLimit, limit));
  }
  [[nodiscard]] std::vector<WcStatus> statuses() {
    std::vector<WcStatus> all;
    for (const nic::Completion& c : end(0).completions) all.push_back(c.status);
    return all;
  }
  [[nodiscard]] nic::SendProgress progress() { return nic(0).query_qp(end(0).qp)->sends; }
};

// Seed 131971: SQD blocks a request that has not started.
TEST(AckRequest, IsSentLaterWhenTheSendQueueIsStopped) {
  PacedPair pair;
  ASSERT_TRUE(pair.write(0, 1, kPacket));
  ASSERT_TRUE(pair.write(0, 2, kPacket));
  pair.pump();
  EXPECT_EQ(pair.progress().waits_for, nic::SendWait::kPacer);
  EXPECT_FALSE(pair.progress().ack_requested) << "the next packet is to ask";
  ASSERT_TRUE(pair.nic(0).modify_qp(pair.end(0).qp, QpState::kSqd, QpAttrs::kNone, {}));
  pair.run_for(microseconds{100});
  EXPECT_EQ(pair.statuses(), std::vector{WcStatus::kSuccess});
  EXPECT_EQ(pair.progress().waits_for, nic::SendWait::kProgram);
  pair.run_for(std::chrono::milliseconds{10});
  EXPECT_EQ(pair.nic(0).counters().timeouts, 0U);
  EXPECT_EQ(pair.nic(0).counters().retransmitted_frames, 1U) << "the one that asks";
}

// LifeWorlds, seed 814729: the duplicate with the ACK request was sent immediately, above the rate
// limit.
TEST(AckRequest, IsSentLaterAtTheRateOfTheQp) {
  PacedPair pair;
  ASSERT_TRUE(pair.write(0, 1, kPacket));
  ASSERT_TRUE(pair.write(0, 2, kPacket));
  pair.pump();
  ASSERT_TRUE(pair.nic(0).modify_qp(pair.end(0).qp, QpState::kSqd, QpAttrs::kNone, {}));
  pair.run_for(microseconds{15});
  EXPECT_EQ(pair.progress().waits_for, nic::SendWait::kPacer);
  EXPECT_EQ(pair.nic(0).counters().frames_sent, 1U);
  pair.run_for(microseconds{15});
  EXPECT_EQ(pair.progress().waits_for, nic::SendWait::kProgram);
  EXPECT_EQ(pair.nic(0).counters().frames_sent, 2U);
}

// Seeds 155421, 165478, 188002, 482633 and 603316: an ACK of an earlier request advertises so few
// credits that the next message must wait.
TEST(AckRequest, IsSentLaterWhenCreditsRunOut) {
  PacedPair pair;
  ASSERT_TRUE(pair.receive(1, 9, kPacket));
  ASSERT_TRUE(pair.read(0, 1, 8));
  ASSERT_TRUE(pair.send(0, 2, kPacket));
  ASSERT_TRUE(pair.send(0, 3, kPacket));
  pair.run_for(microseconds{100});
  EXPECT_EQ(pair.statuses(), (std::vector{WcStatus::kSuccess, WcStatus::kSuccess}));
  ASSERT_TRUE(pair.receive(1, 10, kPacket));
  pair.run_for(std::chrono::milliseconds{10});
  EXPECT_EQ(pair.statuses(), (std::vector(3, WcStatus::kSuccess)));
  EXPECT_EQ(pair.nic(0).counters().timeouts, 0U);
}

// Derived from the rule, not found by a seed: the memory of the next request is deregistered.
TEST(AckRequest, IsSentLaterWhenTheNextRequestFails) {
  PacedPair pair;
  nic::Nic& nic = pair.nic(0);
  const auto source = pair.memory(0).zone_start(MemoryModel::kStatic);
  const nic::MrHandle region =
      *nic.register_mr({.pd = pair.end(0).host->pd(),
                        .address = reinterpret_cast<std::uint64_t>(pair.memory(0).pointer(source)),
                        .length = kPacket});
  ASSERT_TRUE(pair.write(0, 1, kPacket));
  const nic::Sge gone{.length = kPacket, .lkey = nic.keys_of(region)->lkey};
  ASSERT_TRUE(nic.post_send(pair.end(0).qp, {.wr_id = 2,
                                             .op = nic::SendOp::kSend,
                                             .flags = nic::SendFlags::kSignaled,
                                             .sges = {&gone, 1}}));
  pair.pump();
  ASSERT_TRUE(nic.deregister_mr(region));
  pair.run_for(microseconds{100});
  EXPECT_EQ(pair.statuses(), (std::vector{WcStatus::kSuccess, WcStatus::kLocalProtection}));
}

// Memory is deregistered while requests use it. Found by tests/dst (MemoryWorlds, seed 318).
struct VanishingPair : PacedPair {
  nic::MrHandle region{};
  // A WRITE from memory of its own region.
  bool write_from_region(std::uint64_t wr_id) {
    if (!region) {
      region =
          *nic(0).register_mr({.pd = end(0).host->pd(),
                               .address = reinterpret_cast<std::uint64_t>(memory(0).pointer(0)),
                               .length = kPacket});
    }
    const nic::Sge sge{.length = kPacket, .lkey = nic(0).keys_of(region)->lkey};
    nic::SendWr wr{.wr_id = wr_id,
                   .op = nic::SendOp::kWrite,
                   .flags = nic::SendFlags::kSignaled,
                   .sges = {&sge, 1}};
    wr.remote_address = MemoryModel::iova(memory(1).zone_start(MemoryModel::kOpen));
    wr.rkey = end(1).host->keys(MemoryModel::kOpen).rkey;
    return nic(0).post_send(end(0).qp, wr).has_value();
  }
};

// The last packet cannot be sent again: an earlier one is sent instead.
TEST(AckRequest, IsSentWithAnEarlierPacketIfNecessary) {
  VanishingPair pair;
  ASSERT_TRUE(pair.write(0, 1, kPacket));
  ASSERT_TRUE(pair.write_from_region(2));
  ASSERT_TRUE(pair.write_from_region(3));
  while (pair.progress().unacknowledged < 2) pair.run_for(microseconds{1});
  ASSERT_FALSE(pair.progress().ack_requested);
  ASSERT_TRUE(pair.nic(0).deregister_mr(pair.region));
  pair.run_for(microseconds{100});
  EXPECT_EQ(pair.statuses(),
            (std::vector{WcStatus::kSuccess, WcStatus::kSuccess, WcStatus::kLocalProtection}));
  EXPECT_EQ(pair.nic(0).counters().timeouts, 0U);
}

// No packet in flight can be sent again.
TEST(AckRequest, FailsTheQpIfNoPacketCanCarryIt) {
  VanishingPair pair;
  ASSERT_TRUE(pair.write_from_region(1));
  ASSERT_TRUE(pair.write_from_region(2));
  pair.pump();
  ASSERT_EQ(pair.progress().unacknowledged, 1U);
  ASSERT_TRUE(pair.nic(0).deregister_mr(pair.region));
  pair.run_for(microseconds{100});
  EXPECT_EQ(pair.statuses(), (std::vector{WcStatus::kLocalProtection, WcStatus::kFlushed}));
}

}  // namespace
}  // namespace nerve::dst
