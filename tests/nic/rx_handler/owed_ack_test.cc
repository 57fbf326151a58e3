// Goal: a driver can distinguish an engine with a single pending ACK from one with more to send.
#include <gtest/gtest.h>

#include "nic/nic.h"
#include "tests/nic/pair.h"

namespace nerve::nic {
namespace {

struct OwedAck : ::testing::Test {
  OwedAck() { pair.connect(); }

  // `b` has received the request and has not answered yet.
  void receive(SendOp op) {
    ASSERT_TRUE(pair.a.post({.wr_id = 1,
                             .op = op,
                             .flags = SendFlags::kSignaled,
                             .remote_address = pair.b.at(0),
                             .rkey = pair.b.keys.rkey},
                            0, 64));
    TxBurst burst{64};
    ASSERT_EQ(pair.a.nic.transmit(burst, pair.now), 1U);
    pair.b.nic.receive(burst.frames(), pair.now);
  }

  test::Pair pair;
};

TEST_F(OwedAck, IsNoneWithoutARequest) { EXPECT_FALSE(pair.b.nic.owes_only_an_ack()); }

TEST_F(OwedAck, IsTheOnlyFrameAfterAWrite) {
  receive(SendOp::kWrite);
  EXPECT_TRUE(pair.b.nic.owes_only_an_ack());
  pair.exchange();
  EXPECT_FALSE(pair.b.nic.owes_only_an_ack());
}

TEST_F(OwedAck, IsNotTheOnlyFrameAfterARead) {
  receive(SendOp::kRead);
  EXPECT_TRUE(pair.b.nic.wants_to_send());
  EXPECT_FALSE(pair.b.nic.owes_only_an_ack());
}

TEST_F(OwedAck, IsNotTheOnlyFrameWithARequestPending) {
  receive(SendOp::kWrite);
  ASSERT_TRUE(pair.b.post(
      {.op = SendOp::kWrite, .remote_address = pair.a.at(0), .rkey = pair.a.keys.rkey}, 0, 64));
  EXPECT_FALSE(pair.b.nic.owes_only_an_ack());
}

// A NAK is urgent.
TEST_F(OwedAck, IsNotTheOnlyFrameAfterARejectedRequest) {
  pair.b.keys.rkey = RKey{pair.b.keys.rkey.value() + 1};
  receive(SendOp::kWrite);
  EXPECT_TRUE(pair.b.nic.wants_to_send());
  EXPECT_FALSE(pair.b.nic.owes_only_an_ack());
}

}  // namespace
}  // namespace nerve::nic
