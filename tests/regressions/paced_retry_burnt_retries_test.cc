// A paced QP that waited for its next slot after a timeout used up its retries without sending
// anything, because the timer was restarted at once. It starts with the first retransmitted packet.
#include <gtest/gtest.h>

#include "tests/regressions/side.h"

namespace nerve::nic {

TEST(PacedRetry, IsSentOncePerRetry) {
  Side a{1, {.timeout = 8, .rate = Rate::megabits(1)}}, b{2};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kWrite, 1, 0, 1000, b, 0, b.keys.rkey));
  pass(a, b, at(1), [](const wire::Frame&) { return false; });
  std::uint32_t sent = 1;
  while (auto due = a.nic.next_deadline()) {
    a.nic.expire(*due);
    sent += pass(a, b, *due, [](const wire::Frame&) { return false; });
  }
  EXPECT_EQ(sent, 8U);
}

}  // namespace nerve::nic
