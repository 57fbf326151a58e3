#include "host/diagnostics/checkup.h"

#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "host/config/config.h"
#include "host/peers/shared_memory.h"
#include "host/peers/unix_socket.h"
#include "link/shm/doorbell.h"
#include "link/shm/placement.h"
#include "link/udp/offloads.h"

namespace nerve::host {
namespace {

Ability works() { return {.works = true, .reason = {}}; }

Ability refused(const std::string& what) {
  return {.works = false, .reason = what + ": " + std::strerror(errno)};
}

Ability check_shared_memory() {
  constexpr std::size_t kSize = 4096;
  for (const Others others : {Others::kRead, Others::kWrite}) {
    errno = 0;
    const auto memory = make_shared_memory(kSize, others);
    if (!memory) return refused("memfd_create and its seals");
    if (!map_shared_memory(memory->descriptor.get(), kSize, kSize, others)) {
      return refused("mapping sealed memory");
    }
  }
  return works();
}

Ability check_meeting() {
  const std::string name = "nerve-doctor/" + std::to_string(::getpid());
  const Descriptor listener = hold_name(name);
  if (!listener || !listen_to_calls(listener.get()))
    return refused("listening at an abstract unix name");
  const Descriptor caller = call(name);
  if (!caller) return refused("calling an abstract unix name");
  if (own_peer(caller.get()) != ::getpid()) {
    return {.works = false, .reason = "SO_PEERCRED does not return the listener's pid"};
  }
  return works();
}

Ability check_timed_wait() {
  const Descriptor epoll{::epoll_create1(EPOLL_CLOEXEC)};
  epoll_event event{};
  const timespec at_once{};
  if (!epoll || ::epoll_pwait2(epoll.get(), &event, 1, &at_once, nullptr) != 0) {
    return refused("epoll_pwait2");
  }
  return works();
}

// A child writes into its parent: this is what is refused where ptrace is restricted to
// descendants.
Ability check_placement() {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return refused("fork");
  if (child == 0) ::_exit(link::shm::can_place(parent) ? 0 : 1);
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return works();
  return {.works = false, .reason = "process_vm_writev into another process is not permitted"};
}

Ability check_fences() {
  if (!link::shm::join_fences() || !link::shm::fence_all()) return refused("membarrier");
  return works();
}

Ability ability(const link::Offload& offload) {
  return {.works = offload.works, .reason = offload.reason};
}

}  // namespace

Checkup check_machine() {
  const link::Offloads offloads =
      link::probe_offloads(static_cast<int>(load_process_config().socket_buffer));
  return {.shared_memory = check_shared_memory(),
          .meeting = check_meeting(),
          .timed_wait = check_timed_wait(),
          .placement = check_placement(),
          .fences = check_fences(),
          .segmentation = ability(offloads.segmentation),
          .receive_coalescing = ability(offloads.receive_coalescing),
          .ipv6 = ability(offloads.ipv6),
          .send_buffer = offloads.send_buffer,
          .receive_buffer = offloads.receive_buffer};
}

}  // namespace nerve::host
