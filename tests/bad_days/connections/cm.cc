#include "tests/bad_days/connections/cm.h"

#include <arpa/inet.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace bad_days {

void fail(const char* what) {
  std::fprintf(stderr, "cm_peer: %s: %s\n", what, std::strerror(errno));
  ::_exit(1);
}

void must(bool fine, const char* what) {
  if (!fine) fail(what);
}

Channel::Channel() : channel_{rdma_create_event_channel()} {
  must(channel_ != nullptr, "rdma_create_event_channel");
}

Channel::~Channel() { rdma_destroy_event_channel(channel_); }

std::optional<Event> Channel::next(std::chrono::milliseconds patience) const {
  pollfd ready{.fd = channel_->fd, .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, static_cast<int>(patience.count())) != 1) return std::nullopt;
  rdma_cm_event* came = nullptr;
  must(rdma_get_cm_event(channel_, &came) == 0, "rdma_get_cm_event");
  Event event{.kind = came->event, .status = came->status, .id = came->id, .said = {}};
  if (came->param.conn.private_data != nullptr && came->param.conn.private_data_len > 0) {
    const auto* const words = static_cast<const char*>(came->param.conn.private_data);
    event.said.assign(words, ::strnlen(words, came->param.conn.private_data_len));
  }
  must(rdma_ack_cm_event(came) == 0, "rdma_ack_cm_event");
  return event;
}

Event Channel::expect(rdma_cm_event_type kind) const {
  const auto event = next();
  if (event && event->kind == kind) return *event;
  std::fprintf(stderr, "cm_peer: %s (status %d) instead of %s\n",
               event ? rdma_event_str(event->kind) : "nothing", event ? event->status : 0,
               rdma_event_str(kind));
  ::_exit(1);
}

rdma_cm_id* Channel::make(rdma_port_space space) const {
  rdma_cm_id* id = nullptr;
  must(rdma_create_id(channel_, &id, nullptr, space) == 0, "rdma_create_id");
  return id;
}

rdma_cm_id* Channel::listen(int backlog, std::uint16_t port) const {
  rdma_cm_id* const id = make();
  sockaddr_in at = loopback(port);
  must(rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&at)) == 0, "rdma_bind_addr");
  must(rdma_listen(id, backlog) == 0, "rdma_listen");
  return id;
}

rdma_cm_id* Channel::resolve(std::uint16_t port) const {
  rdma_cm_id* const id = make();
  sockaddr_in to = loopback(port);
  must(rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&to), 2000) == 0,
       "rdma_resolve_addr");
  expect(RDMA_CM_EVENT_ADDR_RESOLVED);
  must(rdma_resolve_route(id, 2000) == 0, "rdma_resolve_route");
  expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
  return id;
}

sockaddr_in loopback(std::uint16_t port) {
  return {.sin_family = AF_INET,
          .sin_port = htons(port),
          .sin_addr = {htonl(INADDR_LOOPBACK)},
          .sin_zero = {}};
}

std::uint16_t port_of(rdma_cm_id* id) { return ntohs(rdma_get_src_port(id)); }

rdma_conn_param parameters(std::uint32_t qpn, const std::string& said) {
  rdma_conn_param param{};
  param.private_data = said.c_str();
  param.private_data_len = static_cast<std::uint8_t>(said.empty() ? 0 : said.size() + 1);
  param.responder_resources = param.initiator_depth = 1;
  param.retry_count = param.rnr_retry_count = 7;
  param.qp_num = qpn;
  return param;
}

std::uint32_t fresh_qpn() {
  // QPNs 0 and 1 are nobody's to connect, whatever the last bits of the process id.
  static std::atomic<std::uint32_t> count{1};
  return (static_cast<std::uint32_t>(::getpid()) << 17U | (++count & 0x1'ffffU)) & 0xff'ffffU;
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::size_t resident_kilobytes() {
  std::size_t size = 0;
  std::size_t resident = 0;
  std::ifstream{"/proc/self/statm"} >> size >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 1024;
}

}  // namespace bad_days
