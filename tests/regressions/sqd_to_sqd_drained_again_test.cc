// A modify from SQD to SQD, which only changes attributes, restarted draining: entering SQD always
// cleared the note that the drained event had been raised. The QP then reported sq_draining with an
// empty queue. Only a transition into SQD clears it now.
#include <gtest/gtest.h>

#include "tests/regressions/side.h"

namespace nerve::nic {

TEST(SqdDrain, ModifyInSqdDoesNotRestartIt) {
  Side a{1}, b{2};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kWrite, 1, 0, 100, b, 0, b.keys.rkey));
  pass(a, b, at(1));
  ASSERT_TRUE(a.step(QpState::kSqd, QpAttrs::kSqdNotify, {.sqd_notify = true}));
  exchange(a, b);
  EXPECT_EQ(a.events(EventKind::kSqDrained), 1);
  ASSERT_TRUE(a.step(QpState::kSqd, QpAttrs::kTimeout, {.timeout = 12}));
  exchange(a, b);
  EXPECT_FALSE(a.nic.query_qp(a.qp)->sq_draining);
}

}  // namespace nerve::nic
