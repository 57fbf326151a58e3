// Goal: a program whose peer never answered is told between which addresses, and one whose peer has
// died is not.
#include "tests/verbs/pair.h"

namespace verbs_test {
namespace {

class NoAnswer : public Pair {
 protected:
  ibv_wc_status send() {
    ibv_sge from = a.sge(8);
    ibv_send_wr wr{};
    wr.sg_list = &from;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad{};
    EXPECT_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
    return completion(a).status;
  }
  // From now on the peer drops all packets.
  void silence_peer() {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE), 0);
  }
};

TEST_F(NoAnswer, NamesTheAddressesIfThePeerNeverAnswered) {
  silence_peer();
  testing::internal::CaptureStderr();
  EXPECT_EQ(send(), IBV_WC_RETRY_EXC_ERR);
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_NE(printed.find(": no answer from "), std::string::npos) << printed;
  EXPECT_NE(printed.find(" to packets from "), std::string::npos) << printed;
}

TEST_F(NoAnswer, IsSilentIfThePeerHasAnsweredBefore) {
  ibv_sge into = b.sge(8);
  ASSERT_EQ(post_recv(b, 1, &into, 1), 0);
  EXPECT_EQ(send(), IBV_WC_SUCCESS);
  silence_peer();
  testing::internal::CaptureStderr();
  EXPECT_EQ(send(), IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace verbs_test
