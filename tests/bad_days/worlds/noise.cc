#include "tests/bad_days/worlds/noise.h"

#include <unistd.h>

#include <cerrno>

#include "tests/bad_days/worlds/memory.h"
#include "tests/bad_days/worlds/verdict.h"
#include "tests/verbs_ladder.h"

namespace worlds {
namespace {

void register_memory(ibv_pd* pd, Bytes& memory, nerve::Prng& prng) {
  const std::size_t length = prng.between(1, memory.size());
  ibv_mr* const mr =
      ibv_reg_mr(pd, memory.data(), length, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  must(mr != nullptr, "ibv_reg_mr of the other thread");
  must((errno = ibv_dereg_mr(mr)) == 0, "ibv_dereg_mr of the other thread");
}

// A QP connected to itself: one SEND, which may or may not arrive before everything is destroyed.
void make_qp(ibv_pd* pd, const ibv_gid& gid, nerve::Prng& prng) {
  ibv_cq* const cq = ibv_create_cq(pd->context, 8, nullptr, nullptr, 0);
  must(cq != nullptr, "ibv_create_cq of the other thread");
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.cap = {.max_send_wr = 2,
              .max_recv_wr = 2,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 8};
  init.qp_type = IBV_QPT_UC;
  ibv_qp* const qp = ibv_create_qp(pd, &init);
  must(qp != nullptr, "ibv_create_qp of the other thread");
  ibv_qp_attr attr{};
  attr.port_num = 1;
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = qp->qp_num;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.dgid = gid;
  attr.ah_attr.grh.hop_limit = 1;
  must(verbs_test::bring_qp_to(qp, IBV_QPS_RTS, attr) == 0, "ibv_modify_qp of the other thread");
  std::uint64_t word = prng.next();
  ibv_sge sge{.addr = reinterpret_cast<std::uint64_t>(&word), .length = 8, .lkey = 0};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED;
  ibv_send_wr* bad{};
  must((errno = ibv_post_send(qp, &wr, &bad)) == 0, "ibv_post_send of the other thread");
  ibv_wc wc{};
  for (std::uint64_t polls = prng.below(20); polls > 0; --polls) (void)ibv_poll_cq(cq, 1, &wc);
  must((errno = ibv_destroy_qp(qp)) == 0, "ibv_destroy_qp of the other thread");
  must((errno = ibv_destroy_cq(cq)) == 0, "ibv_destroy_cq of the other thread");
}

}  // namespace

Noise::Noise(ibv_context* context, std::uint64_t seed)
    : context_{context}, thread_{[this, seed] { make(seed); }} {}

Noise::~Noise() {
  over_ = true;
  thread_.join();
}

void Noise::make(std::uint64_t seed) {
  nerve::Prng prng{seed};
  Bytes memory(100'000);
  ibv_gid gid{};
  must(ibv_query_gid(context_, 1, 0, &gid) == 0, "ibv_query_gid of the other thread");
  while (!over_) {
    ibv_pd* const pd = ibv_alloc_pd(context_);
    must(pd != nullptr, "ibv_alloc_pd of the other thread");
    if (prng.chance(500)) register_memory(pd, memory, prng);
    if (prng.chance(500)) make_qp(pd, gid, prng);
    must((errno = ibv_dealloc_pd(pd)) == 0, "ibv_dealloc_pd of the other thread");
    ::usleep(static_cast<useconds_t>(prng.below(400)));
  }
}

}  // namespace worlds
