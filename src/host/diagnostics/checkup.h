// What this machine lets Nerve do, each thing tried the way it will be used: for `nerve doctor`.
#pragma once

#include <string>

namespace nerve::host {

struct Ability {
  bool works{};
  std::string reason;  // why it does not work
};

struct Checkup {
  // Without these no program of ours runs.
  Ability shared_memory;  // without a name, of a size that cannot change
  Ability meeting;        // processes call each other at abstract names
  // Without these programs run, slower.
  Ability timed_wait;          // epoll_pwait2
  Ability placement;           // into the memory of another process: process_vm_writev
  Ability fences;              // doorbells that cost the writer nothing: membarrier
  Ability segmentation;        // a train of packets leaves in one call: UDP_SEGMENT
  Ability receive_coalescing;  // ... and arrives in one: UDP_GRO
  Ability ipv6;
  int send_buffer{};  // bytes, as the kernel counts them
  int receive_buffer{};
};

// Forks a child for a moment.
[[nodiscard]] Checkup check_machine();

}  // namespace nerve::host
