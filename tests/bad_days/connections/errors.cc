// Errors before there is a connection: each call returns its errno, each event has its kind.
#include <netdb.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tests/bad_days/connections/cm.h"

namespace bad_days {
namespace {

void refused(int result, int with, const char* what) {
  if (result == -1 && errno == with) return;
  std::fprintf(stderr, "result %d instead of errno %d; ", result, with);
  fail(what);
}

sockaddr* any(auto& address) { return reinterpret_cast<sockaddr*>(&address); }

// A port can be bound only once, until it is released.
void ports_in_use(const Channel& channel) {
  rdma_cm_id* const first = channel.listen();
  rdma_cm_id* const second = channel.make();
  sockaddr_in taken = loopback(port_of(first));
  refused(rdma_bind_addr(second, any(taken)), EADDRINUSE, "a port in use");
  taken.sin_addr.s_addr = INADDR_ANY;
  refused(rdma_bind_addr(second, any(taken)), EADDRINUSE, "a port in use at any address");
  must(rdma_destroy_id(first) == 0, "rdma_destroy_id");
  must(rdma_bind_addr(second, any(taken)) == 0, "a port that is free again");
  refused(rdma_bind_addr(second, any(taken)), EINVAL, "a second address");
  must(rdma_destroy_id(second) == 0, "rdma_destroy_id");
}

void families(const Channel& channel) {
  rdma_cm_id* const id = channel.make();
  sockaddr_un local{.sun_family = AF_UNIX, .sun_path = {}};
  refused(rdma_bind_addr(id, any(local)), EINVAL, "a family that is none of ours");
  sockaddr_in four = loopback(0);
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_addr = in6addr_loopback;
  six.sin6_port = htons(7);
  refused(rdma_resolve_addr(id, any(four), any(six), 1000), EINVAL, "from IPv4 to IPv6");
  refused(rdma_resolve_addr(id, nullptr, any(local), 1000), EINVAL, "to a family of none of ours");
  sockaddr_in elsewhere = four;
  elsewhere.sin_addr.s_addr = htonl(0xcb00'7107);  // 203.0.113.7
  refused(rdma_bind_addr(id, any(elsewhere)), EADDRNOTAVAIL, "an address of another machine");
  // There is only the loopback interface, so there is no route.
  refused(rdma_resolve_addr(id, nullptr, any(elsewhere), 1000), ENETUNREACH, "no route");
  must(rdma_destroy_id(id) == 0, "rdma_destroy_id");
}

void names() {
  rdma_addrinfo hints{};
  hints.ai_port_space = RDMA_PS_TCP;
  rdma_addrinfo* found = nullptr;
  const int result = rdma_getaddrinfo("no-such-host.invalid", "7471", &hints, &found);
  if (result == 0) fail("a name that does not resolve resolves");
  hints.ai_flags = RAI_NUMERICHOST;
  if (rdma_getaddrinfo("not a number", "7471", &hints, &found) == 0) fail("no number is one");
}

// The private data up to the first zero.
std::string words_of(const Event& event) {
  return {event.said.begin(), std::ranges::find(event.said, 0)};
}

void out_of_turn(const Channel& channel) {
  rdma_cm_id* const id = channel.make();
  // rdma_connect and others are left out: librdmacm 44 itself crashes on them.
  refused(rdma_disconnect(id), EINVAL, "rdma_disconnect of nothing");
  must(rdma_listen(id, 1) == 0, "rdma_listen without an address");
  refused(rdma_listen(id, 1), EINVAL, "rdma_listen twice");
  must(rdma_destroy_id(id) == 0, "rdma_destroy_id");
}

}  // namespace

void errors() {
  const Channel channel;
  ports_in_use(channel);
  families(channel);
  names();
  out_of_turn(channel);
  std::puts("each with its errno");
}

void rejections() {
  const Channel server, client;
  rdma_cm_id* const listener = server.listen();
  const std::uint16_t port = port_of(listener);
  rdma_conn_param param = parameters(fresh_qpn());

  rdma_cm_id* active = client.resolve(port);
  must(rdma_connect(active, &param) == 0, "rdma_connect");
  const Event request = server.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  constexpr char kWords[] = "not today";
  must(rdma_reject(request.id, kWords, sizeof kWords) == 0, "rdma_reject");
  Event rejected = client.expect(RDMA_CM_EVENT_REJECTED);
  must(rejected.status == 28, "the reason of a consumer");
  must(words_of(rejected) == kWords, "what the consumer said");
  must(rdma_destroy_id(request.id) == 0, "rdma_destroy_id");
  must(rdma_destroy_id(active) == 0, "rdma_destroy_id");

  // The listener is destroyed with an unseen request, and is not there for the next one.
  active = client.resolve(port);
  param = parameters(fresh_qpn());
  must(rdma_connect(active, &param) == 0, "rdma_connect");
  must(rdma_destroy_id(listener) == 0, "rdma_destroy_id");
  rejected = client.expect(RDMA_CM_EVENT_REJECTED);
  must(rejected.status == 28 || rejected.status == 8, "a listener that goes");
  must(rdma_destroy_id(active) == 0, "rdma_destroy_id");
  active = client.resolve(port);
  param = parameters(fresh_qpn());
  must(rdma_connect(active, &param) == 0, "rdma_connect");
  must(client.expect(RDMA_CM_EVENT_REJECTED).status == 8, "nobody listens");
  must(rdma_destroy_id(active) == 0, "rdma_destroy_id");
  std::puts("28 with the words of who rejects, 8 where nobody listens");
}

}  // namespace bad_days
