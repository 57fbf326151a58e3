// The rdma_cm ports of this host: which process owns which port in each port space.
//
// A table in memory that all processes of the user on this host map. The first process that needs
// it creates it, and any process that has it hands it on; so it has no owner, and disappears with
// the last of them.
//
//         0  2 for each port of each space: the slot of the process that has it, zero for none;
//            the highest bit is set when it lingers
//   393 216  4 for each slot: the pid of the process that has opened the table under this number
//
// A port belongs to one process at a time. That process may bind it again: how it divides the port
// between addresses is its own affair. The port of a dead process is taken over by the next process
// that binds it, or freed by the next owner of its slot. A lingering port is free for any process:
// nothing listens there, but until it is bound again its last owner answers retransmitted requests
// that it has not answered yet. Any process can write anything into the table, so every number read
// is checked; at worst a port is routed to the wrong process.
//
// May be called from any thread, without the host's lock. Binding may connect to another process's
// name, but does not wait for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "host/peers/shared_memory.h"
#include "host/peers/turn.h"
#include "wire/ip_cm.h"

namespace nerve::host {

class PortSpace {
 public:
  enum class Space : std::uint8_t { kTcp, kUdp, kIb };
  static constexpr std::uint32_t kSpaces = 3;

  // The range of bind_any(): Linux's default range of ephemeral ports.
  struct Range {
    std::uint16_t first{32768};
    std::uint16_t last{60999};
  };

  struct Opened;
  // May wait for other processes to answer. The error is a sentence; errno has its cause.
  [[nodiscard]] static Result<Opened, std::string> open(std::uint32_t own_slot);

  // Returns zero or an errno: EADDRINUSE if another process owns the port, EINVAL for port 0,
  // ENODEV in the child of a fork, because the table is its parent's.
  [[nodiscard]] int bind(Space space, std::uint16_t port);
  // Nothing if all ports are taken.
  [[nodiscard]] std::optional<std::uint16_t> bind_any(Space space) { return bind_any(space, {}); }
  [[nodiscard]] std::optional<std::uint16_t> bind_any(Space space, Range range);
  void release(Space space, std::uint16_t port);
  // Gives the port up, but keeps receiving what is sent to it until another process binds it.
  void linger(Space space, std::uint16_t port);
  // The slot in the table, also for a lingering port. Does not check that its process is alive.
  [[nodiscard]] std::optional<std::uint32_t> owner(Space space, std::uint16_t port) const;
  // The slot that serves this; nothing if no process does, or the service id does not contain a
  // port.
  [[nodiscard]] std::optional<std::uint32_t> owner(wire::ServiceId service) const;

  // To hand the table on to another process.
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  // Called in the child of a fork(): the table belongs to the parent.
  void leave() { left_ = true; }

 private:
  using Entry = std::atomic<std::uint16_t>;
  using Pid = std::atomic<std::uint32_t>;

  PortSpace(Descriptor descriptor, Mapping mapping, std::uint32_t own_slot);
  [[nodiscard]] static std::unique_ptr<PortSpace> ask_for(std::uint32_t own_slot, bool& silence);
  [[nodiscard]] Entry& entry(Space space, std::uint16_t port) const;
  [[nodiscard]] Pid& pid_in(std::uint32_t slot) const;
  [[nodiscard]] bool is_alive(std::uint32_t slot) const;
  void take_over_slot();

  Descriptor descriptor_;
  Mapping mapping_;
  const std::uint16_t own_slot_;
  std::atomic<bool> left_{};
};

struct PortSpace::Opened {
  std::unique_ptr<PortSpace> ports;
  bool made{};  // no other process had it
  // Keep this until the process answers requests for the table: during this turn, no other process
  // creates one.
  Turn making;
};

// The port space of a service id, if rdma_cm uses it.
[[nodiscard]] std::optional<PortSpace::Space> space_of(wire::IpService service);

}  // namespace nerve::host
