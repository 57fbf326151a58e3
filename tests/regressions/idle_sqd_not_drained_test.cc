// An idle QP that was moved to SQD never raised IBV_EVENT_SQ_DRAINED. The event was raised when a
// request completed, and an idle QP has none to complete. The transition itself now checks whether
// the queue is already drained.
#include <gtest/gtest.h>

#include "tests/regressions/side.h"

namespace nerve::nic {

TEST(SqdDrain, IdleQpRaisesEvent) {
  Side a{1}, b{2};
  a.connect(b);
  b.connect(a);
  a.events(EventKind::kSqDrained);
  ASSERT_TRUE(a.step(QpState::kSqd, QpAttrs::kSqdNotify, {.sqd_notify = true}));
  exchange(a, b);
  EXPECT_FALSE(a.nic.query_qp(a.qp)->sq_draining);
  EXPECT_EQ(a.events(EventKind::kSqDrained), 1);
}

}  // namespace nerve::nic
