// Checks which kernel features Nerve can use, by trying each of them: for `nerve doctor`.
#pragma once

#include <string>

namespace nerve::host {

struct Ability {
  bool works{};
  std::string reason;  // why it does not work
};

struct Checkup {
  // Required by every program.
  Ability shared_memory;  // sealed memfd
  Ability meeting;        // abstract unix sockets between processes
  // Programs run without these, but slower.
  Ability timed_wait;          // epoll_pwait2
  Ability placement;           // writing to another process's memory: process_vm_writev
  Ability fences;              // doorbells without a fence in the writer: membarrier
  Ability segmentation;        // a train of packets sent in one call: UDP_SEGMENT
  Ability receive_coalescing;  // ... and received in one call: UDP_GRO
  Ability ipv6;
  int send_buffer{};  // bytes, as the kernel counts them
  int receive_buffer{};
};

// Forks a short-lived child process.
[[nodiscard]] Checkup check_machine();

}  // namespace nerve::host
