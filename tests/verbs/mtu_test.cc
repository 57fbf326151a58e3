// Goal: two ends with different path MTUs fail with a message that names the cause.
#include "tests/verbs/pair.h"

namespace verbs_test {
namespace {

class DifferentMtus : public Pair {
 protected:
  DifferentMtus() { a.path_mtu = IBV_MTU_4096; }
};

TEST_F(DifferentMtus, ResponderWarnsWithBothLengths) {
  ibv_sge into = b.sge(4096);
  ASSERT_EQ(post_recv(b, 1, &into, 1), 0);
  ibv_sge from = a.sge(4096);
  ibv_send_wr wr{};
  wr.sg_list = &from;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad{};
  testing::internal::CaptureStderr();
  EXPECT_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
  EXPECT_EQ(completion(a).status, IBV_WC_REM_INV_REQ_ERR);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_REQ_ERR);
  ibv_ack_async_event(&event);
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_NE(printed.find("4096 bytes of payload, because the path MTU here is 1024"),
            std::string::npos)
      << printed;
}

}  // namespace
}  // namespace verbs_test
