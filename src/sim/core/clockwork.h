// State shared by all parts of a simulation: the event wheel with the time, the packet pool, the
// random number generator.
#pragma once

#include "base/prng.h"
#include "sim/core/event_wheel.h"
#include "sim/core/packet.h"

namespace nerve::sim {

enum class Happening : std::uint8_t {
  kArrive,    // subject: the port; argument: the packet whose last byte (or head) has arrived
  kPortFree,  // subject: the port that has sent its packet
  kPause,     // subject: the port to pause or resume; argument: fabric.cc's pause_word()
  kCredit,    // subject: the port that gets credit; argument: fabric.cc's credit_word()
  kNicTimer,  // subject: the NIC
  kTask,      // subject and argument belong to the workload
  kSample,
  kCable,  // subject: the index in the schedule of faults
  kTcp,    // subject: a NIC of a TCP host; argument: belongs to tcp_nic
  kCnp,    // subject: the NIC; argument: a delayed CNP
};

struct Clockwork {
  explicit Clockwork(std::uint64_t seed) : prng{seed} {}

  [[nodiscard]] Time now() const { return wheel.now(); }

  EventWheel<Happening> wheel;
  PacketPool packets;
  Prng prng;
};

}  // namespace nerve::sim
