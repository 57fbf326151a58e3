// A sequence NAK after a timeout was ignored, and the QP waited for another timeout. One flag
// marked both retransmission after a timeout and a NAK already handled; a timeout now resets the
// latter.
#include <gtest/gtest.h>

#include "tests/regressions/side.h"

namespace nerve::nic {

TEST(SequenceNak, AfterTimeoutIsHandled) {
  Side a{1}, b{2};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kWrite, 1, 0, 5000, b, 0, b.keys.rkey));
  pass(a, b, at(1), [](const wire::Frame&) { return false; });  // all are lost
  const Time due = *a.nic.next_deadline();
  a.nic.expire(due);
  int n = 0;
  pass(a, b, due, [&](const wire::Frame&) { return n++ != 0; });  // the first is lost again
  exchange(a, b, due);
  EXPECT_EQ(a.poll().size(), 1U) << "waits for another timeout";
}

}  // namespace nerve::nic
