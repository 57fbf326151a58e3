// Requests built call by call: ibv_wr_*.
#include <cerrno>
#include <cstring>

#include "tests/verbs/pair.h"

namespace verbs_test {
namespace {

// As in the headers of rdma-core 45 and later.
constexpr std::uint64_t kWithFlush = 1U << 11U;
constexpr std::size_t kFlushSlot = 312 + sizeof(pthread_mutex_t);
using WrFlush = void (*)(ibv_qp_ex*, std::uint32_t, std::uint64_t, std::size_t, std::uint8_t,
                         std::uint8_t);

class WorkCalls : public Pair {
 protected:
  ibv_qp* make_qp(End& end) override {
    ibv_qp_init_attr_ex attr{};
    attr.send_cq = attr.recv_cq = end.cq;
    attr.cap = {.max_send_wr = 4,
                .max_recv_wr = 8,
                .max_send_sge = 2,
                .max_recv_sge = 2,
                .max_inline_data = 32};
    attr.qp_type = IBV_QPT_RC;
    attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.pd = pd;
    attr.send_ops_flags =
        IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_ATOMIC_WRITE | kWithFlush;
    return ibv_create_qp_ex(context, &attr);
  }
  void SetUp() override {
    Pair::SetUp();
    qp = ibv_qp_to_qp_ex(a.qp);
    ASSERT_NE(qp, nullptr);
    qp->wr_flags = IBV_SEND_SIGNALED;
  }
  void write(std::size_t word) {
    ibv_wr_rdma_write(qp, b.mr->rkey, b.at(word));
    ibv_wr_set_sge(qp, a.mr->lkey, a.at(word), 8);
  }

  ibv_qp_ex* qp{};
};

TEST_F(WorkCalls, ABatchIsPostedAtOnce) {
  a.memory[0] = 10;
  a.memory[1] = 11;
  ibv_wr_start(qp);
  qp->wr_id = 1;
  write(0);
  qp->wr_id = 2;
  write(1);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(good_completion(a).wr_id, 1U);
  EXPECT_EQ(good_completion(a).wr_id, 2U);
  EXPECT_EQ(b.memory[0], 10U);
  EXPECT_EQ(b.memory[1], 11U);
}

TEST_F(WorkCalls, AnAbortedBatchLeavesNoTrace) {
  ibv_wr_start(qp);
  write(0);
  ibv_wr_abort(qp);
  ibv_wr_start(qp);
  qp->wr_id = 9;
  write(1);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(good_completion(a).wr_id, 9U);
}

TEST_F(WorkCalls, ABatchWithOneBadRequestIsRefusedWhole) {
  a.memory[0] = 5;
  ibv_wr_start(qp);
  write(0);
  ibv_wr_send(qp);
  std::array<char, 512> long_data{};
  ibv_wr_set_inline_data(qp, long_data.data(), long_data.size());
  EXPECT_EQ(ibv_wr_complete(qp), EINVAL);

  ibv_wr_start(qp);
  for (int i = 0; i < 5; ++i) write(0);  // the queue holds four
  EXPECT_EQ(ibv_wr_complete(qp), ENOMEM);
  ibv_wc wc{};
  EXPECT_EQ(ibv_poll_cq(a.cq, 1, &wc), 0);
  EXPECT_EQ(b.memory[0], 0U);
}

TEST_F(WorkCalls, InlineListsAreConcatenated) {
  ibv_sge to = b.sge(32);
  ASSERT_EQ(post_recv(b, 0, &to, 1), 0);
  std::array<char, 4> first{'o', 'n', 'e', ' '};
  std::array<char, 4> second{'t', 'w', 'o', '\0'};
  const std::array<ibv_data_buf, 2> list{ibv_data_buf{first.data(), first.size()},
                                         ibv_data_buf{second.data(), second.size()}};
  ibv_wr_start(qp);
  ibv_wr_send(qp);
  ibv_wr_set_inline_data_list(qp, list.size(), list.data());
  first.fill('x');
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(good_completion(b).byte_len, 8U);
  EXPECT_STREQ(reinterpret_cast<const char*>(b.memory.data()), "one two");
}

TEST_F(WorkCalls, AnAtomicWriteStoresItsWord) {
  const std::uint64_t word = 0x0123456789abcdef;
  ibv_wr_start(qp);
  ibv_wr_atomic_write(qp, b.mr->rkey, b.at(2), &word);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(good_completion(a).opcode, IBV_WC_ATOMIC_WRITE);
  EXPECT_EQ(b.memory[2], word);
}

TEST_F(WorkCalls, AProgramWithLaterHeadersFindsFlush) {
  ibv_mr* mr = ibv_reg_mr(pd, b.memory.data(), sizeof b.memory,
                          kAllAccess | 1U << 8U /* IBV_ACCESS_FLUSH_GLOBAL */);
  ASSERT_NE(mr, nullptr);
  ibv_qp_attr attr{};
  attr.qp_access_flags = (kAllAccess & ~IBV_ACCESS_MW_BIND) | 1U << 8U;
  ASSERT_EQ(ibv_modify_qp(b.qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
  WrFlush flush{};
  std::memcpy(&flush, reinterpret_cast<const char*>(qp) + kFlushSlot, sizeof flush);
  ASSERT_NE(flush, nullptr);
  ibv_wr_start(qp);
  flush(qp, mr->rkey, b.at(), 64, 1 /* global visibility */, 0 /* the range */);
  ASSERT_EQ(ibv_wr_complete(qp), 0);
  EXPECT_EQ(good_completion(a).opcode, 8);  // IBV_WC_FLUSH
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(WorkCalls, UnsupportedCallsAreRefusedAtCreation) {
  ibv_qp_init_attr_ex attr{};
  attr.send_cq = attr.recv_cq = a.cq;
  attr.cap = {1, 1, 1, 1, 0};
  attr.qp_type = IBV_QPT_RC;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attr.pd = pd;
  attr.send_ops_flags = IBV_QP_EX_WITH_TSO;
  EXPECT_EQ(ibv_create_qp_ex(context, &attr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

}  // namespace
}  // namespace verbs_test
