// A QP moved from INIT to ERR has no path MTU. Counting the packets of a request posted to it
// divided by zero; the request must be flushed. Found by fuzz/modify_qp_fuzz.cc.
#include <gtest/gtest.h>

#include <array>

#include "nic/nic.h"

namespace nerve::nic {

TEST(PostSendWithoutPath, IsFlushed) {
  Nic nic{NicConfig{}};
  const PdHandle pd = *nic.alloc_pd();
  const CqHandle cq = *nic.create_cq({.depth = 4});
  const QpHandle qp = *nic.create_qp({.type = QpType::kRc, .pd = pd, .send_cq = cq, .recv_cq = cq});
  ASSERT_TRUE(nic.modify_qp(qp, QpState::kErr, QpAttrs::kNone, {}));
  std::array<std::byte, 64> memory{};
  const MrHandle mr = *nic.register_mr({.pd = pd,
                                        .address = reinterpret_cast<std::uint64_t>(memory.data()),
                                        .length = memory.size(),
                                        .iova = 0,
                                        .access = Access::kNone});
  const Sge sge{.address = 0, .length = 64, .lkey = nic.keys_of(mr)->lkey};
  ASSERT_TRUE(nic.post_send(qp, {.wr_id = 7, .op = SendOp::kSend, .sges = {&sge, 1}}));
  TxBurst burst{4};
  EXPECT_EQ(nic.transmit(burst, Time{Duration{1}}), 0U);
  std::array<Completion, 2> done;
  ASSERT_EQ(*nic.poll_cq(cq, done), 1U);
  EXPECT_EQ(done[0].wr_id, 7U);
  EXPECT_EQ(done[0].status, WcStatus::kFlushed);
}

}  // namespace nerve::nic
