// An event channel of rdma_cm, its events, and the first steps of an identifier: to a listener or
// to a resolved route. Uses librdmacm only, so that it also runs on other RDMA devices.
//
// A call that fails ends the process with a line that names it: this is for test programs.
#pragma once

#include <poll.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

namespace cm_test {

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, std::strerror(errno));
  ::_exit(1);
}
inline void must(bool holds, const char* what) {
  if (!holds) fail(what);
}

// A copy of an event, which itself is acknowledged.
struct Event {
  rdma_cm_id* id{};
  rdma_cm_event_type kind{};
  int status{};
  decltype(rdma_cm_event::param) param{};
  std::vector<std::uint8_t> said;  // the private data
};

class Channel {
 public:
  Channel() { must(channel_ != nullptr, "rdma_create_event_channel"); }
  [[nodiscard]] rdma_event_channel* get() const { return channel_.get(); }

  // Nothing when no event comes in time.
  [[nodiscard]] std::optional<Event> next() const { return next(patience); }
  [[nodiscard]] std::optional<Event> next(std::chrono::milliseconds limit) const {
    pollfd ready{.fd = channel_->fd, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, static_cast<int>(limit.count())) != 1) return std::nullopt;
    rdma_cm_event* came = nullptr;
    must(rdma_get_cm_event(get(), &came) == 0, "rdma_get_cm_event");
    Event event{came->id, came->event, came->status, came->param, {}};
    // The parameters of a datagram begin with the private data too.
    const auto* const data = static_cast<const std::uint8_t*>(event.param.conn.private_data);
    if (data != nullptr) event.said.assign(data, data + event.param.conn.private_data_len);
    must(rdma_ack_cm_event(came) == 0, "rdma_ack_cm_event");
    if (observer != nullptr) observer(event);
    return event;
  }
  // The next event, which must be of this kind and, if one is given, have this status.
  Event expect(rdma_cm_event_type kind, std::optional<int> status = {}) const {
    const std::optional<Event> event = next();
    const int came = event ? event->status : 0;
    if (event && event->kind == kind && came == status.value_or(came)) return *event;
    std::fprintf(stderr, "%s: %s (status %d) instead of %s\n", program_invocation_short_name,
                 event ? rdma_event_str(event->kind) : "nothing", came, rdma_event_str(kind));
    ::_exit(1);
  }

  [[nodiscard]] rdma_cm_id* make(rdma_port_space space = RDMA_PS_TCP) const {
    rdma_cm_id* id = nullptr;
    must(rdma_create_id(get(), &id, nullptr, space) == 0, "rdma_create_id");
    return id;
  }
  [[nodiscard]] rdma_cm_id* listen_at(sockaddr* at, rdma_port_space space, int backlog) const {
    rdma_cm_id* const id = make(space);
    must(rdma_bind_addr(id, at) == 0, "rdma_bind_addr");
    must(rdma_listen(id, backlog) == 0, "rdma_listen");
    return id;
  }
  [[nodiscard]] rdma_cm_id* resolve_address(sockaddr* to, rdma_port_space space) const {
    rdma_cm_id* const id = make(space);
    must(rdma_resolve_addr(id, nullptr, to, 5000) == 0, "rdma_resolve_addr");
    expect(RDMA_CM_EVENT_ADDR_RESOLVED, 0);
    return id;
  }
  void resolve_route(rdma_cm_id* id) const {
    must(rdma_resolve_route(id, 5000) == 0, "rdma_resolve_route");
    expect(RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
  }

  std::chrono::milliseconds patience{30'000};  // waiting for an event; negative: no limit
  void (*observer)(const Event&){};            // gets every event

 private:
  std::unique_ptr<rdma_event_channel, void (*)(rdma_event_channel*)> channel_{
      rdma_create_event_channel(), rdma_destroy_event_channel};
};

}  // namespace cm_test
