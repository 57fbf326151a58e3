// Extended completion queues: polling one by one, and the readers.
#include <time.h>

#include <cerrno>

#include "tests/verbs/pair.h"

namespace verbs_test {
namespace {

std::uint64_t nanoseconds(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

class CqEx : public Pair {
 protected:
  ibv_cq* make_cq(int depth) override {
    ibv_cq_init_attr_ex attr{};
    attr.cqe = static_cast<std::uint32_t>(depth);
    attr.wc_flags = std::uint64_t{IBV_WC_STANDARD_FLAGS} | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
    ibv_cq_ex* cq = ibv_create_cq_ex(context, &attr);
    return cq == nullptr ? nullptr : ibv_cq_ex_to_cq(cq);
  }
};

TEST_F(CqEx, ReadersReturnThePolledCompletion) {
  ibv_sge to = b.sge(8);
  ASSERT_EQ(post_recv(b, 77, &to, 1), 0);
  ibv_sge from = a.sge(8);
  ibv_send_wr wr{};
  wr.sg_list = &from;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND_WITH_IMM;
  wr.imm_data = 0x01020304;
  ibv_send_wr* bad{};
  const std::uint64_t before = nanoseconds(CLOCK_MONOTONIC);
  ASSERT_EQ(ibv_post_send(a.qp, &wr, &bad), 0);

  auto* cq = reinterpret_cast<ibv_cq_ex*>(b.cq);
  ibv_poll_cq_attr attr{};
  int found = ENOENT;
  for (int tries = 0; found == ENOENT && tries < 10'000'000; ++tries) {
    found = ibv_start_poll(cq, &attr);
  }
  ASSERT_EQ(found, 0);
  EXPECT_EQ(cq->wr_id, 77U);
  EXPECT_EQ(cq->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(cq), IBV_WC_RECV);
  EXPECT_EQ(ibv_wc_read_byte_len(cq), 8U);
  EXPECT_EQ(ibv_wc_read_imm_data(cq), 0x01020304U);
  EXPECT_EQ(ibv_wc_read_qp_num(cq), b.qp->qp_num);
  EXPECT_EQ(ibv_wc_read_wc_flags(cq), unsigned{IBV_WC_WITH_IMM});
  EXPECT_EQ(ibv_wc_read_vendor_err(cq), 0U);
  EXPECT_EQ(ibv_wc_read_slid(cq), 0U);
  const std::uint64_t at = ibv_wc_read_completion_ts(cq);
  EXPECT_LE(before, at);
  EXPECT_LE(at, nanoseconds(CLOCK_MONOTONIC));
  EXPECT_LE(ibv_wc_read_completion_wallclock_ns(cq), nanoseconds(CLOCK_REALTIME));
  EXPECT_EQ(ibv_next_poll(cq), ENOENT);
  ibv_end_poll(cq);
  EXPECT_EQ(ibv_start_poll(cq, &attr), ENOENT);  // and no end_poll
}

// Reading the time of a completion does not change it, however often the clocks are read in
// between; so the times are in the order of the completions.
TEST_F(CqEx, TheWallClockOfACompletionStaysTheSame) {
  auto* cq = reinterpret_cast<ibv_cq_ex*>(a.cq);
  std::uint64_t last = 0;
  for (int round = 0; round < 50; ++round) {
    ibv_sge from = a.sge(8);
    ibv_send_wr wr{};
    wr.sg_list = &from;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = b.at(), .rkey = b.mr->rkey};
    ibv_send_wr* bad{};
    ASSERT_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
    ibv_poll_cq_attr attr{};
    int found = ENOENT;
    for (int tries = 0; found == ENOENT && tries < 10'000'000; ++tries) {
      found = ibv_start_poll(cq, &attr);
    }
    ASSERT_EQ(found, 0);
    const std::uint64_t at = ibv_wc_read_completion_wallclock_ns(cq);
    EXPECT_LE(last, at);
    last = at;
    for (int again = 0; again < 1000; ++again) {
      ASSERT_EQ(ibv_wc_read_completion_wallclock_ns(cq), at);
    }
    ibv_end_poll(cq);
  }
}

TEST_F(CqEx, UnsupportedFlagsAreRefused) {
  ibv_cq_init_attr_ex attr{};
  attr.cqe = 1;
  attr.wc_flags = IBV_WC_EX_WITH_CVLAN;
  EXPECT_EQ(ibv_create_cq_ex(context, &attr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  attr.wc_flags = 0;
  attr.comp_vector = 1;
  EXPECT_EQ(ibv_create_cq_ex(context, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace verbs_test
