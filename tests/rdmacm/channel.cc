#include "tests/rdmacm/channel.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>

namespace rdmacm_test {
namespace {

rdma_ucm_conn_param parameters(std::uint32_t qpn, std::string_view said) {
  rdma_ucm_conn_param param{};
  param.qp_num = qpn;
  param.valid = 1;
  param.responder_resources = 3;
  param.initiator_depth = 4;
  param.retry_count = param.rnr_retry_count = 7;
  std::ranges::copy(said, param.private_data);
  param.private_data_len = static_cast<std::uint8_t>(said.size());
  return param;
}

}  // namespace

sockaddr_in6 address(const char* text, std::uint16_t port) {
  sockaddr_in6 name{};
  if (::inet_pton(AF_INET6, text, &name.sin6_addr) == 1) {
    name.sin6_family = AF_INET6;
    name.sin6_port = htons(port);
    return name;
  }
  sockaddr_in four{};
  EXPECT_EQ(::inet_pton(AF_INET, text, &four.sin_addr), 1);
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  std::memcpy(&name, &four, sizeof four);
  return name;
}

std::string_view said(const rdma_ucm_conn_param& param) {
  return reinterpret_cast<const char*>(param.private_data);  // followed by zeros
}

Channel::Channel() : fd_{nerve::rdmacm::open_device()} { EXPECT_GE(fd_, 0); }
Channel::~Channel() { nerve::rdmacm::close_device(fd_); }

std::uint32_t Channel::create(std::uint64_t uid, std::uint16_t space, std::uint8_t qp_type) {
  rdma_ucm_create_id_resp made{};
  const rdma_ucm_create_id body{
      .uid = uid, .response = 0, .ps = space, .qp_type = qp_type, .reserved = {}};
  EXPECT_EQ(call(RDMA_USER_CM_CMD_CREATE_ID, body, made), 0);
  return made.id;
}

int Channel::destroy(std::uint32_t id, std::uint32_t* events) {
  rdma_ucm_destroy_id_resp gone{};
  const int error = call(RDMA_USER_CM_CMD_DESTROY_ID,
                         rdma_ucm_destroy_id{.response = 0, .id = id, .reserved = 0}, gone);
  if (events != nullptr) *events = gone.events_reported;
  return error;
}

int Channel::bind(std::uint32_t id, const char* text, std::uint16_t port) {
  return call(RDMA_USER_CM_CMD_BIND_IP,
              rdma_ucm_bind_ip{.response = 0, .addr = address(text, port), .id = id});
}

int Channel::listen(std::uint32_t id, std::uint32_t backlog) {
  return call(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{.id = id, .backlog = backlog});
}

int Channel::resolve(std::uint32_t id, const char* text, std::uint16_t port) {
  rdma_ucm_resolve_ip body{};
  body.dst_addr = address(text, port);
  body.id = id;
  body.timeout_ms = 1000;
  return call(RDMA_USER_CM_CMD_RESOLVE_IP, body);
}

int Channel::resolve_route(std::uint32_t id) {
  return call(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{.id = id, .timeout_ms = 1000});
}

int Channel::connect(std::uint32_t id, std::uint32_t qpn, std::string_view words) {
  rdma_ucm_connect body{};
  body.conn_param = parameters(qpn, words);
  body.id = id;
  return call(RDMA_USER_CM_CMD_CONNECT, body);
}

int Channel::accept(std::uint32_t id, std::uint64_t uid, std::uint32_t qpn,
                    std::string_view words) {
  rdma_ucm_accept body{};
  body.uid = uid;
  body.conn_param = parameters(qpn, words);
  body.id = id;
  return call(RDMA_USER_CM_CMD_ACCEPT, body);
}

int Channel::confirm(std::uint32_t id) {
  rdma_ucm_accept body{};
  body.id = id;
  return call(RDMA_USER_CM_CMD_ACCEPT, body);
}

int Channel::reject(std::uint32_t id, std::string_view words) {
  rdma_ucm_reject body{};
  body.id = id;
  std::ranges::copy(words, body.private_data);
  body.private_data_len = static_cast<std::uint8_t>(words.size());
  return call(RDMA_USER_CM_CMD_REJECT, body);
}

int Channel::disconnect(std::uint32_t id) {
  return call(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{.id = id});
}

int Channel::query(std::uint32_t id, rdma_ucm_query_route_resp& route) {
  return call(RDMA_USER_CM_CMD_QUERY_ROUTE, rdma_ucm_query{.response = 0, .id = id, .option = 0},
              route);
}

int Channel::qp_attributes(std::uint32_t id, std::uint32_t state, ib_uverbs_qp_attr& attr) {
  return call(RDMA_USER_CM_CMD_INIT_QP_ATTR,
              rdma_ucm_init_qp_attr{.response = 0, .id = id, .qp_state = state}, attr);
}

std::uint16_t Channel::port_of(std::uint32_t id) {
  rdma_ucm_query_route_resp route{};
  EXPECT_EQ(query(id, route), 0);
  return ntohs(route.src_addr.sin6_port);
}

rdma_ucm_event_resp Channel::event() {
  rdma_ucm_event_resp event{};
  EXPECT_EQ(call(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, event), 0);
  return event;
}

rdma_ucm_event_resp Channel::expect(EventKind kind) {
  constexpr int kPatience = 20'000;
  if (!readable(kPatience)) {
    ADD_FAILURE() << "no event; expected " << static_cast<int>(kind);
    return {};
  }
  const rdma_ucm_event_resp next = event();
  EXPECT_EQ(next.event, static_cast<std::uint32_t>(kind)) << "status " << next.status;
  return next;
}

bool Channel::readable(int milliseconds) const {
  pollfd look{.fd = fd_, .events = POLLIN, .revents = 0};
  return ::poll(&look, 1, milliseconds) == 1;
}

}  // namespace rdmacm_test
