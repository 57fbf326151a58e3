// On UC, a message whose receive had an invalid key or was too short was dropped silently, and the
// receive was kept and failed every later message too. The fault is local, so the receive completes
// with an error and the QP enters the error state.
#include <gtest/gtest.h>

#include "tests/regressions/side.h"

namespace nerve::nic {

TEST(UcReceive, WithBadKeyCompletesWithError) {
  Side a{1, {.type = QpType::kUc}}, b{2, {.type = QpType::kUc}};
  a.connect(b);
  b.connect(a);
  const Sge bad{b.base, 1000, LKey{0x12345}};
  ASSERT_TRUE(b.nic.post_recv(b.qp, {.wr_id = 1, .sges = {&bad, 1}}));
  const Sge good{b.base, 1000, b.keys.lkey};
  ASSERT_TRUE(b.nic.post_recv(b.qp, {.wr_id = 2, .sges = {&good, 1}}));
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(a.rdma(SendOp::kSend, i, 0, 100, b, 0, RKey{}));
    exchange(a, b);
  }
  EXPECT_FALSE(b.poll().empty());
}

}  // namespace nerve::nic
