// SQD permits a larger max_dest_rd_atomic, but the replay cache kept the size it got in RTR. A QP
// that was set up with depth 0 had no cache at all, and the first READ after the change needed an
// entry of it.
#include <gtest/gtest.h>

#include "tests/regressions/side.h"

namespace nerve::nic {

TEST(ReplayCache, GrowsWithResponderDepthInSqd) {
  Side a{1}, b{2, {.max_dest = 0}};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(b.step(QpState::kSqd, QpAttrs::kNone, {}));
  const Status grown = b.step(QpState::kSqd, QpAttrs::kMaxDestRead, {.max_dest_read = 4});
  if (!grown) return;  // an error is acceptable too
  ASSERT_TRUE(a.rdma(SendOp::kRead, 1, 0, 100, b, 0, b.keys.rkey));
  exchange(a, b);
  ASSERT_EQ(a.poll().size(), 1U);
}

}  // namespace nerve::nic
