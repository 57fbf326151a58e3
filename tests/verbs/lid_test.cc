// Goal: a program that uses LIDs and no GIDs reaches its peer, as qperf does.
#include <utility>

#include "tests/verbs/pair.h"
#include "tests/verbs_ladder.h"

namespace verbs_test {
namespace {

class ByLid : public Pair {
 protected:
  // The LID of the port, zero if it has no IPv4 address.
  std::uint16_t lid() {
    ibv_port_attr port{};
    EXPECT_EQ(ibv_query_port(context, 1, &port), 0);
    return port.lid;
  }
};

TEST_F(ByLid, TheLidIsFromTheFirstIpv4Address) {
  std::uint16_t expected = 0;
  ibv_gid_entry entry{};
  for (std::uint32_t i = 0; ibv_query_gid_ex(context, 1, i, &entry, 0) == 0; ++i) {
    const std::uint8_t* bytes = entry.gid.raw;
    if (bytes[0] != 0 || bytes[10] != 0xff) continue;
    expected = static_cast<std::uint16_t>(bytes[14] << 8U | bytes[15]);
    break;
  }
  EXPECT_EQ(lid(), expected);
}

TEST_F(ByLid, QpsConnect) {
  if (lid() == 0) GTEST_SKIP() << "no IPv4 address here";
  for (const auto& [end, peer] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RESET;
    ASSERT_EQ(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE), 0);
    attr.port_num = 1;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = peer->qp->qp_num;
    attr.rq_psn = attr.sq_psn = psn + 0x500;
    attr.max_dest_rd_atomic = attr.max_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.ah_attr.dlid = lid();
    attr.ah_attr.port_num = 1;
    attr.timeout = 14;
    attr.retry_cnt = attr.rnr_retry = 7;
    ASSERT_EQ(bring_qp_to(end->qp, IBV_QPS_RTS, attr), 0);
  }
  a.memory[0] = 0x1234;
  ibv_sge into = b.sge(8, 1);
  ASSERT_EQ(post_recv(b, 7, &into, 1), 0);
  ibv_sge from = a.sge(8);
  ibv_send_wr wr{};
  wr.sg_list = &from;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad{};
  ASSERT_EQ(ibv_post_send(a.qp, &wr, &bad), 0);
  good_completion(a);
  good_completion(b);
  EXPECT_EQ(b.memory[1], 0x1234U);
}

TEST_F(ByLid, AddressHandlesAreCreated) {
  if (lid() == 0) GTEST_SKIP() << "no IPv4 address here";
  ibv_ah_attr attr{};
  attr.port_num = 1;
  attr.dlid = lid();
  ibv_ah* ah = ibv_create_ah(pd, &attr);
  ASSERT_NE(ah, nullptr);
  EXPECT_EQ(ibv_destroy_ah(ah), 0);
}

}  // namespace
}  // namespace verbs_test
