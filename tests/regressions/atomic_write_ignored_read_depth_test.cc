// An ATOMIC WRITE was sent on a QP with max_rd_atomic 0, although it occupies an entry of the
// responder like a READ. The check was in the branch for requests without payload, and an ATOMIC
// WRITE carries one.
#include <gtest/gtest.h>

#include "tests/regressions/side.h"

namespace nerve::nic {

TEST(AtomicWrite, NeedsReadDepth) {
  Side a{1, {.max_read = 0}}, b{2};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kAtomicWrite, 1, 0, 8, b, 0, b.keys.rkey));
  exchange(a, b);
  const auto done = a.poll();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, WcStatus::kLocalQpOperation);
}

}  // namespace nerve::nic
