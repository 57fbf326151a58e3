// Goal: both ends of an XRC connection accept the attributes of an RC connection, as in Linux and
// as perftest sets them.
#include <fcntl.h>

#include "tests/verbs/pair.h"
#include "tests/verbs_ladder.h"

namespace verbs_test {
namespace {

class Xrc : public Device {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(Device::SetUp());
    ibv_xrcd_init_attr attr{};
    attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    attr.fd = -1;
    attr.oflags = O_CREAT;
    domain = ibv_open_xrcd(context, &attr);
    ASSERT_NE(domain, nullptr);
    cq = ibv_create_cq(context, 4, nullptr, nullptr, 0);
    ASSERT_NE(cq, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
    EXPECT_EQ(ibv_close_xrcd(domain), 0);
    Device::TearDown();
  }

  ibv_qp* make(ibv_qp_type type) {
    ibv_qp_init_attr_ex init{};
    init.qp_type = type;
    init.comp_mask = type == IBV_QPT_XRC_SEND ? IBV_QP_INIT_ATTR_PD : IBV_QP_INIT_ATTR_XRCD;
    init.pd = pd;
    init.xrcd = domain;
    if (type == IBV_QPT_XRC_SEND) {
      init.send_cq = cq;
      init.cap.max_send_wr = 1;
      init.cap.max_send_sge = 1;
    }
    return ibv_create_qp_ex(context, &init);
  }

  // With every attribute that an RC connection needs.
  static void bring_up(ibv_qp* qp) {
    ibv_qp_attr attr{};
    attr.port_num = 1;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = qp->qp_num;
    attr.max_dest_rd_atomic = attr.max_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    ASSERT_EQ(ibv_query_gid(qp->context, 1, 0, &attr.ah_attr.grh.dgid), 0);
    attr.timeout = 14;
    attr.retry_cnt = attr.rnr_retry = 7;
    for (const ibv_qp_state to : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      attr.qp_state = to;
      ASSERT_EQ(ibv_modify_qp(qp, &attr, required_attrs(IBV_QPT_RC, to)), 0);
    }
  }

  ibv_xrcd* domain{};
  ibv_cq* cq{};
};

TEST_F(Xrc, BothEndsAcceptTheAttributesOfRc) {
  for (const ibv_qp_type type : {IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV}) {
    ibv_qp* qp = make(type);
    ASSERT_NE(qp, nullptr);
    bring_up(qp);
    EXPECT_EQ(qp->state, IBV_QPS_RTS);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
  }
}

}  // namespace
}  // namespace verbs_test
