// Many connections: ten thousand created and ended with a QP each, and ten thousand requested at
// once. Afterwards the process uses as much as before.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <set>

#include "tests/bad_days/connections/cm.h"

namespace bad_days {
namespace {

constexpr int kAtOnce = 64;

// Creates a QP on the identifier's device; all of them share a CQ.
void give_qp(rdma_cm_id* id, ibv_cq*& cq) {
  if (cq == nullptr) cq = ibv_create_cq(id->verbs, 256, nullptr, nullptr, 0);
  must(cq != nullptr, "ibv_create_cq");
  ibv_qp_init_attr wish{};
  wish.send_cq = wish.recv_cq = cq;
  wish.cap.max_send_wr = wish.cap.max_recv_wr = 2;
  wish.cap.max_send_sge = wish.cap.max_recv_sge = 1;
  wish.qp_type = IBV_QPT_RC;
  must(rdma_create_qp(id, nullptr, &wish) == 0, "rdma_create_qp");
}

void end(rdma_cm_id* id) {
  if (id->qp != nullptr) rdma_destroy_qp(id);
  must(rdma_destroy_id(id) == 0, "rdma_destroy_id");
}

// The resources of a process, to be compared with those after as many earlier connections: ended
// connections are kept for a while, and their memory is reused.
struct Belongings {
  std::size_t descriptors{open_descriptors()};
  std::size_t kilobytes{resident_kilobytes()};

  [[nodiscard]] std::size_t more_kilobytes() const {
    return std::max(resident_kilobytes(), kilobytes) - kilobytes;
  }
  void compare() const {
    constexpr std::size_t kSlack = 4096;
    // Fewer, if the other process has exited and its ring is gone.
    if (open_descriptors() > descriptors) fail("descriptors leak");
    if (more_kilobytes() > kSlack) fail("memory leaks");
  }
};

Belongings after_timewait() {
  ::usleep(1'500'000);
  return {};
}

// Until this many connections have been made and ended.
void answer_all(const Channel& channel, int times, int warm_after) {
  ibv_cq* cq = nullptr;
  std::optional<Belongings> before;
  for (int gone = 0; gone < times;) {
    const auto event = channel.next();
    must(event.has_value(), "the server waits in vain");
    if (event->kind == RDMA_CM_EVENT_CONNECT_REQUEST) {
      give_qp(event->id, cq);
      rdma_conn_param param = parameters(0);
      must(rdma_accept(event->id, &param) == 0, "rdma_accept");
    } else if (event->kind == RDMA_CM_EVENT_DISCONNECTED) {
      must(rdma_disconnect(event->id) == 0, "rdma_disconnect");
      end(event->id);
      if (++gone == warm_after) before.emplace(after_timewait());
    } else if (event->kind != RDMA_CM_EVENT_ESTABLISHED) {
      std::fprintf(stderr, "%s, status %d\n", rdma_event_str(event->kind), event->status);
      fail("the server");
    }
  }
  before->compare();
}

void begin(const Channel& channel, std::uint16_t port) {
  rdma_cm_id* const id = channel.make();
  sockaddr_in to = loopback(port);
  must(rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&to), 2000) == 0,
       "rdma_resolve_addr");
}

std::size_t ask_all(std::uint16_t port, int times, int warm_after) {
  const Channel channel;
  ibv_cq* cq = nullptr;
  std::optional<Belongings> before;
  int begun = 0;
  for (; begun < std::min(kAtOnce, times); ++begun) begin(channel, port);
  for (int gone = 0; gone < times;) {
    const auto event = channel.next();
    must(event.has_value(), "the client waits in vain");
    rdma_conn_param param = parameters(0);
    switch (event->kind) {
      case RDMA_CM_EVENT_ADDR_RESOLVED:
        must(rdma_resolve_route(event->id, 2000) == 0, "rdma_resolve_route");
        break;
      case RDMA_CM_EVENT_ROUTE_RESOLVED:
        give_qp(event->id, cq);
        must(rdma_connect(event->id, &param) == 0, "rdma_connect");
        break;
      case RDMA_CM_EVENT_ESTABLISHED:
        must(rdma_disconnect(event->id) == 0, "rdma_disconnect");
        break;
      case RDMA_CM_EVENT_DISCONNECTED:
        end(event->id);
        if (++gone == warm_after) before.emplace(after_timewait());
        if (begun < times) {
          ++begun;
          begin(channel, port);
        }
        break;
      case RDMA_CM_EVENT_TIMEWAIT_EXIT:
        break;
      default:
        std::fprintf(stderr, "%s, status %d\n", rdma_event_str(event->kind), event->status);
        fail("the client");
    }
  }
  before->compare();
  return before->more_kilobytes();
}

}  // namespace

void churn(int times) {
  std::array<int, 2> told{};
  must(::pipe(told.data()) == 0, "pipe");
  const pid_t server = ::fork();
  if (server == 0) {
    const Channel channel;
    const std::uint16_t port = port_of(channel.listen());
    must(::write(told[1], &port, sizeof port) == sizeof port, "write");
    answer_all(channel, 2 * times, times);
    ::_exit(0);
  }
  std::uint16_t port = 0;
  must(::read(told[0], &port, sizeof port) == sizeof port, "read");
  const auto began = std::chrono::steady_clock::now();
  const std::size_t more = ask_all(port, 2 * times, times);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  int status = -1;
  ::waitpid(server, &status, 0);
  must(status == 0, "the server");
  std::printf("twice %d and a pause in %.1f s; no descriptor more, %zu kB\n", times, took.count(),
              more);
}

// All send requests before the first is answered. Requests beyond the backlog are dropped, and
// retransmitted.
void flood(int requests) {
  const Channel server, client;
  rdma_cm_id* const listener = server.listen(1024);
  std::set<rdma_cm_id*> asking;
  for (int i = 0; i < requests; ++i) {
    rdma_cm_id* const id = client.resolve(port_of(listener));
    rdma_conn_param param = parameters(fresh_qpn());
    must(rdma_connect(id, &param) == 0, "rdma_connect");
    asking.insert(id);
  }
  const auto began = std::chrono::steady_clock::now();
  int accepted = 0;
  while (!asking.empty()) {
    while (const auto request = server.next(std::chrono::milliseconds{0})) {
      if (request->kind != RDMA_CM_EVENT_CONNECT_REQUEST) continue;
      // Every other one is rejected.
      rdma_conn_param param = parameters(fresh_qpn());
      if (++accepted % 2 == 0) {
        must(rdma_accept(request->id, &param) == 0, "rdma_accept");
      } else {
        must(rdma_reject(request->id, nullptr, 0) == 0, "rdma_reject");
        must(rdma_destroy_id(request->id) == 0, "rdma_destroy_id");
      }
    }
    while (const auto answer = client.next(std::chrono::milliseconds{1})) {
      if (answer->kind == RDMA_CM_EVENT_CONNECT_RESPONSE) {
        must(rdma_establish(answer->id) == 0, "rdma_establish");
      } else {
        must(answer->kind == RDMA_CM_EVENT_REJECTED && answer->status == 28, "an answer");
      }
      asking.erase(answer->id);
      must(rdma_destroy_id(answer->id) == 0, "rdma_destroy_id");
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf("%d asked, all answered after %.1f s\n", requests, took.count());
}

}  // namespace bad_days
