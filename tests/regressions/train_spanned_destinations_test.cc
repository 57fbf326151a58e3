// Two datagrams of one size to different hosts were marked as one train, so a link could have
// handed both to the kernel with the address of the first. The check compared sizes only: all
// frames of a connected QP share the flow, but those of a datagram QP need not.
#include <gtest/gtest.h>

#include "tests/regressions/side.h"

namespace nerve::nic {

TEST(Train, DoesNotSpanDestinations) {
  Side a{1, {.type = QpType::kUd}}, b{2, {.type = QpType::kUd}};
  a.connect(b);
  const AhHandle one = *a.nic.create_ah(a.pd, {.destination = wire::Gid::ipv4(10, 0, 0, 2)});
  const AhHandle two = *a.nic.create_ah(a.pd, {.destination = wire::Gid::ipv4(10, 0, 0, 3)});
  for (const AhHandle ah : {one, two}) {
    const Sge sge{a.base, 100, a.keys.lkey};
    ASSERT_TRUE(a.nic.post_send(a.qp, {.op = SendOp::kSend,
                                       .sges = {&sge, 1},
                                       .ah = ah,
                                       .remote_qpn = Qpn{0x11},
                                       .remote_qkey = 7}));
  }
  TxBurst burst{64};
  ASSERT_EQ(a.nic.transmit(burst, at(1)), 2U);
  EXPECT_NE(burst.frames()[0].flow.destination, burst.frames()[1].flow.destination);
  EXPECT_FALSE(burst.frames()[1].continues_train);
}

}  // namespace nerve::nic
