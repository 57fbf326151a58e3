#include "tests/interop/meet/party.h"

#include <rdma/rdma_verbs.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace meet {
namespace {

constexpr std::uint8_t kMessage = 0x5a;

sockaddr* plain(const sockaddr_storage& address) {
  return reinterpret_cast<sockaddr*>(const_cast<sockaddr_storage*>(&address));
}

rdma_conn_param parameters(const Words& said) {
  rdma_conn_param param{};
  param.private_data = said.data();
  param.private_data_len = static_cast<std::uint8_t>(said.size());
  param.responder_resources = 3;
  param.initiator_depth = 2;
  param.retry_count = 7;
  param.rnr_retry_count = 6;
  return param;
}

}  // namespace

Words words(std::uint8_t first, std::size_t size) {
  Words all(size);
  for (std::size_t i = 0; i < size; ++i) all[i] = static_cast<std::uint8_t>(first + 7 * i);
  return all;
}

Party::Party() {
  channel_.patience = std::chrono::milliseconds{-1};
  channel_.observer = [](const Event& event) {
    std::printf("%s, status %d, %zu bytes\n", rdma_event_str(event.kind), event.status,
                event.said.size());
  };
}

Party::~Party() {
  for (rdma_cm_id* const id : listeners_) rdma_destroy_id(id);
}

rdma_cm_id* Party::towards(const sockaddr_storage& server, rdma_port_space space,
                           std::uint8_t ack_timeout) {
  rdma_cm_id* const id = channel_.resolve_address(plain(server), space);
  if (ack_timeout != 0) {  // before the route, because Linux uses it there
    must(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &ack_timeout,
                         sizeof ack_timeout) == 0,
         "rdma_set_option");
  }
  channel_.resolve_route(id);
  return id;
}

void Party::listen(const sockaddr_storage& at, rdma_port_space space) {
  listeners_.push_back(channel_.listen_at(plain(at), space, 8));
}

void Party::make_qp(rdma_cm_id* id, ibv_qp_type type) {
  ibv_qp_init_attr attributes{};
  attributes.cap = {.max_send_wr = 4,
                    .max_recv_wr = 4,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
  attributes.qp_type = type;
  attributes.sq_sig_all = 1;
  must(rdma_create_qp(id, nullptr, &attributes) == 0, "rdma_create_qp");
  sends_ = rdma_reg_msgs(id, sent_.data(), sent_.size());
  receives_ = rdma_reg_msgs(id, received_.data(), received_.size());
  must(sends_ != nullptr && receives_ != nullptr, "rdma_reg_msgs");
  must(rdma_post_recv(id, nullptr, received_.data(), received_.size(), receives_) == 0,
       "rdma_post_recv");
}

void Party::connect(rdma_cm_id* id, const Words& said) {
  rdma_conn_param param = parameters(said);
  must(rdma_connect(id, &param) == 0, "rdma_connect");
}

void Party::accept(rdma_cm_id* id, const Words& said) {
  rdma_conn_param param = parameters(said);
  std::swap(param.responder_resources, param.initiator_depth);
  must(rdma_accept(id, &param) == 0, "rdma_accept");
}

void Party::converse(rdma_cm_id* id, bool first) {
  const auto speak = [&] {
    sent_.fill(kMessage);
    ibv_wc done{};
    must(rdma_post_send(id, nullptr, sent_.data(), sent_.size(), sends_, 0) == 0, "rdma_post_send");
    must(rdma_get_send_comp(id, &done) == 1 && done.status == IBV_WC_SUCCESS, "the message went");
  };
  if (first) speak();
  ibv_wc came{};
  must(rdma_get_recv_comp(id, &came) == 1 && came.status == IBV_WC_SUCCESS, "a message came");
  must(came.byte_len == received_.size() && received_.back() == kMessage, "the message is right");
  if (!first) speak();
}

void Party::forget(rdma_cm_id* id) {
  if (id->qp != nullptr) {
    rdma_dereg_mr(sends_);
    rdma_dereg_mr(receives_);
    rdma_destroy_qp(id);
  }
  must(rdma_destroy_id(id) == 0, "rdma_destroy_id");
}

}  // namespace meet
