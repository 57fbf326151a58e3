// Channels in programs that fork, exec, and have several threads.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <thread>

#include "tests/bad_days/connections/cm.h"

namespace bad_days {
namespace {

// From REQ to DREP between two channels of this process.
void converse(const Channel& server, const Channel& client, std::uint16_t port) {
  rdma_cm_id* const active = client.resolve(port);
  rdma_conn_param param = parameters(fresh_qpn());
  must(rdma_connect(active, &param) == 0, "rdma_connect");
  const Event request = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  param = parameters(fresh_qpn());
  must(rdma_accept(request.id, &param) == 0, "rdma_accept");
  client.expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
  must(rdma_establish(active) == 0, "rdma_establish");
  server.expect(RDMA_CM_EVENT_ESTABLISHED);
  must(rdma_disconnect(active) == 0, "rdma_disconnect");
  server.expect(RDMA_CM_EVENT_DISCONNECTED);
  must(rdma_disconnect(request.id) == 0, "rdma_disconnect");
  client.expect(RDMA_CM_EVENT_DISCONNECTED);
  must(rdma_destroy_id(request.id) == 0, "rdma_destroy_id");
  must(rdma_destroy_id(active) == 0, "rdma_destroy_id");
}

template <class Life>
void in_child(Life life) {
  const pid_t child = ::fork();
  if (child == 0) {
    life();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  must(status == 0, "the child");
}

}  // namespace

void forks() {
  const Channel server, client;
  const std::uint16_t port = port_of(server.listen());
  const int fd = server.get()->fd;
  converse(server, client, port);
  in_child([] {});
  converse(server, client, port);
  in_child([&] {
    rdma_destroy_event_channel(server.get());  // closes only the descriptor
    must(::fcntl(fd, F_GETFD) == -1 && errno == EBADF, "the child's descriptor");
  });
  converse(server, client, port);
  in_child([&] {
    // It has its own channel, and the port of its parent is taken.
    const Channel own;
    sockaddr_in taken = loopback(port);
    must(rdma_bind_addr(own.make(), reinterpret_cast<sockaddr*>(&taken)) == -1 &&
             errno == EADDRINUSE,
         "the parent's port");
    const Channel other;
    converse(own, other, port_of(own.listen()));
  });
  converse(server, client, port);
  in_child([&] {
    const std::string open = "test ! -e /proc/self/fd/" + std::to_string(fd);
    ::execl("/bin/sh", "sh", "-c", open.c_str(), nullptr);
    ::_exit(1);
  });
  converse(server, client, port);
  std::puts("exit, close, another channel, exec: the parent goes on");
}

namespace {

// Handles events until it is asked to stop. Returns how many connections have ended.
int serve_until_told(const Channel& channel) {
  for (int ended = 0;;) {
    rdma_cm_event* event = nullptr;
    must(rdma_get_cm_event(channel.get(), &event) == 0, "rdma_get_cm_event");
    rdma_cm_id* const id = event->id;
    const rdma_cm_event_type kind = event->event;
    const bool stop = kind == RDMA_CM_EVENT_CONNECT_REQUEST &&
                      *static_cast<const char*>(event->param.conn.private_data) == 's';
    must(rdma_ack_cm_event(event) == 0, "rdma_ack_cm_event");
    if (stop) {
      must(rdma_destroy_id(id) == 0, "rdma_destroy_id");
      return ended;
    }
    if (kind == RDMA_CM_EVENT_CONNECT_REQUEST) {
      rdma_conn_param param = parameters(fresh_qpn());
      must(rdma_accept(id, &param) == 0, "rdma_accept");
    } else if (kind == RDMA_CM_EVENT_DISCONNECTED) {
      must(rdma_destroy_id(id) == 0, "rdma_destroy_id");
      ++ended;
    }
  }
}

}  // namespace

// Two threads wait in rdma_get_cm_event on one channel, a third uses epoll on a non-blocking one.
void threads() {
  constexpr int kConnections = 300;
  const Channel server, client;
  rdma_cm_id* const listener = server.listen();
  std::array<int, 2> ended{};
  std::array<std::thread, 2> servers;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    servers[i] = std::thread{[&, i] { ended[i] = serve_until_told(server); }};
  }
  must(::fcntl(client.get()->fd, F_SETFL, O_NONBLOCK) == 0, "O_NONBLOCK");
  rdma_cm_event* none = nullptr;
  must(rdma_get_cm_event(client.get(), &none) == -1 && errno == EAGAIN, "EAGAIN");
  const int watch = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event wish{.events = EPOLLIN, .data = {}};
  must(::epoll_ctl(watch, EPOLL_CTL_ADD, client.get()->fd, &wish) == 0, "epoll_ctl");
  for (int i = 0; i < kConnections + 2; ++i) {
    rdma_cm_id* const id = client.resolve(port_of(listener));
    rdma_conn_param param = parameters(fresh_qpn(), i < kConnections ? "go on" : "stop");
    must(rdma_connect(id, &param) == 0, "rdma_connect");
    epoll_event came{};
    must(::epoll_wait(watch, &came, 1, 20'000) == 1, "epoll_wait");
    client.expect(i < kConnections ? RDMA_CM_EVENT_CONNECT_RESPONSE : RDMA_CM_EVENT_REJECTED);
    if (i < kConnections) {
      must(rdma_establish(id) == 0, "rdma_establish");
      must(rdma_disconnect(id) == 0, "rdma_disconnect");
      // The server only destroys its identifier, which disconnects as well.
      client.expect(RDMA_CM_EVENT_DISCONNECTED);
    }
    must(rdma_destroy_id(id) == 0, "rdma_destroy_id");
  }
  for (std::thread& one : servers) one.join();
  ::close(watch);
  must(ended[0] + ended[1] == kConnections, "each connection ends once");
  std::printf("%d connections by two threads\n", kConnections);
}

}  // namespace bad_days
