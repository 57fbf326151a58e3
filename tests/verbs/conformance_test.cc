// Goal: where programs written for hardware could notice a difference, verbs behave like mlx5,
// irdma and rxe, or as the IBTA standard says. Remaining differences are in docs/coverage.md.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "tests/verbs/pair.h"
#include "tests/verbs_ladder.h"

namespace verbs_test {
namespace {

class Conformance : public Pair {
 protected:
  int post(ibv_qp* qp, ibv_send_wr wr) {
    wr.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad{};
    return ibv_post_send(qp, &wr, &bad);
  }
  int write(End& from, const End& to, std::uint32_t rkey, ibv_wr_opcode op = IBV_WR_RDMA_WRITE) {
    ibv_sge local = from.sge(8);
    ibv_send_wr wr{};
    wr.sg_list = &local;
    wr.num_sge = 1;
    wr.opcode = op;
    wr.wr.rdma = {.remote_addr = to.at(), .rkey = rkey};
    return post(from.qp, wr);
  }
  int bind(ibv_mw* mw, std::uint32_t rkey) {
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_BIND_MW;
    wr.bind_mw = {
        .mw = mw,
        .rkey = rkey,
        .bind_info = {
            .mr = b.mr, .addr = b.at(), .length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE}};
    return post(b.qp, wr);
  }
  int invalidate(ibv_qp* qp, std::uint32_t rkey) {
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_LOCAL_INV;
    wr.invalidate_rkey = rkey;
    return post(qp, wr);
  }
};

TEST_F(Conformance, BindingAType2WindowTakesTheLow8BitsOfTheKey) {
  ibv_mw* mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
  ASSERT_NE(mw, nullptr);
  const std::uint32_t first = ibv_inc_rkey(mw->rkey);
  ASSERT_EQ(bind(mw, first ^ 0xabcd'ef00U), 0);
  EXPECT_EQ(good_completion(b).opcode, IBV_WC_BIND_MW);
  ASSERT_EQ(write(a, b, first), 0);
  good_completion(a);

  ASSERT_EQ(invalidate(b.qp, first), 0);
  good_completion(b);
  const std::uint32_t second = ibv_inc_rkey(first);
  ASSERT_EQ(bind(mw, second), 0);
  good_completion(b);
  ASSERT_EQ(write(a, b, second), 0);
  good_completion(a);
  ASSERT_EQ(write(a, b, first), 0);
  EXPECT_EQ(completion(a).status, IBV_WC_REM_ACCESS_ERR) << "the key of the first bind is stale";
  EXPECT_EQ(ibv_dealloc_mw(mw), 0);
}

TEST_F(Conformance, InvalidatingAnotherQpsWindowIsAMemoryManagementError) {
  ibv_mw* mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
  ASSERT_NE(mw, nullptr);
  const std::uint32_t key = ibv_inc_rkey(mw->rkey);
  ASSERT_EQ(bind(mw, key), 0);
  good_completion(b);
  ASSERT_EQ(invalidate(a.qp, key), 0);
  EXPECT_EQ(completion(a).status, IBV_WC_MW_BIND_ERR);
  EXPECT_EQ(ibv_dealloc_mw(mw), 0);
}

TEST_F(Conformance, ARegionOfLengthZeroServesOperationsOfLengthZero) {
  ibv_mr* mr = ibv_reg_mr(pd, b.memory.data(), 0, kAllAccess);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->length, 0U);
  ibv_sge nothing{b.at(), 0, mr->lkey};
  ibv_send_wr wr{};
  wr.sg_list = &nothing;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.wr.rdma = {.remote_addr = b.at(), .rkey = mr->rkey};
  ASSERT_EQ(post(a.qp, wr), 0);
  good_completion(a);
  wr.opcode = IBV_WR_RDMA_READ;
  ASSERT_EQ(post(a.qp, wr), 0);
  good_completion(a);
  ASSERT_EQ(write(a, b, mr->rkey), 0);
  EXPECT_EQ(completion(a).status, IBV_WC_REM_ACCESS_ERR) << "not one byte more";
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(Conformance, MemoryThatIsNotMappedCannotBeRegistered) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const memory =
      ::mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const middle = static_cast<std::byte*>(memory) + page;
  ASSERT_EQ(::munmap(middle, page), 0);
  const auto refused = [&](void* address, std::size_t length) {
    errno = 0;
    return ibv_reg_mr(pd, address, length, kAllAccess) == nullptr && errno == EFAULT;
  };
  EXPECT_TRUE(refused(middle, 1));
  EXPECT_TRUE(refused(memory, page + 1));
  EXPECT_TRUE(refused(memory, 3 * page)) << "a hole";
  EXPECT_TRUE(refused(reinterpret_cast<void*>(page), 8)) << "never mapped";
  EXPECT_TRUE(refused(memory, ~std::size_t{0})) << "beyond the end of memory";

  ibv_mr* const mr = ibv_reg_mr(pd, middle - 1, 1, kAllAccess);
  ASSERT_NE(mr, nullptr) << "its last byte is mapped";
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, memory, 2 * page, 0),
            IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(mr->addr, middle - 1) << "the region is as it was";
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(::munmap(memory, page), 0);
  EXPECT_EQ(::munmap(middle + page, page), 0);
}

TEST_F(Conformance, AnAtomicUsesEightBytesOfALongerEntry) {
  b.memory[0] = 41;
  a.memory.fill(7);
  ibv_sge local = a.sge(64);
  ibv_send_wr wr{};
  wr.sg_list = &local;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  wr.wr.atomic = {.remote_addr = b.at(), .compare_add = 1, .swap = 0, .rkey = b.mr->rkey};
  ASSERT_EQ(post(a.qp, wr), 0);
  EXPECT_EQ(good_completion(a).byte_len, 8U);
  EXPECT_EQ(a.memory[0], 41U);
  EXPECT_EQ(a.memory[1], 7U);
  EXPECT_EQ(b.memory[0], 42U);
}

TEST_F(Conformance, AWriteWithImmediateToAWrongKeyEndsItsReceiveWithAnAccessError) {
  ibv_sge to = b.sge(8, 4);
  ASSERT_EQ(post_recv(b, 9, &to, 1), 0);
  ASSERT_EQ(post_recv(b, 10, &to, 1), 0);
  ASSERT_EQ(write(a, b, b.mr->rkey ^ 1U, IBV_WR_RDMA_WRITE_WITH_IMM), 0);
  EXPECT_EQ(completion(a).status, IBV_WC_REM_ACCESS_ERR);
  const ibv_wc failed = completion(b);
  EXPECT_EQ(failed.wr_id, 9U);
  EXPECT_EQ(failed.status, IBV_WC_LOC_ACCESS_ERR);
  const ibv_wc flushed = completion(b);
  EXPECT_EQ(flushed.wr_id, 10U);
  EXPECT_EQ(flushed.status, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(Conformance, ARefusedReregistrationIsACommandErrorAndKeepsTheRegion) {
  ibv_mr before = *b.mr;
  errno = 0;
  EXPECT_EQ(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                         IBV_ACCESS_REMOTE_WRITE),  // needs LOCAL_WRITE
            IBV_REREG_MR_ERR_CMD);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(b.mr->rkey, before.rkey);
  EXPECT_EQ(b.mr->length, before.length);
  ASSERT_EQ(write(a, b, b.mr->rkey), 0);
  good_completion(a);
  // Errors that libibverbs itself detects are input errors, as before.
  EXPECT_EQ(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, b.memory.data(), 0, 0),
            IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(ibv_rereg_mr(b.mr, 1 << 20, nullptr, nullptr, 0, 0), IBV_REREG_MR_ERR_INPUT);
}

TEST_F(Conformance, DestroyingAnObjectInUseReturnsAndSetsEbusy) {
  const auto busy = [](int result) {
    const int told = errno;
    errno = 0;
    return result == EBUSY && told == EBUSY;
  };
  errno = 0;
  EXPECT_TRUE(busy(ibv_dealloc_pd(pd)));
  EXPECT_TRUE(busy(ibv_destroy_cq(a.cq)));

  ibv_srq_init_attr srq_attr{};
  srq_attr.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
  ibv_srq* srq = ibv_create_srq(pd, &srq_attr);
  ASSERT_NE(srq, nullptr);
  ibv_qp_init_attr attr{};
  attr.send_cq = attr.recv_cq = a.cq;
  attr.srq = srq;
  attr.cap = {1, 0, 1, 0, 0};
  attr.qp_type = IBV_QPT_RC;
  ibv_qp* qp = ibv_create_qp(pd, &attr);
  ASSERT_NE(qp, nullptr);
  EXPECT_TRUE(busy(ibv_destroy_srq(srq)));
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);

  ibv_comp_channel* channel = ibv_create_comp_channel(context);
  ASSERT_NE(channel, nullptr);
  ibv_cq* cq = ibv_create_cq(context, 1, nullptr, channel, 0);
  ASSERT_NE(cq, nullptr);
  EXPECT_TRUE(busy(ibv_destroy_comp_channel(channel)));
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST_F(Device, ACqHasAtLeastOneEntry) {
  errno = 0;
  EXPECT_EQ(ibv_create_cq(context, 0, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  ibv_cq_init_attr_ex attr{};
  EXPECT_EQ(ibv_create_cq_ex(context, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

class DatagramConformance : public Device {
 protected:
  void SetUp() override {
    Device::SetUp();
    cq = ibv_create_cq(context, 8, nullptr, nullptr, 0);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq;
    init.cap = {4, 4, 1, 1, 0};
    init.qp_type = IBV_QPT_UD;
    qp = ibv_create_qp(pd, &init);
    ASSERT_NE(qp, nullptr);
    ibv_qp_attr attr{};
    attr.port_num = 1;
    ASSERT_EQ(bring_qp_to(qp, IBV_QPS_RTS, attr), 0);
    mr = ibv_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
    ibv_ah_attr to{};
    to.is_global = 1;
    to.port_num = 1;
    ASSERT_EQ(ibv_query_gid(context, 1, 0, &to.grh.dgid), 0);
    ah = ibv_create_ah(pd, &to);
    ASSERT_NE(ah, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(ibv_destroy_ah(ah), 0);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
    Device::TearDown();
  }
  int send(std::uint32_t length, ibv_wr_opcode op = IBV_WR_SEND) {
    ibv_sge list{reinterpret_cast<std::uint64_t>(memory.data()), length, mr->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &list;
    wr.num_sge = 1;
    wr.opcode = op;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.ud = {.ah = ah, .remote_qpn = qp->qp_num, .remote_qkey = 0};
    ibv_send_wr* bad{};
    return ibv_post_send(qp, &wr, &bad);
  }

  std::array<char, 8192> memory{};
  ibv_cq* cq{};
  ibv_qp* qp{};
  ibv_mr* mr{};
  ibv_ah* ah{};
};

TEST_F(DatagramConformance, ASendLongerThanTheMtuCompletesWithALengthError) {
  ASSERT_EQ(send(8192), 0);
  ibv_wc wc{};
  int count = 0;
  for (int tries = 0; count == 0 && tries < 10'000'000; ++tries) count = ibv_poll_cq(cq, 1, &wc);
  ASSERT_EQ(count, 1);
  EXPECT_EQ(wc.status, IBV_WC_LOC_LEN_ERR);
}

// An operation that the transport does not have is an immediate error (IBTA 11.4.1.1).
TEST_F(DatagramConformance, OtherOperationsAreRefusedAtPost) {
  for (const ibv_wr_opcode op : {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
                                 IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP}) {
    EXPECT_EQ(send(8, op), EINVAL);
  }
}

}  // namespace
}  // namespace verbs_test
