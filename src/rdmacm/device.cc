// The device as the preload library uses it: open, write, close.
#include "rdmacm/device.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "rdmacm/command.h"

namespace nerve::rdmacm {
namespace {

using Handler = int (*)(const Command&);

constexpr std::array<Handler, kWriteCmEvent + 1> kHandlers = [] {
  std::array<Handler, kWriteCmEvent + 1> handlers{};
  handlers[RDMA_USER_CM_CMD_CREATE_ID] = create_id;
  handlers[RDMA_USER_CM_CMD_DESTROY_ID] = destroy_id;
  handlers[RDMA_USER_CM_CMD_BIND_IP] = bind_ip;
  handlers[RDMA_USER_CM_CMD_RESOLVE_IP] = resolve_ip;
  handlers[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = resolve_route;
  handlers[RDMA_USER_CM_CMD_QUERY_ROUTE] = query_route;
  handlers[RDMA_USER_CM_CMD_CONNECT] = connect;
  handlers[RDMA_USER_CM_CMD_LISTEN] = listen;
  handlers[RDMA_USER_CM_CMD_ACCEPT] = accept;
  handlers[RDMA_USER_CM_CMD_REJECT] = reject;
  handlers[RDMA_USER_CM_CMD_DISCONNECT] = disconnect;
  handlers[RDMA_USER_CM_CMD_INIT_QP_ATTR] = init_qp_attr;
  handlers[RDMA_USER_CM_CMD_GET_EVENT] = get_event;
  handlers[RDMA_USER_CM_CMD_SET_OPTION] = set_option;
  handlers[RDMA_USER_CM_CMD_NOTIFY] = notify;
  handlers[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = join_ip_multicast;
  handlers[RDMA_USER_CM_CMD_LEAVE_MCAST] = leave_multicast;
  handlers[RDMA_USER_CM_CMD_MIGRATE_ID] = migrate_id;
  handlers[RDMA_USER_CM_CMD_QUERY] = query;
  handlers[RDMA_USER_CM_CMD_BIND] = bind_address;
  handlers[RDMA_USER_CM_CMD_RESOLVE_ADDR] = resolve_address;
  handlers[RDMA_USER_CM_CMD_JOIN_MCAST] = join_multicast;
  handlers[kResolveIbService] = resolve_ib_service;
  handlers[kWriteCmEvent] = write_event;
  return handlers;
}();

// Returned to a thread that waited in a device which another thread closed.
constexpr ssize_t kClosed = -3;

// `waits_in` is the channel in which the thread has waited, or null.
[[gnu::noinline]] ssize_t write_once(int fd, Bytes bytes, const void*& waits_in) noexcept {
  Registry& registry = Registry::current();
  rdma_ucm_cmd_hdr header{};
  int error = EINVAL;
  const auto channel = registry.channel(fd);
  const bool signalled = waits_in != nullptr;
  if (signalled && channel.get() != waits_in) return kClosed;
  if (signalled) --channel->waiting;
  if (!channel) {
    error = EBADF;
  } else if (bytes.size() >= sizeof header) {
    std::memcpy(&header, bytes.data(), sizeof header);
    const Bytes body = bytes.subspan(sizeof header);
    if (header.cmd >= kHandlers.size() || body.size() < header.in) {
      error = EINVAL;
    } else if (kHandlers[header.cmd] == nullptr) {
      error = ENOSYS;
    } else {
      error = kHandlers[header.cmd]({.registry = registry,
                                     .channel = channel,
                                     .in = body.first(header.in),
                                     .room = header.out,
                                     .signalled = signalled});
    }
  }
  if (error == kNoEventYet) {
    ++channel->waiting;
    waits_in = channel.get();
    return kNoEventYet;
  }
  if (error == 0) {
    if (header.cmd == RDMA_USER_CM_CMD_GET_EVENT) channel->taker = ::gettid();
    return static_cast<ssize_t>(bytes.size());
  }
  errno = error;
  return -1;
}

bool is_alive(pid_t thread) { return ::tgkill(::getpid(), thread, 0) == 0; }

}  // namespace

int open_device() { return Registry::current().open_channel(); }

// A thread that waits here may be cancelled: see host/runtime/event_queue.h. If the device is
// closed while a thread waits, the thread keeps waiting, as in Linux, until a signal comes.
ssize_t write_device(int fd, Bytes bytes) {
  const void* waits_in = nullptr;
  for (;;) {
    const ssize_t written = write_once(fd, bytes, waits_in);
    if (written == kClosed) break;
    if (written != kNoEventYet) return written;
    if (host::await_signal(fd)) continue;
    if (errno == EBADF) break;
    return -1;
  }
  return ::pause();
}

void prepare_close(int fd) {
  constexpr int kMilliseconds = 20;
  const auto channel = Registry::current().channel(fd);
  const pid_t taker = channel ? channel->taker.load() : 0;
  if (taker == 0 || taker == ::gettid()) return;
  for (int i = 0; i < kMilliseconds && channel->waiting == 0 && is_alive(taker); ++i) {
    host::sleep_millisecond();
  }
}

void close_device(int fd) {
  // In the child of a fork the channel belongs to the parent, and only the descriptor is closed.
  if (!Registry::current().close_channel(fd)) ::close(fd);
}

}  // namespace nerve::rdmacm
