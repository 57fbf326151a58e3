#include "bench/live/rc.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tests/verbs_ladder.h"

namespace nerve::bench {
namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

void post(ibv_qp* qp, ibv_send_wr& wr) {
  ibv_send_wr* bad{};
  if ((errno = ibv_post_send(qp, &wr, &bad)) != 0) fail("ibv_post_send");
}

}  // namespace

void fail(const char* what) {
  (void)std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
  ::_exit(1);
}

void send_all(int fd, const void* from, std::size_t size) {
  if (::send(fd, from, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) fail("send");
}

void receive_all(int fd, void* to, std::size_t size) {
  if (::recv(fd, to, size, MSG_WAITALL) != static_cast<ssize_t>(size))
    fail("cannot read from the other process");
}

void meet(int fd) {
  char word = 'r';
  send_all(fd, &word, 1);
  receive_all(fd, &word, 1);
}

ibv_context* open_first_device() {
  ibv_device** const list = ibv_get_device_list(nullptr);
  if (list == nullptr || list[0] == nullptr) fail("no device");
  ibv_context* const context = ibv_open_device(list[0]);
  if (context == nullptr) fail("ibv_open_device");
  return context;
}

ibv_gid gid_of(ibv_context* context) {
  ibv_gid gid{};
  if (ibv_query_gid(context, 1, 0, &gid) != 0) fail("ibv_query_gid");
  return gid;
}

ibv_cq* make_cq(ibv_context* context, std::size_t depth) {
  ibv_cq* const cq = ibv_create_cq(context, static_cast<int>(depth), nullptr, nullptr, 0);
  if (cq == nullptr) fail("ibv_create_cq");
  return cq;
}

ibv_qp* make_rc(ibv_pd* pd, const RcQueues& queues) {
  ibv_qp_init_attr init{};
  init.send_cq = queues.send_cq;
  init.recv_cq = queues.recv_cq;
  init.srq = queues.srq;
  init.cap = {.max_send_wr = queues.depth,
              .max_recv_wr = queues.depth,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  init.qp_type = IBV_QPT_RC;
  init.sq_sig_all = 1;
  ibv_qp* const qp = ibv_create_qp(pd, &init);
  if (qp == nullptr) fail("ibv_create_qp");
  ibv_qp_attr attr{};
  attr.port_num = 1;
  attr.qp_access_flags = kAccess;
  if (verbs_test::bring_qp_to(qp, IBV_QPS_INIT, attr) != 0) fail("modify to init");
  return qp;
}

void connect_rc(ibv_qp* qp, const ibv_gid& to, std::uint32_t number) {
  ibv_port_attr port{};
  if (ibv_query_port(qp->context, 1, &port) != 0) fail("ibv_query_port");
  ibv_qp_attr attr{};
  attr.path_mtu = port.active_mtu;
  attr.dest_qp_num = number;
  attr.max_dest_rd_atomic = 1;
  attr.min_rnr_timer = 1;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.dgid = to;
  attr.ah_attr.grh.hop_limit = 1;
  attr.timeout = 14;
  attr.retry_cnt = 7;
  attr.rnr_retry = 7;
  attr.max_rd_atomic = 1;
  if (verbs_test::bring_qp_to(qp, IBV_QPS_RTS, attr) != 0) fail("modify to rts");
}

void post_write(ibv_qp* qp, ibv_sge from, const RemoteMemory& to, std::uint64_t wr_id) {
  ibv_send_wr wr{};
  wr.wr_id = wr_id;
  wr.sg_list = &from;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.wr.rdma.remote_addr = to.address;
  wr.wr.rdma.rkey = to.rkey;
  post(qp, wr);
}

void post_send(ibv_qp* qp, ibv_sge from, std::uint64_t wr_id) {
  ibv_send_wr wr{};
  wr.wr_id = wr_id;
  wr.sg_list = &from;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  post(qp, wr);
}

std::size_t poll(ibv_cq* cq, ibv_wc* found, std::size_t most) {
  const int count = ibv_poll_cq(cq, static_cast<int>(most), found);
  if (count < 0) fail("ibv_poll_cq");
  for (int i = 0; i < count; ++i) {
    if (found[i].status != IBV_WC_SUCCESS) fail(ibv_wc_status_str(found[i].status));
  }
  return static_cast<std::size_t>(count);
}

}  // namespace nerve::bench
