// Goal: UC delivers whole messages or none, and an incomplete one affects no other.
#include <gtest/gtest.h>

#include "nic/nic.h"
#include "tests/nic/probe.h"

namespace nerve::nic {
namespace {

using test::Probe;
using enum wire::Operation;

struct Unreliable : ::testing::Test {
  Probe probe{QpType::kUc};
  void SetUp() override {
    probe.end.bring_to(QpState::kRts);
    ASSERT_TRUE(probe.end.post_receive(1, 0, 4096));
    ASSERT_TRUE(probe.end.post_receive(2, 4096, 4096));
  }
  // Delivers it; UC never answers.
  void hear(const wire::Frame& frame) { EXPECT_TRUE(probe.hear(frame).empty()); }
  void expect_received(std::uint64_t wr_id, std::uint32_t bytes) {
    const auto got = probe.end.completions();
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].wr_id, wr_id);
    EXPECT_EQ(got[0].status, WcStatus::kSuccess);
    EXPECT_EQ(got[0].bytes, bytes);
  }
};

TEST_F(Unreliable, AMessageCutInItsMiddleLeavesItsReceiveForTheNext) {
  hear(probe.frame(kSendFirst, 0, 1024));
  hear(probe.frame(kSendLast, 2, 8));  // the middle is lost
  EXPECT_TRUE(probe.end.completions().empty());
  hear(probe.frame(kSendOnly, 3, 16));
  expect_received(1, 16);
  EXPECT_EQ(probe.end.nic.counters().out_of_order_received, 1U);
}

TEST_F(Unreliable, AMessageWithoutItsEndIsForgotten) {
  hear(probe.frame(kSendFirst, 0, 1024));
  hear(probe.frame(kSendFirst, 5, 1024));
  hear(probe.frame(kSendLast, 6, 8));
  expect_received(1, 1032);
}

TEST_F(Unreliable, AMessageWithoutItsBeginningIsSkipped) {
  hear(probe.frame(kSendMiddle, 1, 1024));
  hear(probe.frame(kSendLast, 2, 8));
  EXPECT_TRUE(probe.end.completions().empty());
  hear(probe.frame(kSendOnly, 3, 8));
  expect_received(1, 8);
}

TEST_F(Unreliable, AnyPsnMayBeginAMessage) {
  hear(probe.frame(kSendOnly, 0x99'9999, 8));
  expect_received(1, 8);
  hear(probe.frame(kSendOnly, 7, 8));  // even backwards
  expect_received(2, 8);
}

TEST_F(Unreliable, AnInvalidWriteIsDroppedSilently) {
  const auto memory = probe.end.memory;
  wire::Frame wrong = probe.frame_at(kWriteOnly, 0, 0, 8, 8);
  wrong.headers.reth.rkey = RKey{1};
  hear(wrong);
  hear(probe.frame_at(kWriteOnly, 1, 0, 9, 8));
  EXPECT_EQ(probe.end.memory, memory);
  EXPECT_EQ(probe.end.state(), QpState::kRts) << "the next message may be good";
  hear(probe.frame_at(kWriteOnly, 2, 0, 8, 8));
  EXPECT_NE(probe.end.memory, memory);
}

TEST_F(Unreliable, WithoutAReceiveTheMessageIsLost) {
  hear(probe.frame(kSendOnly, 0, 8));
  hear(probe.frame(kSendOnly, 1, 8));
  EXPECT_EQ(probe.end.completions().size(), 2U);
  hear(probe.frame(kSendFirst, 2, 1024));
  hear(probe.frame(kSendLast, 3, 8));
  EXPECT_EQ(probe.end.nic.counters().dropped_no_receive, 1U);
  EXPECT_TRUE(probe.end.completions().empty());
}

}  // namespace
}  // namespace nerve::nic
