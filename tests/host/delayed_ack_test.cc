// Goal: an acknowledgement waits for a program that keeps posting soon after what it was sent, for
// a moment at most, and for no other.
#include "host/delayed_ack.h"

#include <gtest/gtest.h>

namespace nerve::host {
namespace {

using std::chrono::microseconds;

constexpr Time kBegin{std::chrono::seconds{1}};

struct AckOfAnExchange : ::testing::Test {
  // A message comes, and the program posts so much later. True when the ACK waited.
  bool reply_after(Duration time) {
    ack.took_in(now);
    const bool waited = ack.until().has_value();
    now += time;
    EXPECT_TRUE(ack.awaits_post());
    ack.posted(now);
    ack.sent();
    return waited;
  }

  DelayedAck ack;
  Time now{kBegin};
};

TEST_F(AckOfAnExchange, WaitsOnceRepliesComeSoon) {
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(reply_after(microseconds{5}));
  EXPECT_TRUE(reply_after(microseconds{5}));
  ack.took_in(now);
  EXPECT_EQ(ack.until(), now + DelayedAck::kLongest);
}

TEST_F(AckOfAnExchange, DoesNotWaitForSlowReplies) {
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(reply_after(microseconds{100}));
}

TEST_F(AckOfAnExchange, WaitsNoMoreAfterAReplyThatWasLate) {
  for (int i = 0; i < 4; ++i) (void)reply_after(microseconds{5});
  EXPECT_TRUE(reply_after(microseconds{100}));
  EXPECT_FALSE(reply_after(microseconds{5}));
}

TEST_F(AckOfAnExchange, WaitsNoMoreAfterAMessageWithoutReply) {
  for (int i = 0; i < 4; ++i) (void)reply_after(microseconds{5});
  ack.took_in(now);
  ack.sent();
  ack.took_in(now + microseconds{50});
  EXPECT_FALSE(ack.until());
}

}  // namespace
}  // namespace nerve::host
