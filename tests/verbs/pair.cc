#include "tests/verbs/pair.h"

#include <chrono>

#include "tests/verbs_ladder.h"

namespace verbs_test {
namespace {

// Each connection starts at another PSN, as in programs: a packet of the previous connection with
// the same QPNs must not be accepted.
std::uint32_t next_psn() {
  static std::uint32_t psn = 0;
  return psn += 0x1000;
}

}  // namespace

void Device::SetUp() {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  ASSERT_NE(list, nullptr);
  ASSERT_GT(count, 0);
  context = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  ASSERT_NE(context, nullptr);
  pd = ibv_alloc_pd(context);
  ASSERT_NE(pd, nullptr);
}

void Device::TearDown() {
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

ibv_qp* Pair::make_qp(End& end) {
  ibv_qp_init_attr attr{};
  attr.send_cq = attr.recv_cq = end.cq;
  attr.cap = {.max_send_wr = 8,
              .max_recv_wr = 8,
              .max_send_sge = 4,
              .max_recv_sge = 4,
              .max_inline_data = 64};
  attr.qp_type = IBV_QPT_RC;
  return ibv_create_qp(pd, &attr);
}

void Pair::SetUp() {
  ASSERT_NO_FATAL_FAILURE(Device::SetUp());
  for (End* end : {&a, &b}) {
    end->cq = make_cq(64);
    ASSERT_NE(end->cq, nullptr);
    end->qp = make_qp(*end);
    ASSERT_NE(end->qp, nullptr);
    end->mr = ibv_reg_mr(pd, end->memory.data(), sizeof end->memory, kAllAccess);
    ASSERT_NE(end->mr, nullptr);
  }
  psn = next_psn();
  connect(a, b);
  connect(b, a);
}

void Pair::TearDown() {
  for (const End* end : {&a, &b}) {
    if (end->qp != nullptr) {
      EXPECT_EQ(ibv_destroy_qp(end->qp), 0);
    }
    if (end->cq != nullptr) {
      EXPECT_EQ(ibv_destroy_cq(end->cq), 0);
    }
    if (end->mr != nullptr) {
      EXPECT_EQ(ibv_dereg_mr(end->mr), 0);
    }
  }
  Device::TearDown();
}

void Pair::connect(End& end, const End& peer) {
  ibv_qp_attr attr{};
  attr.port_num = 1;
  attr.qp_access_flags = kAllAccess & ~IBV_ACCESS_MW_BIND;
  attr.path_mtu = end.path_mtu;
  attr.dest_qp_num = peer.qp->qp_num;
  attr.rq_psn = attr.sq_psn = psn;
  attr.max_dest_rd_atomic = attr.max_rd_atomic = 4;
  attr.min_rnr_timer = 1;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  ASSERT_EQ(ibv_query_gid(context, 1, 0, &attr.ah_attr.grh.dgid), 0);
  attr.timeout = end.timeout;
  attr.retry_cnt = attr.rnr_retry = 7;
  ASSERT_EQ(bring_qp_to(end.qp, IBV_QPS_RTS, attr), 0);
  EXPECT_EQ(end.qp->state, IBV_QPS_RTS);
}

int Pair::post_recv(End& end, std::uint64_t wr_id, ibv_sge* list, int count) {
  ibv_recv_wr wr{.wr_id = wr_id, .next = nullptr, .sg_list = list, .num_sge = count};
  ibv_recv_wr* bad{};
  return ibv_post_recv(end.qp, &wr, &bad);
}

ibv_wc Pair::completion(End& end) {
  ibv_wc wc{};
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  do {
    for (int polls = 0; polls < 1000; ++polls) {
      const int count = ibv_poll_cq(end.cq, 1, &wc);
      EXPECT_GE(count, 0);
      if (count != 0) return wc;
    }
  } while (std::chrono::steady_clock::now() < limit);
  ADD_FAILURE() << "no completion";
  return wc;
}

ibv_wc Pair::good_completion(End& end) {
  const ibv_wc wc = completion(end);
  EXPECT_EQ(wc.status, IBV_WC_SUCCESS) << ibv_wc_status_str(wc.status);
  return wc;
}

}  // namespace verbs_test
