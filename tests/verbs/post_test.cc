// Lists of work requests through ibv_post_send.
#include <endian.h>

#include <cerrno>
#include <cstring>

#include "tests/verbs/pair.h"

namespace verbs_test {
namespace {

class Post : public Pair {
 protected:
  static ibv_send_wr request(ibv_wr_opcode opcode, ibv_sge* list, std::uint64_t wr_id = 1) {
    ibv_send_wr wr{};
    wr.wr_id = wr_id;
    wr.sg_list = list;
    wr.num_sge = list == nullptr ? 0 : 1;
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    return wr;
  }
  int send(ibv_send_wr& wr) {
    ibv_send_wr* bad{};
    return ibv_post_send(a.qp, &wr, &bad);
  }
};

TEST_F(Post, SendWithImmediateArrives) {
  a.memory[0] = 0x1122334455667788;
  ibv_sge to = b.sge(8);
  ASSERT_EQ(post_recv(b, 7, &to, 1), 0);
  ibv_sge from = a.sge(8);
  ibv_send_wr wr = request(IBV_WR_SEND_WITH_IMM, &from);
  wr.imm_data = htobe32(0xdecafbad);
  ASSERT_EQ(send(wr), 0);
  const ibv_wc got = good_completion(b);
  EXPECT_EQ(got.wr_id, 7U);
  EXPECT_EQ(got.opcode, IBV_WC_RECV);
  EXPECT_EQ(got.byte_len, 8U);
  EXPECT_EQ(got.qp_num, b.qp->qp_num);
  EXPECT_EQ(got.wc_flags, unsigned{IBV_WC_WITH_IMM});
  EXPECT_EQ(got.imm_data, htobe32(0xdecafbad));
  EXPECT_EQ(good_completion(a).opcode, IBV_WC_SEND);
  EXPECT_EQ(b.memory[0], a.memory[0]);
}

TEST_F(Post, WriteReadAndAtomicsAccessThePeer) {
  a.memory[0] = 41;
  ibv_sge local = a.sge(8);
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &local);
  wr.wr.rdma = {.remote_addr = b.at(3), .rkey = b.mr->rkey};
  ASSERT_EQ(send(wr), 0);
  EXPECT_EQ(good_completion(a).opcode, IBV_WC_RDMA_WRITE);
  EXPECT_EQ(b.memory[3], 41U);

  wr = request(IBV_WR_ATOMIC_FETCH_AND_ADD, &local);
  wr.wr.atomic = {.remote_addr = b.at(3), .compare_add = 1, .swap = 0, .rkey = b.mr->rkey};
  ASSERT_EQ(send(wr), 0);
  EXPECT_EQ(good_completion(a).opcode, IBV_WC_FETCH_ADD);
  EXPECT_EQ(b.memory[3], 42U);

  wr = request(IBV_WR_ATOMIC_CMP_AND_SWP, &local);
  wr.wr.atomic = {.remote_addr = b.at(3), .compare_add = 42, .swap = 7, .rkey = b.mr->rkey};
  ASSERT_EQ(send(wr), 0);
  EXPECT_EQ(good_completion(a).opcode, IBV_WC_COMP_SWAP);
  EXPECT_EQ(a.memory[0], 42U);

  wr = request(IBV_WR_RDMA_READ, &local);
  wr.wr.rdma = {.remote_addr = b.at(3), .rkey = b.mr->rkey};
  ASSERT_EQ(send(wr), 0);
  EXPECT_EQ(good_completion(a).opcode, IBV_WC_RDMA_READ);
  EXPECT_EQ(a.memory[0], 7U);
}

TEST_F(Post, RequestsBeforeTheBadOneArePosted) {
  ibv_sge local = a.sge(8);
  ibv_send_wr good = request(IBV_WR_RDMA_WRITE, &local, 1);
  good.wr.rdma = {.remote_addr = b.at(), .rkey = b.mr->rkey};
  ibv_send_wr unknown = request(IBV_WR_TSO, &local, 2);
  ibv_send_wr never = good;
  good.next = &unknown;
  unknown.next = &never;
  ibv_send_wr* bad{};
  EXPECT_EQ(ibv_post_send(a.qp, &good, &bad), EOPNOTSUPP);
  EXPECT_EQ(bad, &unknown);
  EXPECT_EQ(good_completion(a).wr_id, 1U);
}

TEST_F(Post, InvalidRequestsAreRefused) {
  ibv_sge local = a.sge(8);
  ibv_send_wr wr = request(IBV_WR_SEND, &local);
  wr.num_sge = -1;
  EXPECT_EQ(send(wr), EINVAL);
  wr.num_sge = 1'000'000;
  EXPECT_EQ(send(wr), EINVAL);
  wr.num_sge = 1;
  wr.send_flags = IBV_SEND_IP_CSUM;
  EXPECT_EQ(send(wr), EINVAL);
  ibv_sge to = b.sge(8);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(post_recv(b, 0, &to, 1), 0);
  EXPECT_EQ(post_recv(b, 0, &to, 1), ENOMEM);
}

TEST_F(Post, InlineDataMayBeReusedAtOnce) {
  ibv_sge to = b.sge(64);
  ASSERT_EQ(post_recv(b, 0, &to, 1), 0);
  std::array<char, 16> words{};
  std::strcpy(words.data(), "as it was");
  ibv_sge from{reinterpret_cast<std::uint64_t>(words.data()), words.size(), 0};
  ibv_send_wr wr = request(IBV_WR_SEND, &from);
  wr.send_flags |= IBV_SEND_INLINE;
  ASSERT_EQ(send(wr), 0);
  words.fill('x');
  good_completion(b);
  EXPECT_STREQ(reinterpret_cast<const char*>(b.memory.data()), "as it was");
}

TEST_F(Post, AWindowOfType1GivesAccessUnderItsNewKey) {
  ibv_mw* mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
  ASSERT_NE(mw, nullptr);
  const std::uint32_t before = mw->rkey;
  ibv_mw_bind bind{};
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = {
      .mr = b.mr, .addr = b.at(8), .length = 8, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  ASSERT_EQ(ibv_bind_mw(b.qp, mw, &bind), 0);
  EXPECT_EQ(good_completion(b).opcode, IBV_WC_BIND_MW);
  EXPECT_NE(mw->rkey, before);

  a.memory[0] = 99;
  ibv_sge local = a.sge(8);
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &local);
  wr.wr.rdma = {.remote_addr = b.at(8), .rkey = mw->rkey};
  ASSERT_EQ(send(wr), 0);
  good_completion(a);
  EXPECT_EQ(b.memory[8], 99U);
  EXPECT_EQ(ibv_dereg_mr(b.mr), EBUSY);  // the window is still bound to it
  EXPECT_EQ(ibv_dealloc_mw(mw), 0);
}

TEST_F(Post, AnErrorRaisesAnEventAndFlushesTheRest) {
  ibv_sge local = a.sge(8);
  ibv_sge to = a.sge(8, 4);
  ASSERT_EQ(post_recv(a, 5, &to, 1), 0);
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, &local);
  wr.wr.rdma = {.remote_addr = b.at(), .rkey = b.mr->rkey + 1};
  ASSERT_EQ(send(wr), 0);
  EXPECT_EQ(completion(a).status, IBV_WC_REM_ACCESS_ERR);
  const ibv_wc flushed = completion(a);
  EXPECT_EQ(flushed.status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(flushed.wr_id, 5U);
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(a.qp, &attr, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attr.qp_state, IBV_QPS_ERR);
  EXPECT_EQ(a.qp->state, IBV_QPS_ERR);
  EXPECT_EQ(init.qp_type, IBV_QPT_RC);
}

}  // namespace
}  // namespace verbs_test
