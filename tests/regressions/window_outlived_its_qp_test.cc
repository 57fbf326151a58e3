// A type 2 memory window stayed bound when its QP was destroyed. Its region could not be
// deregistered, and the next QP with that number accepted the old key. Destroying or resetting a QP
// now unbinds its windows.
#include <gtest/gtest.h>

#include "tests/regressions/side.h"

namespace nerve::nic {

TEST(Type2Window, IsUnboundWithItsQp) {
  Side a{1}, b{2};
  a.connect(b);
  b.connect(a);
  const MwHandle mw = *b.nic.alloc_mw(b.pd, MwType::kType2);
  const RKey rkey{b.nic.rkey_of(mw)->value()};
  ASSERT_TRUE(b.nic.post_send(b.qp, {.op = SendOp::kBindMw,
                                     .flags = SendFlags::kSignaled,
                                     .bind = {.window = mw,
                                              .region = b.mr,
                                              .address = b.base,
                                              .length = 4096,
                                              .access = Access::kRemoteRead,
                                              .new_rkey = rkey}}));
  exchange(a, b);
  ASSERT_EQ(b.poll()[0].status, WcStatus::kSuccess);
  ASSERT_TRUE(b.nic.destroy_qp(b.qp));
  EXPECT_TRUE(b.nic.deregister_mr(b.mr));  // no QP can use the window
}

TEST(Type2Window, KeyIsInvalidAfterQpnReuse) {
  Side a{1}, b{2};
  a.connect(b);
  b.connect(a);
  const MwHandle mw = *b.nic.alloc_mw(b.pd, MwType::kType2);
  const RKey rkey{b.nic.rkey_of(mw)->value()};
  ASSERT_TRUE(b.nic.post_send(b.qp, {.op = SendOp::kBindMw,
                                     .bind = {.window = mw,
                                              .region = b.mr,
                                              .address = b.base,
                                              .length = 4096,
                                              .access = Access::kRemoteRead,
                                              .new_rkey = rkey}}));
  exchange(a, b);
  const Qpn old = b.nic.query_qp(b.qp)->qpn;
  ASSERT_TRUE(b.nic.destroy_qp(b.qp));
  ASSERT_TRUE(a.nic.destroy_qp(a.qp));
  a.qp = a.make();
  for (b.qp = b.make(); b.nic.query_qp(b.qp)->qpn != old; b.qp = b.make()) {
    ASSERT_TRUE(b.nic.destroy_qp(b.qp));
  }
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kRead, 1, 0, 100, b, 0, rkey));
  exchange(a, b);
  EXPECT_NE(a.poll()[0].status, WcStatus::kSuccess);
}

}  // namespace nerve::nic
