// One end that goes to the given stage, reports that, and then waits: for its own death, or for
// events caused by the other's death.
//
//   asked         REQ sent, and not answered
//   answered      REP sent, and not confirmed
//   connected
//   disconnecting one end has sent DREQ, the other has not answered
//
// `then` is hear (print events), or wait (for the end).
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "tests/bad_days/connections/cm.h"

namespace bad_days {
namespace {

void say(const char* word) {
  std::puts(word);
  (void)std::fflush(stdout);
}

// SIGUSR1 means that the other end is dead.
void await_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  int number = 0;
  (void)::sigwait(&set, &number);
}

[[noreturn]] void tell_what_comes(const Channel& channel, rdma_cm_id* id) {
  auto event = channel.next();
  must(event.has_value(), "no event");
  std::printf("event %s %d\n", rdma_event_str(event->kind), event->status);
  (void)std::fflush(stdout);
  // An ended connection can be destroyed and its channel closed, whatever its state.
  must(rdma_disconnect(id) == 0 || errno == EINVAL, "rdma_disconnect");
  must(rdma_destroy_id(id) == 0, "rdma_destroy_id");
  ::_exit(0);
}

}  // namespace

void serve(const std::string& stage, const std::string& then) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  (void)::sigprocmask(SIG_BLOCK, &set, nullptr);
  const Channel channel;
  rdma_cm_id* const listener = channel.listen();
  std::printf("port %u\n", port_of(listener));
  (void)std::fflush(stdout);
  const Event request = channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  rdma_conn_param param = parameters(fresh_qpn());
  if (stage != "asked") must(rdma_accept(request.id, &param) == 0, "rdma_accept");
  if (stage == "connected" || stage == "disconnecting") channel.expect(RDMA_CM_EVENT_ESTABLISHED);
  if (stage == "disconnecting" && then == "hear") {
    must(rdma_disconnect(request.id) == 0, "rdma_disconnect");
  }
  say("ready");
  if (then == "wait") {
    for (;;) ::pause();
  }
  if (stage == "asked") {
    // No event reports a client that dies before it is answered, as on Linux: only the answer finds
    // out.
    await_signal();
    if (rdma_accept(request.id, &param) != 0) {
      std::printf("errno %d\n", errno);
      (void)std::fflush(stdout);
      ::_exit(rdma_destroy_id(request.id) == 0 ? 0 : 1);
    }
  }
  tell_what_comes(channel, request.id);
}

void ask(const std::string& stage, const std::string& then, std::uint16_t port) {
  const Channel channel;
  rdma_cm_id* const id = channel.resolve(port);
  rdma_conn_param param = parameters(fresh_qpn());
  must(rdma_connect(id, &param) == 0, "rdma_connect");
  if (stage != "asked") channel.expect(RDMA_CM_EVENT_CONNECT_RESPONSE);
  if (stage == "connected" || stage == "disconnecting") {
    must(rdma_establish(id) == 0, "rdma_establish");
  }
  if (stage == "disconnecting" && then == "hear") {
    must(rdma_disconnect(id) == 0, "rdma_disconnect");
  }
  say("ready");
  if (then == "wait") {
    for (;;) ::pause();
  }
  tell_what_comes(channel, id);
}

}  // namespace bad_days
