// Goal: an acknowledgement waits for a program that keeps posting soon after it receives, only
// briefly, and for no other program.
#include "host/runtime/delayed_ack.h"

#include <gtest/gtest.h>

namespace nerve::host {
namespace {

using std::chrono::microseconds;

constexpr Time kBegin{std::chrono::seconds{1}};

struct AckOfAnExchange : ::testing::Test {
  // A message arrives, and the program posts this much later. Returns true if the ACK waited.
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

TEST_F(AckOfAnExchange, WaitsAfterSeveralPromptReplies) {
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(reply_after(microseconds{5}));
  EXPECT_TRUE(reply_after(microseconds{5}));
  ack.took_in(now);
  EXPECT_EQ(ack.until(), now + DelayedAck::kLongest);
}

TEST_F(AckOfAnExchange, DoesNotWaitForSlowReplies) {
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(reply_after(microseconds{100}));
}

TEST_F(AckOfAnExchange, StopsWaitingAfterALateReply) {
  for (int i = 0; i < 4; ++i) (void)reply_after(microseconds{5});
  EXPECT_TRUE(reply_after(microseconds{100}));
  EXPECT_FALSE(reply_after(microseconds{5}));
}

TEST_F(AckOfAnExchange, StopsWaitingAfterAMessageWithoutReply) {
  for (int i = 0; i < 4; ++i) (void)reply_after(microseconds{5});
  ack.took_in(now);
  ack.sent();
  ack.took_in(now + microseconds{50});
  EXPECT_FALSE(ack.until());
}

}  // namespace
}  // namespace nerve::host
