// What every part of a simulation shares: time, what happens next, packets and chance.
#pragma once

#include "base/prng.h"
#include "sim/core/event_wheel.h"
#include "sim/core/packet.h"

namespace nerve::sim {

enum class Happening : std::uint8_t {
  kArrive,    // subject: the port, argument: the packet whose last byte (or head) is there
  kPortFree,  // subject: a port that has sent its packet
  kPause,     // subject: the port told, argument: class * 2 + (1 to stop, 0 to go on)
  kCredit,    // subject: the port told, argument: class << 24 | bytes
  kNicTimer,  // subject: the NIC
  kTask,      // subject, argument: the workload's own
  kSample,
  kCable,  // subject: the cable's fault on the schedule
  kTcp,    // subject: a NIC with a TCP host, argument: its own
  kCnp,    // subject: the NIC, argument: a CNP that was held back
};

struct Clockwork {
  explicit Clockwork(std::uint64_t seed) : prng{seed} {}

  [[nodiscard]] Time now() const { return wheel.now(); }

  EventWheel<Happening> wheel;
  PacketPool packets;
  Prng prng;
};

}  // namespace nerve::sim
