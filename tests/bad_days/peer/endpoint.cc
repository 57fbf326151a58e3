#include "tests/bad_days/peer/endpoint.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "tests/bad_days/peer/pattern.h"
#include "tests/verbs_ladder.h"

namespace bad_days {
namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
constexpr char kReady = 'r';
constexpr char kDone = 'd';

bool failed(const char* what) {
  std::fprintf(stderr, "verbs_peer: %s: %s\n", what, std::strerror(errno));
  return false;
}

bool send_all(int fd, const void* from, std::size_t size) {
  return ::send(fd, from, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}
bool receive_all(int fd, void* to, std::size_t size) {
  return ::recv(fd, to, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

}  // namespace

std::uint64_t now_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

std::optional<Endpoint> Endpoint::open(const Options& options, std::size_t bytes) {
  Endpoint endpoint{options};
  if (!endpoint.make(bytes)) return std::nullopt;
  return endpoint;
}

bool Endpoint::make(std::size_t bytes) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  if (list == nullptr || count == 0) return failed("ibv_get_device_list");
  context_ = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  if (context_ == nullptr) return failed("ibv_open_device");
  pd_ = ibv_alloc_pd(context_);
  if (pd_ == nullptr) return failed("ibv_alloc_pd");
  if (options_.wait == Wait::kEvent) {
    events_ = ibv_create_comp_channel(context_);
    if (events_ == nullptr) return failed("ibv_create_comp_channel");
  }
  // With completion timestamps: under load we may read them late.
  ibv_cq_init_attr_ex queue{};
  queue.cqe = 1024;
  queue.channel = events_;
  queue.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  cq_ = ibv_create_cq_ex(context_, &queue);
  if (cq_ == nullptr) return failed("ibv_create_cq_ex");
  memory_.resize(bytes);
  mr_ = ibv_reg_mr(pd_, memory_.data(), memory_.size(), kAccess);
  if (mr_ == nullptr) return failed("ibv_reg_mr");

  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = ibv_cq_ex_to_cq(cq_);
  init.cap = {.max_send_wr = 256,
              .max_recv_wr = 256,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  init.qp_type = IBV_QPT_RC;
  init.sq_sig_all = 1;
  qp_ = ibv_create_qp(pd_, &init);
  if (qp_ == nullptr) return failed("ibv_create_qp");
  ibv_qp_attr attr{};
  attr.port_num = 1;
  attr.qp_access_flags = kAccess;
  if (verbs_test::bring_qp_to(qp_, IBV_QPS_INIT, attr) != 0) return failed("modify to init");
  if (ibv_query_gid(context_, 1, 0, &own_.gid) != 0) return failed("ibv_query_gid");
  own_.qpn = qp_->qp_num;
  own_.psn = static_cast<std::uint32_t>(mix(options_.seed ^ own_.qpn)) & 0xff'ffffU;
  own_.rkey = mr_->rkey;
  own_.address = reinterpret_cast<std::uint64_t>(memory_.data());
  return true;
}

bool Endpoint::meet() {
  const int fd = options_.channel;
  if (!send_all(fd, &own_, sizeof own_) || !receive_all(fd, &card_, sizeof card_)) return false;
  if (!connect(card_)) return false;
  // Wait until both sides are ready.
  char word = kReady;
  return send_all(fd, &word, 1) && receive_all(fd, &word, 1) && word == kReady;
}

bool Endpoint::connect(const Card& card) {
  ibv_qp_attr attr{};
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = card.qpn;
  attr.rq_psn = card.psn;
  attr.max_dest_rd_atomic = 8;
  attr.min_rnr_timer = 12;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.dgid = card.gid;
  attr.ah_attr.grh.hop_limit = 1;
  attr.sq_psn = own_.psn;
  attr.timeout = options_.timeout;
  attr.retry_cnt = options_.retry_count;
  attr.rnr_retry = 7;
  attr.max_rd_atomic = 8;
  if (verbs_test::bring_qp_to(qp_, IBV_QPS_RTS, attr) != 0) return failed("modify to rts");
  return true;
}

bool Endpoint::post_send(ibv_wr_opcode opcode, const Work& work) {
  ibv_sge sge{own_.address + work.at, work.length, mr_->lkey};
  ibv_send_wr wr{};
  wr.wr_id = work.id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = opcode;
  wr.wr.rdma.remote_addr = card_.address + work.remote_at;
  wr.wr.rdma.rkey = card_.rkey;
  ibv_send_wr* bad{};
  const std::uint64_t before = now_ms();
  if ((errno = ibv_post_send(qp_, &wr, &bad)) != 0) return failed("ibv_post_send");
  if (outstanding_++ == 0) waiting_since_ = before;
  return true;
}

bool Endpoint::post_receive(const Work& work) {
  ibv_sge sge{own_.address + work.at, work.length, mr_->lkey};
  ibv_recv_wr wr{.wr_id = work.id, .next = nullptr, .sg_list = &sge, .num_sge = 1};
  ibv_recv_wr* bad{};
  if ((errno = ibv_post_recv(qp_, &wr, &bad)) != 0) return failed("ibv_post_recv");
  return true;
}

std::optional<Completion> Endpoint::poll() {
  constexpr std::uint64_t kNsPerMs = 1'000'000;
  ibv_poll_cq_attr none{};
  if (ibv_start_poll(cq_, &none) != 0) return std::nullopt;
  const Completion completion{.id = cq_->wr_id,
                              .status = cq_->status,
                              .length = ibv_wc_read_byte_len(cq_),
                              .at_ms = ibv_wc_read_completion_ts(cq_) / kNsPerMs};
  ibv_end_poll(cq_);
  return completion;
}

std::optional<Completion> Endpoint::next() {
  auto completion = poll();
  if (!completion && options_.wait == Wait::kEvent) {
    (void)ibv_req_notify_cq(ibv_cq_ex_to_cq(cq_), 0);
    completion = poll();
    if (!completion) sleep();
  }
  // A completion with an error does not contain its opcode, so its id has to tell.
  if (completion && (completion->id & kReceiveBit) == 0) {
    --outstanding_;
    if (completion->status == IBV_WC_SUCCESS) waiting_since_ = completion->at_ms;
  }
  return completion;
}

void Endpoint::sleep() {
  constexpr int kLongest = 10;  // because there is more to check than completions
  pollfd ready{.fd = events_->fd, .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, kLongest) <= 0) return;
  ibv_cq* which{};
  void* cookie{};
  if (ibv_get_cq_event(events_, &which, &cookie) == 0) ibv_ack_cq_events(which, 1);
}

Endpoint::Other Endpoint::other() const {
  char word{};
  const ssize_t got = ::recv(options_.channel, &word, 1, MSG_DONTWAIT | MSG_PEEK);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Other::kThere;
  return got == 1 && word == kDone ? Other::kDone : Other::kGone;
}

void Endpoint::tell_done() const {
  const char word = kDone;
  (void)send_all(options_.channel, &word, 1);
}

int Endpoint::destroy() {
  int bad = ibv_destroy_qp(qp_) | ibv_destroy_cq(ibv_cq_ex_to_cq(cq_)) | ibv_dereg_mr(mr_) |
            ibv_dealloc_pd(pd_);
  if (events_ != nullptr) bad |= ibv_destroy_comp_channel(events_);
  return bad | ibv_close_device(context_);
}

}  // namespace bad_days
