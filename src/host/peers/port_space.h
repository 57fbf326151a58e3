// The ports of rdma_cm on this host: which process has which, in each of its port spaces.
//
// A table in memory that all processes of the user on this host map. The first who needs it makes
// it, and whoever has it hands it on; so it has no owner, and goes with the last of them.
//
//         0  2 for each port of each space: the slot of the process that has it, zero for none;
//            the highest bit is set when it lingers
//   393 216  4 for each slot: the pid of the process that has opened the table under this number
//
// A port belongs to one process at a time. That process may bind it again: which addresses its
// several uses are for is its own affair. What a dead process had is taken over by whoever wants
// it, or freed by whoever gets its slot. One that lingers is free for whoever wants it: nobody
// listens there any more, but until then its last owner hears those who ask again, whom it has not
// answered yet. Any process can write anything here: a number that is read
// is checked, and at worst a port is not where it should be.
//
// Calls may come from any thread, without the host's lock; binding may call another process's name,
// but does not wait for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "host/peers/shared_memory.h"
#include "wire/ip_cm.h"

namespace nerve::host {

class PortSpace {
 public:
  enum class Space : std::uint8_t { kTcp, kUdp, kIb };
  static constexpr std::uint32_t kSpaces = 3;

  // What bind_any chooses from: what Linux gives to those who do not care.
  struct Range {
    std::uint16_t first{32768};
    std::uint16_t last{60999};
  };

  struct Opened;
  // May wait for other processes to answer. The error is a sentence; errno has its cause.
  [[nodiscard]] static Result<Opened, std::string> open(std::uint32_t own_slot);

  // Zero or an errno: EADDRINUSE when another process has it, EINVAL for port 0, ENODEV in the
  // child of a fork, whose parent's table this is.
  [[nodiscard]] int bind(Space space, std::uint16_t port);
  // Nothing when all are taken.
  [[nodiscard]] std::optional<std::uint16_t> bind_any(Space space) { return bind_any(space, {}); }
  [[nodiscard]] std::optional<std::uint16_t> bind_any(Space space, Range range);
  void release(Space space, std::uint16_t port);
  // Gives it up, but goes on hearing what comes for it.
  void linger(Space space, std::uint16_t port);
  // The slot that the table names, also for a port that lingers; whether its process lives is not
  // looked at.
  [[nodiscard]] std::optional<std::uint32_t> owner(Space space, std::uint16_t port) const;
  // The slot that serves this; nothing when nobody does, or it is no service of a port.
  [[nodiscard]] std::optional<std::uint32_t> owner(wire::ServiceId service) const;

  // For a process that asks for the table.
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  // This is the child of a fork: the table is used by the parent.
  void leave() { left_ = true; }

 private:
  using Entry = std::atomic<std::uint16_t>;
  using Pid = std::atomic<std::uint32_t>;

  PortSpace(Descriptor descriptor, Mapping mapping, std::uint32_t own_slot);
  [[nodiscard]] static std::unique_ptr<PortSpace> ask_for(std::uint32_t own_slot, bool& silence);
  [[nodiscard]] Entry& entry(Space space, std::uint16_t port) const;
  [[nodiscard]] Pid& pid_in(std::uint32_t slot) const;
  [[nodiscard]] bool is_alive(std::uint32_t slot) const;
  void move_in();

  Descriptor descriptor_;
  Mapping mapping_;
  const std::uint16_t own_slot_;
  std::atomic<bool> left_{};
};

struct PortSpace::Opened {
  std::unique_ptr<PortSpace> ports;
  bool made{};  // nobody had it before
  // To be kept until we answer those who ask for the table: while we hold this name nobody else
  // makes one.
  Descriptor making;
};

// The port space of a service id, if it is one of those that rdma_cm has.
[[nodiscard]] std::optional<PortSpace::Space> space_of(wire::IpService service);

}  // namespace nerve::host
