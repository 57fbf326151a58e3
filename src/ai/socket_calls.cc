#include "ai/socket_calls.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <string>

namespace nerve::ai {
namespace {

// No delay, and an end of connections whose host does not answer.
void tune_tcp(int fd) {
  const int on = 1;
  const int idle_s = 5;
  const int unanswered_ms = 15000;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle_s, sizeof idle_s);
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof unanswered_ms);
}

int accept_tcp(int listener) { return ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC); }

int (*rdma_accept)(int listener, sockaddr* name, socklen_t* length);
int accept_rdma(int listener) { return rdma_accept(listener, nullptr, nullptr); }

template <class Function>
bool find_call(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
  return into != nullptr;
}

bool load(void* library, SocketCalls& into) {
  return find_call(library, "raccept", rdma_accept) && find_call(library, "rsocket", into.socket) &&
         find_call(library, "rbind", into.bind) && find_call(library, "rlisten", into.listen) &&
         find_call(library, "rconnect", into.connect) && find_call(library, "rsend", into.send) &&
         find_call(library, "rrecv", into.recv) && find_call(library, "rpoll", into.poll) &&
         find_call(library, "rgetsockname", into.getsockname) &&
         find_call(library, "rgetsockopt", into.getsockopt) &&
         find_call(library, "rsetsockopt", into.setsockopt) &&
         find_call(library, "rfcntl", into.fcntl) && find_call(library, "rclose", into.close);
}

}  // namespace

const SocketCalls& tcp_sockets() {
  static constexpr SocketCalls calls{.name = "tcp",
                                     .type = SOCK_STREAM | SOCK_CLOEXEC,
                                     .accept = accept_tcp,
                                     .tune = tune_tcp,
                                     .socket = ::socket,
                                     .bind = ::bind,
                                     .listen = ::listen,
                                     .connect = ::connect,
                                     .send = ::send,
                                     .recv = ::recv,
                                     .poll = ::poll,
                                     .getsockname = ::getsockname,
                                     .getsockopt = ::getsockopt,
                                     .setsockopt = ::setsockopt,
                                     .fcntl = ::fcntl,
                                     .close = ::close};
  return calls;
}

Result<const SocketCalls*, Error> rdma_sockets() {
  static SocketCalls calls{
      .name = "rdma", .type = SOCK_STREAM, .accept = accept_rdma, .tune = [](int /*fd*/) {}};
  // Never closed: its threads run on.
  static void* const library = ::dlopen("librdmacm.so.1", RTLD_NOW);
  static const bool complete = library != nullptr && load(library, calls);
  if (complete) return &calls;
  return failure(Error::Kind::kSystem,
                 "rdma:// needs rsockets of librdmacm.so.1, which cannot be loaded; install "
                 "librdmacm1, or join at tcp://");
}

}  // namespace nerve::ai
