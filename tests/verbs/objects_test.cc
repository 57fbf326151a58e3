// Memory, domains and shared objects, without traffic.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "tests/verbs/pair.h"
#include "tests/verbs_ladder.h"

namespace verbs_test {
namespace {

TEST_F(Device, ADmabufIsRefusedWithTheErrnoThatProbesExpect) {
  EXPECT_EQ(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, 0), nullptr);
  EXPECT_EQ(errno, EBADF);
}

TEST_F(Device, ReregisteringRightsKeepsTheKey) {
  std::array<char, 64> buffer{};
  ibv_mr* mr = ibv_reg_mr(pd, buffer.data(), buffer.size(), IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(mr, nullptr);
  const std::uint32_t key = mr->rkey;
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
            0);
  EXPECT_EQ(mr->rkey, key);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, buffer.data(), 8, 0), 0);
  EXPECT_NE(mr->rkey, key);
  EXPECT_EQ(mr->length, 8U);
  EXPECT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, nullptr, 8, 0),
            IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(Device, DeviceMemoryIsAccessedInWords) {
  ibv_alloc_dm_attr attr{.length = 64, .log_align_req = 0, .comp_mask = 0};
  ibv_dm* dm = ibv_alloc_dm(context, &attr);
  ASSERT_NE(dm, nullptr);
  const std::uint32_t word = 0xfeedface;
  EXPECT_EQ(ibv_memcpy_to_dm(dm, 8, &word, 4), 0);
  std::uint32_t back = 0;
  EXPECT_EQ(ibv_memcpy_from_dm(&back, dm, 8, 4), 0);
  EXPECT_EQ(back, word);
  EXPECT_EQ(ibv_memcpy_from_dm(&back, dm, 64, 4), EINVAL);
  EXPECT_EQ(ibv_memcpy_from_dm(&back, dm, ~std::uint64_t{3}, 8), EINVAL);
  EXPECT_EQ(ibv_memcpy_from_dm(&back, dm, 1, 3), EINVAL);
  ibv_mr* mr = ibv_reg_dm_mr(pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_free_dm(dm), EBUSY);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_free_dm(dm), 0);
  attr.length = std::size_t{1} << 40U;
  EXPECT_EQ(ibv_alloc_dm(context, &attr), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST_F(Device, AParentDomainKeepsItsPartsBusy) {
  ibv_td_init_attr td_attr{};
  ibv_td* td = ibv_alloc_td(context, &td_attr);
  ASSERT_NE(td, nullptr);
  ibv_parent_domain_init_attr attr{};
  attr.pd = pd;
  attr.td = td;
  ibv_pd* parent = ibv_alloc_parent_domain(context, &attr);
  ASSERT_NE(parent, nullptr);
  EXPECT_EQ(ibv_dealloc_td(td), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  std::array<char, 8> buffer{};
  ibv_mr* mr = ibv_reg_mr(parent, buffer.data(), buffer.size(), 0);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(parent), 0);
  EXPECT_EQ(ibv_dealloc_td(td), 0);
}

TEST_F(Device, AnXrcDomainIsSharedByItsFile) {
  std::array<char, 32> path{"/tmp/nerve-xrcd-XXXXXX"};
  const int fd = ::mkstemp(path.data());
  ASSERT_GE(fd, 0);
  ibv_xrcd_init_attr attr{};
  attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  attr.fd = fd;
  EXPECT_EQ(ibv_open_xrcd(context, &attr), nullptr);  // it was not created yet
  EXPECT_EQ(errno, EAGAIN);
  attr.oflags = O_CREAT;
  ibv_xrcd* first = ibv_open_xrcd(context, &attr);
  ASSERT_NE(first, nullptr);
  ibv_xrcd* second = ibv_open_xrcd(context, &attr);
  ASSERT_NE(second, nullptr);
  attr.oflags = O_CREAT | O_EXCL;
  EXPECT_EQ(ibv_open_xrcd(context, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);

  ibv_cq* cq = ibv_create_cq(context, 4, nullptr, nullptr, 0);
  ibv_srq_init_attr_ex init{};
  init.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = 0};
  init.comp_mask =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  init.srq_type = IBV_SRQT_XRC;
  init.pd = pd;
  init.xrcd = second;
  init.cq = cq;
  ibv_srq* srq = ibv_create_srq_ex(context, &init);
  ASSERT_NE(srq, nullptr);
  EXPECT_EQ(ibv_close_xrcd(second), 0);
  EXPECT_EQ(ibv_close_xrcd(first), EBUSY);  // the last one, and the SRQ is in it
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
  EXPECT_EQ(ibv_close_xrcd(first), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  ::close(fd);
  ::unlink(path.data());
}

// The structures are the program's to leak; their engine objects are destroyed.
TEST_F(Device, AClosedDeviceLeavesNothingInTheEngine) {
  std::array<char, 32> path{"/tmp/nerve-xrcd-XXXXXX"};
  const int fd = ::mkstemp(path.data());
  ASSERT_GE(fd, 0);
  ibv_context* second = ibv_open_device(context->device);
  ASSERT_NE(second, nullptr);
  ibv_xrcd_init_attr attr{};
  attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  attr.fd = fd;
  attr.oflags = O_CREAT;
  static ibv_xrcd* left = ibv_open_xrcd(second, &attr);
  ASSERT_NE(left, nullptr);
  static ibv_pd* domain = ibv_alloc_pd(second);
  static ibv_mw* window = ibv_alloc_mw(domain, IBV_MW_TYPE_1);
  ASSERT_NE(window, nullptr);
  EXPECT_EQ(ibv_close_device(second), 0);
  attr.oflags = 0;
  EXPECT_EQ(ibv_open_xrcd(context, &attr), nullptr);
  EXPECT_EQ(errno, EAGAIN) << "it does not exist any more";
  ::close(fd);
  ::unlink(path.data());
}

// perftest sets up both halves of an XRC pair with all attributes of an RC QP.
TEST_F(Device, AnXrcHalfIgnoresAttributesOfTheOther) {
  ibv_cq* cq = ibv_create_cq(context, 4, nullptr, nullptr, 0);
  ibv_qp_init_attr init{};
  init.send_cq = cq;
  init.cap = {1, 0, 1, 0, 0};
  init.qp_type = IBV_QPT_XRC_SEND;
  ibv_qp* qp = ibv_create_qp(pd, &init);
  ASSERT_NE(qp, nullptr);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  ASSERT_EQ(ibv_modify_qp(qp, &attr, required_attrs(IBV_QPT_RC, IBV_QPS_INIT)), 0);
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = qp->qp_num;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  ASSERT_EQ(ibv_query_gid(context, 1, 0, &attr.ah_attr.grh.dgid), 0);
  EXPECT_EQ(ibv_modify_qp(qp, &attr, required_attrs(IBV_QPT_RC, IBV_QPS_RTR)), 0);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
}

TEST_F(Device, UnsupportedCallsFail) {
  ibv_cq* cq = ibv_create_cq(context, 4, nullptr, nullptr, 0);
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.cap = {1, 1, 1, 1, 0};
  init.qp_type = IBV_QPT_RAW_PACKET;
  EXPECT_EQ(ibv_create_qp(pd, &init), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  init.qp_type = IBV_QPT_RC;
  ibv_qp* qp = ibv_create_qp(pd, &init);
  ASSERT_NE(qp, nullptr);
  EXPECT_EQ(ibv_qp_to_qp_ex(qp), nullptr);
  ibv_ece ece{};
  EXPECT_EQ(ibv_query_ece(qp, &ece), EOPNOTSUPP);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  ibv_counters_init_attr counters{};
  EXPECT_EQ(ibv_create_counters(context, &counters), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

}  // namespace
}  // namespace verbs_test
