// A QP that answered a long READ did not send its own requests before the response was complete:
// responses are sent first in a turn, and they took the whole burst. They now leave half of it to
// requests.
#include <gtest/gtest.h>

#include "tests/regressions/side.h"

namespace nerve::nic {

TEST(Responses, DoNotStarveRequests) {
  Side a{1}, b{2};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kRead, 1, 0, 8 << 20, b, 0, b.keys.rkey));
  pass(a, b, at(1));
  ASSERT_TRUE(b.rdma(SendOp::kWrite, 2, 0, 8, a, 9 << 20, a.keys.rkey));
  TxBurst burst{64};
  int sent = 0;
  for (bool found = false; !found;) {
    ASSERT_GT(b.nic.transmit(burst, at(1)), 0U);
    for (const wire::Frame& f : burst.frames()) {
      found = found || wire::operation_of(f.headers.bth.opcode) == wire::Operation::kWriteOnly;
      sent += !found;
    }
  }
  EXPECT_LT(sent, 256);
}

}  // namespace nerve::nic
