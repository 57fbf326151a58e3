// The responder had moved a QP to ERR and still had to send the NAK that says why. The application
// then moved the QP to ERR as well, which cleared the NAK, and the peer waited for its timeout. The
// NAK is kept when the QP is already in ERR.
#include <gtest/gtest.h>

#include "tests/regressions/side.h"

namespace nerve::nic {

TEST(PendingNak, SurvivesModifyToError) {
  Side a{1}, b{2};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kWrite, 1, 0, 8, b, 0, RKey{5}));
  pass(a, b, at(1));
  ASSERT_TRUE(b.step(QpState::kErr, QpAttrs::kNone, {}));
  exchange(a, b);
  const auto done = a.poll();
  ASSERT_EQ(done.size(), 1U);
}

}  // namespace nerve::nic
