// What connections cost while nothing is said: `idle CORE CORE QPS SECONDS` joins two processes by
// this many RC QPs, sends one message over each, and then leaves them alone. Prints `value` and the
// share of a core, in percent, that the busier of the two took meanwhile, all its threads together.
#include <infiniband/verbs.h>
#include <sys/socket.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "bench/two_processes.h"

namespace nerve::bench {
namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
constexpr double kPatience = 60;  // seconds, for all the first messages

struct Task {
  std::size_t qps{};
  unsigned seconds{};
  int channel{};
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "idle: %s: %s\n", what, std::strerror(errno));
  ::_exit(1);
}

// What the two processes tell each other.
struct Card {
  ibv_gid gid{};
  std::uint64_t address{};
  std::uint32_t rkey{};
};

void send_all(int fd, const void* from, std::size_t size) {
  if (::send(fd, from, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) fail("send");
}
void receive_all(int fd, void* to, std::size_t size) {
  if (::recv(fd, to, size, MSG_WAITALL) != static_cast<ssize_t>(size)) fail("the other end");
}
void meet(int fd) {
  char word = 'r';
  send_all(fd, &word, 1);
  receive_all(fd, &word, 1);
}

// One of the two processes, with an adapter and many QPs on it. Nothing is destroyed: it ends as a
// whole.
class Side {
 public:
  explicit Side(const Task& task) : task_{task} {
    ibv_device** const list = ibv_get_device_list(nullptr);
    if (list == nullptr || list[0] == nullptr) fail("no device");
    context_ = ibv_open_device(list[0]);
    if (context_ == nullptr) fail("ibv_open_device");
    pd_ = ibv_alloc_pd(context_);
    if (pd_ == nullptr) fail("ibv_alloc_pd");
    mr_ = ibv_reg_mr(pd_, memory_.data(), sizeof memory_, kAccess);
    if (mr_ == nullptr) fail("ibv_reg_mr");
    cq_ = ibv_create_cq(context_, static_cast<int>(task.qps), nullptr, nullptr, 0);
    if (cq_ == nullptr) fail("ibv_create_cq");
    for (std::size_t i = 0; i < task.qps; ++i) qps_.push_back(make_qp());
  }

  void connect() {
    Card own{.address = reinterpret_cast<std::uint64_t>(memory_.data()), .rkey = mr_->rkey};
    if (ibv_query_gid(context_, 1, 0, &own.gid) != 0) fail("ibv_query_gid");
    std::vector<std::uint32_t> numbers;
    for (const ibv_qp* qp : qps_) numbers.push_back(qp->qp_num);
    const std::size_t size = numbers.size() * sizeof numbers[0];
    send_all(task_.channel, &own, sizeof own);
    send_all(task_.channel, numbers.data(), size);
    receive_all(task_.channel, &other_, sizeof other_);
    receive_all(task_.channel, numbers.data(), size);
    for (std::size_t i = 0; i < qps_.size(); ++i) connect(qps_[i], numbers[i]);
    meet(task_.channel);
  }

  // So that whatever is made at the first message is there.
  void greet() {
    for (ibv_qp* qp : qps_) write(qp);
    std::size_t done = 0;
    ibv_wc wc{};
    const double end = seconds() + kPatience;
    while (done < qps_.size() && seconds() < end) {
      if (ibv_poll_cq(cq_, 1, &wc) == 0) continue;
      if (wc.status != IBV_WC_SUCCESS) fail(ibv_wc_status_str(wc.status));
      ++done;
    }
    if (done < qps_.size()) fail("the first messages are not through");
    meet(task_.channel);
  }

  // Percent of a core.
  [[nodiscard]] double rest() const {
    ::sleep(1);  // for what follows the last message
    const double begin = seconds();
    const double used = cpu_seconds();
    ::sleep(task_.seconds);
    return (cpu_seconds() - used) / (seconds() - begin) * 100;
  }

 private:
  [[nodiscard]] ibv_qp* make_qp() const {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq_;
    init.cap = {.max_send_wr = 16,
                .max_recv_wr = 16,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    init.qp_type = IBV_QPT_RC;
    init.sq_sig_all = 1;
    ibv_qp* const qp = ibv_create_qp(pd_, &init);
    if (qp == nullptr) fail("ibv_create_qp");
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = kAccess;
    const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    if (ibv_modify_qp(qp, &attr, mask) != 0) fail("modify to init");
    return qp;
  }

  void connect(ibv_qp* qp, std::uint32_t number) const {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = number;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.grh.dgid = other_.gid;
    attr.ah_attr.grh.hop_limit = 1;
    const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    if (ibv_modify_qp(qp, &attr, rtr) != 0) fail("modify to rtr");
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 14;
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = 1;
    const int rts = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    if (ibv_modify_qp(qp, &attr, rts) != 0) fail("modify to rts");
  }

  void write(ibv_qp* qp) const {
    ibv_sge sge{reinterpret_cast<std::uint64_t>(memory_.data()), 8, mr_->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.wr.rdma.remote_addr = other_.address + 8;
    wr.wr.rdma.rkey = other_.rkey;
    ibv_send_wr* bad{};
    if ((errno = ibv_post_send(qp, &wr, &bad)) != 0) fail("ibv_post_send");
  }

  static double cpu_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

  Task task_;
  alignas(64) std::array<std::uint64_t, 2> memory_{};
  ibv_context* context_{};
  ibv_pd* pd_{};
  ibv_mr* mr_{};
  ibv_cq* cq_{};
  std::vector<ibv_qp*> qps_;
  Card other_;
};

double live(const Task& task) {
  Side side{task};
  side.connect();
  side.greet();
  return side.rest();
}

double busier_of_two(Task task) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) fail("socketpair");
  const Peer peer{[&] {  // the device is opened on both sides of the fork, not before
    task.channel = ends[1];
    const double share = live(task);
    send_all(ends[1], &share, sizeof share);
  }};
  ::close(ends[1]);
  task.channel = ends[0];
  const double ours = live(task);
  double theirs = 0;
  receive_all(ends[0], &theirs, sizeof theirs);
  return std::max(ours, theirs);
}

}  // namespace
}  // namespace nerve::bench

int main(int argc, char** argv) {
  const int qps = argc == 5 ? std::atoi(argv[3]) : 0;
  const int seconds = argc == 5 ? std::atoi(argv[4]) : 0;
  if (qps < 1 || seconds < 1) {
    std::fprintf(stderr, "usage: nerve_live_idle CORE CORE QPS SECONDS\n");
    return 2;
  }
  const double share = nerve::bench::busier_of_two({.qps = static_cast<std::size_t>(qps),
                                                    .seconds = static_cast<unsigned>(seconds),
                                                    .channel = {}});
  std::printf("value %.4f\n", share);
  return 0;
}
