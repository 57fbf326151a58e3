#include "tests/interop/compare/endpoint.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tests/verbs_ladder.h"

namespace compare {
namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                        IBV_ACCESS_REMOTE_ATOMIC;
constexpr auto kPatience = std::chrono::seconds{40};  // an emulated peer is slow

ibv_mtu unit_of(int bytes) {
  int value = IBV_MTU_256;
  for (int size = 256; size < bytes && value < IBV_MTU_4096; size *= 2) ++value;
  return static_cast<ibv_mtu>(value);
}

}  // namespace

void fail(const std::string& what) {
  std::printf("compare: %s\n", what.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

Endpoint::Endpoint(const Options& options) : options_{options}, memory_(kMemory) {
  open_device();
  open_connection();
}

void Endpoint::open_device() {
  ibv_device** list = ibv_get_device_list(nullptr);
  for (ibv_device** device = list; device != nullptr && *device != nullptr; ++device) {
    if (options_.device == ibv_get_device_name(*device)) context_ = ibv_open_device(*device);
  }
  ibv_free_device_list(list);
  if (context_ == nullptr) fail("no device " + options_.device);
  pd_ = ibv_alloc_pd(context_);
  cq_ = ibv_create_cq(context_, 256, nullptr, nullptr, 0);
  mr_ = ibv_reg_mr(pd_, memory_.data(), memory_.size(), kAccess);
  if (pd_ == nullptr || cq_ == nullptr || mr_ == nullptr) fail("cannot make a PD, a CQ or an MR");
  if (ibv_query_gid(context_, 1, options_.gid_index, &own_.gid) != 0) fail("no such GID");
  own_.address = at(0);
  own_.rkey = mr_->rkey;
}

void Endpoint::open_connection() {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  const bool client = !options_.server.empty();
  if (!client) hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (::getaddrinfo(client ? options_.server.c_str() : nullptr, options_.port.c_str(), &hints,
                    &found) != 0) {
    fail("what is the address " + options_.server + "?");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> address{found, ::freeaddrinfo};
  const int fd = ::socket(found->ai_family, found->ai_socktype, found->ai_protocol);
  if (client) {
    if (::connect(fd, found->ai_addr, found->ai_addrlen) != 0) fail("cannot connect");
    connection_ = fd;
  } else {
    if (::bind(fd, found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd, 1) != 0) {
      fail("cannot listen");
    }
    connection_ = ::accept(fd, nullptr, nullptr);
    ::close(fd);
  }
}

void Endpoint::tell(const void* bytes, std::size_t length) const {
  if (::write(connection_, bytes, length) != static_cast<ssize_t>(length)) fail("the peer is gone");
}

void Endpoint::hear(void* bytes, std::size_t length) const {
  if (::recv(connection_, bytes, length, MSG_WAITALL) != static_cast<ssize_t>(length)) {
    fail("the peer is gone");
  }
}

bool Endpoint::meet(bool content) const {
  char word = content ? '.' : '!';
  tell(&word, 1);
  hear(&word, 1);
  return content && word == '.';
}

void Endpoint::connect() {
  make_qp();
  own_.qpn = qp_->qp_num;
  own_.psn = 0xfffff0;  // PSNs wrap within the first message
  tell(&own_, sizeof own_);
  hear(&peer_, sizeof peer_);

  ibv_qp_attr ready{};
  ready.path_mtu = unit_of(options_.mtu);
  ready.dest_qp_num = peer_.qpn;
  ready.rq_psn = peer_.psn;
  ready.max_dest_rd_atomic = 4;
  ready.min_rnr_timer = 12;
  ready.ah_attr.is_global = 1;
  ready.ah_attr.grh.dgid = peer_.gid;
  ready.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(options_.gid_index);
  ready.ah_attr.grh.hop_limit = 64;
  ready.ah_attr.port_num = 1;
  ready.timeout = 16;
  ready.retry_cnt = 6;  // Soft-RoCE interprets 7 as "forever"
  ready.rnr_retry = 7;
  ready.sq_psn = own_.psn;
  ready.max_rd_atomic = 4;
  if (verbs_test::bring_qp_to(qp_, IBV_QPS_RTS, ready) != 0) fail("cannot modify the QP");
  meet();
}

void Endpoint::make_qp() {
  if (qp_ != nullptr && ibv_destroy_qp(qp_) != 0) fail("cannot destroy a QP");
  ibv_qp_init_attr init{};
  init.qp_type = IBV_QPT_RC;
  init.send_cq = init.recv_cq = cq_;
  init.cap = {.max_send_wr = 64,
              .max_recv_wr = 64,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  qp_ = ibv_create_qp(pd_, &init);
  if (qp_ == nullptr) fail("cannot make a QP");
  ibv_qp_attr first{};
  first.port_num = 1;
  first.qp_access_flags = kAccess;
  if (verbs_test::bring_qp_to(qp_, IBV_QPS_INIT, first) != 0) fail("cannot modify the QP");
}

std::uint64_t Endpoint::at(std::size_t offset) const {
  return reinterpret_cast<std::uint64_t>(memory_.data()) + offset;
}

void Endpoint::post_receive(std::size_t offset, std::uint32_t length) {
  ibv_sge piece{at(offset), length, mr_->lkey};
  ibv_recv_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  if (ibv_post_recv(qp_, &request, &bad) != 0) fail("cannot post a receive");
}

void Endpoint::post(ibv_send_wr request, std::size_t offset, std::uint32_t length) {
  ibv_sge piece{at(offset), length, mr_->lkey};
  request.sg_list = &piece;
  request.num_sge = length == 0 ? 0 : 1;
  request.send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(qp_, &request, &bad) != 0) fail("cannot post a request");
}

ibv_wc Endpoint::completion() const {
  ibv_wc done{};
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  while (ibv_poll_cq(cq_, 1, &done) == 0) {
    if (std::chrono::steady_clock::now() > limit) fail("waited in vain for a completion");
  }
  return done;
}

ibv_wc Endpoint::expect(ibv_wc_opcode opcode) const {
  const ibv_wc done = completion();
  if (done.status != IBV_WC_SUCCESS) {
    fail(std::string{"a request failed: "} + ibv_wc_status_str(done.status));
  }
  if (done.opcode != opcode) {
    fail("a completion of kind " + std::to_string(done.opcode) + ", not " + std::to_string(opcode));
  }
  return done;
}

}  // namespace compare
