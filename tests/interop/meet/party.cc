#include "tests/interop/meet/party.h"

#include <rdma/rdma_verbs.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace meet {
namespace {

constexpr int kPatience = 5000;  // for an address or a route
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

void fail(const std::string& what) {
  std::fprintf(stderr, "meet: %s (%s)\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

void must(bool holds, const std::string& what) {
  if (!holds) fail(what);
}

Words words(std::uint8_t first, std::size_t size) {
  Words all(size);
  for (std::size_t i = 0; i < size; ++i) all[i] = static_cast<std::uint8_t>(first + 7 * i);
  return all;
}

Party::Party() : channel_{rdma_create_event_channel()} {
  must(channel_ != nullptr, "no event channel");
}

Party::~Party() {
  for (rdma_cm_id* const id : listeners_) rdma_destroy_id(id);
  rdma_destroy_event_channel(channel_);
}

rdma_cm_id* Party::towards(const sockaddr_storage& server, rdma_port_space space,
                           std::uint8_t ack_timeout) {
  rdma_cm_id* id = nullptr;
  must(rdma_create_id(channel_, &id, nullptr, space) == 0, "rdma_create_id");
  must(rdma_resolve_addr(id, nullptr, plain(server), kPatience) == 0, "rdma_resolve_addr");
  expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  if (ack_timeout != 0) {  // before the route: Linux writes it there
    must(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &ack_timeout,
                         sizeof ack_timeout) == 0,
         "rdma_set_option");
  }
  must(rdma_resolve_route(id, kPatience) == 0, "rdma_resolve_route");
  expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
  return id;
}

void Party::listen(const sockaddr_storage& at, rdma_port_space space) {
  rdma_cm_id* id = nullptr;
  must(rdma_create_id(channel_, &id, nullptr, space) == 0, "rdma_create_id");
  must(rdma_bind_addr(id, plain(at)) == 0, "rdma_bind_addr");
  must(rdma_listen(id, 8) == 0, "rdma_listen");
  listeners_.push_back(id);
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

Happened Party::expect(rdma_cm_event_type kind, int status) {
  rdma_cm_event* event = nullptr;
  must(rdma_get_cm_event(channel_, &event) == 0, "rdma_get_cm_event");
  Happened happened{event->id, event->event, event->status, {}, {}, {}};
  const bool datagram = event->id->ps == RDMA_PS_UDP;
  if (datagram) {
    happened.ud = event->param.ud;
  } else {
    happened.conn = event->param.conn;
  }
  const auto* const said = static_cast<const std::uint8_t*>(datagram ? happened.ud.private_data
                                                                     : happened.conn.private_data);
  const std::size_t length =
      datagram ? happened.ud.private_data_len : happened.conn.private_data_len;
  if (said != nullptr) happened.said.assign(said, said + length);
  std::printf("%s, status %d, %zu bytes\n", rdma_event_str(happened.kind), happened.status,
              happened.said.size());
  must(happened.kind == kind && happened.status == status,
       std::string{"expected "} + rdma_event_str(kind) + ", status " + std::to_string(status));
  rdma_ack_cm_event(event);
  return happened;
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
