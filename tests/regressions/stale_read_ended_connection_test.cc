// A late duplicate of a READ that had been answered ended the connection. Replaying it failed
// because the region was deregistered meanwhile, as storage protocols do once a READ has completed,
// and the responder treated that as an access error. A response that was sent completely before is
// now dropped silently.
#include <gtest/gtest.h>

#include <vector>

#include "tests/regressions/side.h"

namespace nerve::nic {

TEST(DuplicateRead, IsHarmlessAfterDeregistration) {
  Side a{1}, b{2};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kRead, 1, 0, 100, b, 0, b.keys.rkey));
  std::vector<wire::Frame> late;
  pass(a, b, at(1), [&](const wire::Frame& f) {
    late.push_back(f);
    return true;
  });
  exchange(a, b);
  ASSERT_EQ(a.poll().size(), 1U);
  ASSERT_TRUE(b.nic.deregister_mr(b.mr));
  b.nic.receive(late, at(5));
  exchange(a, b, at(6));
  EXPECT_EQ(b.state(), QpState::kRts);
}

}  // namespace nerve::nic
